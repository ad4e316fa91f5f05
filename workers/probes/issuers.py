"""Whether a chain that lacks an issuer would be trusted with it: fetched from where the certificate says it is."""

import time
from contextlib import suppress

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, pkcs7

from workers.measurement.captures_probe import HandshakeCapture
from workers.measurement.compute.certificate import UNREADABLE
from workers.measurement.compute.chain import missing_issuer_urls
from workers.measurement.target import TargetError, parse_target
from workers.probes.answer import Reader, receive_answer
from workers.probes.exchange import Asking
from workers.probes.faults import ProbeError
from workers.probes.http1 import ResponseReader
from workers.probes.link import Kit, Link, Manner
from workers.probes.loop import DeadlineError
from workers.probes.recorder import HopRecorder
from workers.probes.trust import another_way_may_help

_MAX_BYTES = 64 * 1024
_MAX_FETCHES = 6
# Of one address, and of all of them together.
_MAX_ISSUERS = 8


async def verify_with_issuers(kit: Kit, shaken: HandshakeCapture, deadline_ns: int) -> bool | None:
    """Whether its chain is trusted with the issuers that it points to. None where nobody else's help is needed
    or can help, or none was found.

    Addresses in certificates are a stranger's words: they are judged like any target, and redirects are not followed.
    """
    chain = shaken.chain
    if not another_way_may_help(shaken.faults):
        return None
    fetched: tuple[bytes, ...] = ()
    asked: set[str] = set()
    for _ in range(_MAX_FETCHES):
        url = next((one for one in missing_issuer_urls((*chain, *fetched)) if one not in asked), None)
        if url is None:
            break
        asked.add(url)
        with suppress(ProbeError, DeadlineError, TargetError):
            fetched = (*fetched, *read_certificates(await _fetch(kit, url, deadline_ns)))[:_MAX_ISSUERS]
        if fetched and kit.contexts.trusts_another_way((*chain, *fetched)):
            return True
    return False if fetched else None


async def _fetch(kit: Kit, url: str, deadline_ns: int) -> bytes:
    target = parse_target(url, extra_ports=kit.settings.extra_ports)
    body = bytearray()
    recorder = HopRecorder(target)
    reader: Reader = ResponseReader(max_body_bytes=_MAX_BYTES, on_body=body.extend)
    with Link(kit, target, Manner()) as link:
        channel = await link.channel(recorder, deadline_ns)
        recorder.begin_exchange(time.monotonic_ns())
        await channel.send(Asking(target=target, user_agent=kit.settings.user_agent).spoken(trusted=False))
        head = await receive_answer(channel, recorder, reader, limit_bytes=2 * _MAX_BYTES, enough=lambda _: False)
    return bytes(body) if head.status == 200 else b""


def read_certificates(data: bytes) -> tuple[bytes, ...]:
    """The certificates (DER) in what an issuer's address gave: DER, PEM or PKCS #7; none in anything else."""
    for read in (_der, _pem, pkcs7.load_der_pkcs7_certificates):
        with suppress(*UNREADABLE):
            return tuple(one.public_bytes(Encoding.DER) for one in read(data)[:_MAX_ISSUERS])
    return ()


def _der(data: bytes) -> list[x509.Certificate]:
    return [x509.load_der_x509_certificate(data)]


def _pem(data: bytes) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(data)
