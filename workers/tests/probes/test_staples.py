"""A real server hands out an OCSP answer, and a light probe knows what it says."""

from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509 import ocsp

from workers.measurement.evidence import StapleWord
from workers.measurement.finding import FindingId, Severity
from workers.tests.diagnosis.sites import fact
from workers.tests.netlab.certificates import make_authority, make_staple
from workers.tests.netlab.chains import Chain, Recipe, Vault
from workers.tests.netlab.nginx import NginxConduct
from workers.tests.probes.conftest import Lab
from workers.tests.probes.real_nginx import serving

NAME = "www.example.test"


_ISSUER = "Lab Intermediate trusted 1"


def restapled(chain: Chain, status: ocsp.OCSPCertStatus, *, signer: str = _ISSUER) -> Chain:
    """The same with another word, the authority's or somebody else's."""
    assert chain.staple_file is not None
    leaf = x509.load_der_x509_certificate(chain.sent[0])
    chain.staple_file.write_bytes(make_staple(leaf, make_authority(signer), status=status))
    return chain


@pytest.mark.parametrize(
    ("status", "severity"),
    [
        (ocsp.OCSPCertStatus.GOOD, None),
        (ocsp.OCSPCertStatus.REVOKED, Severity.CRITICAL),
        (ocsp.OCSPCertStatus.UNKNOWN, Severity.CRITICAL),
    ],
)
def test_a_light_probe_tells_of_a_revoked_certificate(
    lab: Lab, tmp_path: Path, status: ocsp.OCSPCertStatus, severity: Severity | None
) -> None:
    lab.zone.a[NAME] = ["127.0.0.1"]
    vault = Vault(tmp_path)
    lab.configure(ca_file=vault.ca_file)
    chain = restapled(vault.chain(Recipe(names=(NAME,), stapled=True, ocsp_url="http://ca.test/ocsp")), status)
    with serving(NginxConduct(), chain, tmp_path) as port:
        measured = lab.measure(f"https://{NAME}:{port}/")
    assert measured.evidence is not None
    handshake = measured.evidence.trials[0].handshake
    assert handshake is not None
    assert handshake.staple_word is StapleWord(status.name.lower())
    assert measured.diagnosis is not None
    found = next((one for one in measured.diagnosis.findings if one.id is FindingId.TLS_OCSP), None)
    assert (None if found is None else found.severity) is severity


@pytest.mark.parametrize("status", list(ocsp.OCSPCertStatus))
def test_a_staple_of_a_stranger_neither_vouches_nor_blames(
    lab: Lab, tmp_path: Path, status: ocsp.OCSPCertStatus
) -> None:
    lab.zone.a[NAME] = ["127.0.0.1"]
    vault = Vault(tmp_path)
    lab.configure(ca_file=vault.ca_file)
    made = vault.chain(Recipe(names=(NAME,), stapled=True, ocsp_url="http://ca.test/ocsp"))
    with serving(NginxConduct(), restapled(made, status, signer="Somebody"), tmp_path) as port:
        measured = lab.measure(f"https://{NAME}:{port}/")
    assert measured.diagnosis is not None
    found = next(one for one in measured.diagnosis.findings if one.id is FindingId.TLS_OCSP)
    assert (found.severity, fact(found, "staple_says")) == (Severity.LOW, "signed by nobody entitled")
