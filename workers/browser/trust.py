"""Makes Chromium trust an extra authority, and nothing else.

Chromium on Linux adds to its own roots those of the NSS database in its user's home; each of our browsers has a home
of its own. The database is made with libnss3 itself, which Chromium needs anyway (certutil is a package more). This
module runs as a process of its own (`python -m workers.browser.trust DIRECTORY FILE`), because NSS keeps its state
for a whole process.
"""

import base64
import ctypes
import re
import subprocess
import sys
from pathlib import Path

from workers.browser.faults import BrowserError

_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
_MAX_AUTHORITIES = 20
# certdb.h: CERTDB_VALID_CA | CERTDB_TRUSTED_CA, which certutil writes as "C".
_TRUSTED_CA = (1 << 3) | (1 << 4)
_SUCCESS = 0
_NO_OBJECT = 0


class _Item(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint), ("data", ctypes.c_char_p), ("length", ctypes.c_uint)]


class _Trust(ctypes.Structure):
    _fields_ = [("ssl", ctypes.c_uint), ("email", ctypes.c_uint), ("signing", ctypes.c_uint)]


def trust_in_home(home: Path, ca_file: Path) -> None:
    """Writes the NSS database of `home` so that the authorities in `ca_file` (PEM) are trusted for servers.

    Raises BrowserError when the file holds none or the database cannot be made.
    """
    directory = home / ".pki" / "nssdb"
    directory.mkdir(parents=True, mode=0o700, exist_ok=True)
    command = [sys.executable, "-m", "workers.browser.trust", str(directory), str(ca_file.absolute())]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1][:300]
        raise BrowserError(f"the browser cannot be made to trust {ca_file}: {reason}")


def main(directory: str, ca_file: str) -> None:
    """Makes the database. Raises OSError or ValueError with what failed."""
    authorities = [base64.b64decode(body) for body in _PEM.findall(Path(ca_file).read_bytes())][:_MAX_AUTHORITIES]
    if not authorities:
        raise ValueError(f"{ca_file} holds no certificate in PEM")
    nss = _library()
    _check(nss.NSS_InitReadWrite(f"sql:{directory}".encode()), "opening the database")
    slot = ctypes.c_void_p(nss.PK11_GetInternalKeySlot())
    if nss.PK11_NeedUserInit(slot):
        _check(nss.PK11_InitPin(slot, None, b""), "preparing the database")
    for number, der in enumerate(authorities, 1):
        _import(nss, slot, der, f"authority {number}".encode())
    nss.PK11_FreeSlot(slot)
    _check(nss.NSS_Shutdown(), "closing the database")


def _library() -> ctypes.CDLL:
    nss = ctypes.CDLL("libnss3.so")
    nss.PK11_GetInternalKeySlot.restype = ctypes.c_void_p
    nss.CERT_GetDefaultCertDB.restype = ctypes.c_void_p
    nss.CERT_NewTempCertificate.restype = ctypes.c_void_p
    nss.CERT_NewTempCertificate.argtypes = [
        ctypes.c_void_p,
        ctypes.POINTER(_Item),
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_int,
    ]
    nss.PK11_ImportCert.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_int]
    nss.CERT_ChangeCertTrust.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(_Trust)]
    nss.CERT_DestroyCertificate.argtypes = [ctypes.c_void_p]
    return nss


def _import(nss: ctypes.CDLL, slot: ctypes.c_void_p, der: bytes, nickname: bytes) -> None:
    database = ctypes.c_void_p(nss.CERT_GetDefaultCertDB())
    item = _Item(kind=0, data=der, length=len(der))
    certificate = ctypes.c_void_p(nss.CERT_NewTempCertificate(database, ctypes.byref(item), None, 0, 1))
    if certificate.value is None:
        raise ValueError(f"{nickname.decode()} cannot be read as a certificate")
    _check(nss.PK11_ImportCert(slot, certificate, _NO_OBJECT, nickname, 0), f"storing {nickname.decode()}")
    trust = _Trust(ssl=_TRUSTED_CA, email=0, signing=0)
    _check(nss.CERT_ChangeCertTrust(database, certificate, ctypes.byref(trust)), f"trusting {nickname.decode()}")
    nss.CERT_DestroyCertificate(certificate)


def _check(status: int, doing: str) -> None:
    if status != _SUCCESS:
        raise OSError(f"NSS failed at {doing}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
