"""Offering to take compressed certificates: what servers of three makes say to it, and that none can harm us."""

import socket
import tracemalloc
import warnings
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import mkdtemp

import brotli
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

with warnings.catch_warnings():
    # It still knows how to work with asyncore.
    warnings.simplefilter("ignore", DeprecationWarning)
    from tlslite.messages import CompressedCertificate

from workers.measurement.compute.probe.handshake_messages import compressed_certificate
from workers.measurement.evidence import CertificateCompression, Depth, ProbeEvidence, Trial
from workers.measurement.failure import FailureKind
from workers.measurement.finding import Answer, CheckColumn, FindingId
from workers.measurement.messages import Measured, ProbeMeasurement
from workers.probes.compressed import _Client
from workers.probes.faults import ProbeError
from workers.probes.inflating import why_spoilt
from workers.tests.netlab.chains import Recipe, Vault
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.misbehaving import MisbehavingServer
from workers.tests.probes.conftest import Lab
from workers.tests.waiting import undisturbed

NAME = "www.example.test"
COMPRESSING = Conduct(compresses_certificates=CertificateCompression.ZLIB)


def deep(lab: Lab, port: int) -> ProbeEvidence:
    outcome = lab.probe(f"https://{NAME}:{port}/", depth=Depth.DEEP)
    assert isinstance(outcome, Measured), outcome
    assert isinstance(outcome.measurement, ProbeMeasurement)
    assert outcome.measurement.evidence is not None
    return outcome.measurement.evidence


@contextmanager
def serving(lab: Lab, folder: Path, conduct: Conduct, size_bytes: int = 5500) -> Iterator[int]:
    """The port of a server with a chain of that size."""
    vault = Vault(folder)
    lab.configure(ca_file=vault.ca_file)
    chain = vault.chain(Recipe(names=(NAME,), size_bytes=size_bytes))
    with MisbehavingServer(socket.create_server(("127.0.0.1", 0)), conduct, chain) as server:
        yield server.port


@pytest.mark.parametrize("algorithm", CertificateCompression)
def test_compressed_certificates_are_known_by_their_algorithm_and_sizes(
    named: Lab, tmp_path: Path, algorithm: CertificateCompression
) -> None:
    with serving(named, tmp_path, Conduct(compresses_certificates=algorithm)) as port:
        evidence = deep(named, port)
    (trial,) = evidence.of(Trial.COMPRESSED)
    shaken, full = trial.handshake, evidence.of(Trial.FULL)[0].handshake
    assert shaken is not None
    assert full is not None
    assert shaken.certificate_compression is algorithm
    assert shaken.certificate_message_bytes is not None
    assert 500 < shaken.certificate_message_bytes < 3_000
    assert full.certificate_message_bytes is not None
    # The four bytes of the message's own header are not compressed.
    assert shaken.certificate_inflated_bytes == full.certificate_message_bytes - 4
    assert (shaken.version, shaken.resumed, shaken.chain, trial.exchanges) == ("TLSv1.3", False, (), ())
    assert full.certificate_compression is None


# Where in the message the declared length and the compressed data stand (RFC 8879, 4), behind its header.
_SPOILT = {
    "longer than they say": (6, b"\0\0\1"),
    "as long as can be": (6, b"\xff\xff\xff"),
    "garbage": (12, b"\xff" * 9),
}


@pytest.mark.parametrize("how", _SPOILT)
@pytest.mark.parametrize("algorithm", CertificateCompression)
def test_certificates_that_do_not_inflate_to_what_they_say_are_none(
    named: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, algorithm: CertificateCompression
) -> None:
    at, bytes_there = _SPOILT[how]
    write = CompressedCertificate.write

    def spoilt(message: CompressedCertificate) -> bytearray:
        written = bytearray(write(message))
        written[at : at + len(bytes_there)] = bytes_there
        return written

    monkeypatch.setattr(CompressedCertificate, "write", spoilt)
    with serving(named, tmp_path, Conduct(compresses_certificates=algorithm)) as port:
        outcome = named.measure(f"https://{NAME}:{port}/", depth=Depth.DEEP)
    assert outcome.evidence is not None
    assert outcome.diagnosis is not None
    for one in outcome.evidence.of(Trial.COMPRESSED):
        assert one.failure is not None
        assert one.failure.kind is FailureKind.CERTIFICATE_INVALID
    (told,) = [one for one in outcome.diagnosis.findings if one.id is FindingId.TLS_CERT_COMPRESSION_BROKEN]
    assert {"algorithm": algorithm.value, "seen": "3 of 3"}.items() <= {
        one.name: one.value for one in told.evidence
    }.items()
    (column,) = [one for one in outcome.diagnosis.checklist if one.column is CheckColumn.CERTIFICATE_COMPRESSION]
    assert column.answer is Answer.UNKNOWN


def test_a_server_that_does_not_compress_is_asked_three_times(named: Lab, tmp_path: Path) -> None:
    with serving(named, tmp_path, Conduct()) as port:
        evidence = deep(named, port)
    asked = evidence.of(Trial.COMPRESSED)
    assert len(asked) == 3
    for trial in asked:
        assert trial.failure is None
        assert trial.handshake is not None
        assert trial.handshake.ended_us is not None
        assert trial.handshake.certificate_compression is None
        assert (trial.handshake.certificate_message_bytes or 0) > 5_000
        assert trial.tcp_secured is not None
        assert trial.ended_us is not None


@pytest.mark.parametrize(("conduct", "size_bytes"), [(Conduct(), 2_000), (Conduct(newest="TLSv1.2"), 5_500)])
def test_where_nothing_is_to_be_gained_nobody_asks(
    named: Lab, tmp_path: Path, conduct: Conduct, size_bytes: int
) -> None:
    with serving(named, tmp_path, conduct, size_bytes) as port:
        assert not deep(named, port).of(Trial.COMPRESSED)


@pytest.mark.parametrize("shared", [True, False])
def test_sessions_are_taken_to_the_names_other_addresses(named: Lab, tmp_path: Path, shared: bool) -> None:
    named.zone.a[NAME] = ["127.0.0.1", "127.0.0.2"]
    vault = Vault(tmp_path)
    named.configure(ca_file=vault.ca_file)
    chain = vault.chain(Recipe(names=(NAME,)))
    with ExitStack() as stack:
        one = stack.enter_context(MisbehavingServer(socket.create_server(("127.0.0.1", 0)), Conduct(), chain))
        keys = one if shared else None
        sibling = socket.create_server(("127.0.0.2", one.port))
        stack.enter_context(MisbehavingServer(sibling, Conduct(), chain, keys=keys))
        evidence = deep(named, one.port)
    there = evidence.of(Trial.RESUMED_ELSEWHERE)
    # A name server says them in any order.
    assert {trial.address for trial in there} == {"127.0.0.1", "127.0.0.2"} - {evidence.of(Trial.FULL)[0].address}
    told = [trial.handshake.resumed for trial in there if trial.handshake is not None]
    assert told == ([True] if shared else [False] * 5)
    home = [trial.handshake.resumed for trial in evidence.of(Trial.RESUMED) if trial.handshake is not None]
    assert home == [True] * 3


def test_an_address_on_the_inside_refuses_the_name_before_any_trial(named: Lab, tmp_path: Path) -> None:
    named.zone.a[NAME] = ["127.0.0.1", "10.0.0.1"]
    with serving(named, tmp_path, Conduct()) as port:
        failed, _ = named.fail(f"https://{NAME}:{port}/", depth=Depth.DEEP)
    assert failed.failure.kind is FailureKind.BLOCKED_DESTINATION


def record(kind: int, content: bytes) -> bytes:
    return bytes((kind, 3, 3)) + len(content).to_bytes(2) + content


@pytest.mark.parametrize(
    "data",
    [
        record(23, b"\0" * 40),
        record(21, b"\x02\x28"),
        record(22, b"\x0b\0\0\0"),
        record(22, b"\x02\0\0\x04abcd"),
        record(22, b"\x02\0\0\x22" + b"\x03\x03" + b"\0" * 32),
        record(24, b"a"),
        record(20, b"\x01") * 300,
    ],
)
def test_what_is_no_handshake_is_a_typed_failure(data: bytes) -> None:
    client = _Client(NAME)
    client.hello()
    with pytest.raises(ProbeError):
        client.hear(data)


@given(data=st.lists(st.tuples(st.sampled_from([20, 21, 22, 23]), st.binary(max_size=80)), max_size=20))
def test_no_records_break_the_reading(data: list[tuple[int, bytes]]) -> None:
    client = _Client(NAME)
    client.hello()
    try:
        client.hear(b"".join(record(kind, content) for kind, content in data))
    except ProbeError:
        return
    assert not client.done


@undisturbed
def test_the_arithmetic_costs_less_than_a_handshake_of_python(named: Lab, tmp_path: Path) -> None:
    """It is done in the thread that all probes share."""
    with serving(named, Path(mkdtemp(dir=tmp_path)), COMPRESSING) as port:
        evidence = deep(named, port)
    (trial,) = evidence.of(Trial.COMPRESSED)
    assert trial.handshake is not None
    assert trial.handshake.own_us is not None
    assert trial.handshake.own_us < 20_000


@pytest.mark.parametrize(
    ("number", "algorithm"),
    [(1, CertificateCompression.ZLIB), (2, CertificateCompression.BROTLI), (3, CertificateCompression.ZSTD)],
)
def test_each_algorithm_has_its_number(number: int, algorithm: CertificateCompression) -> None:
    message = b"\x19\0\0\x0a" + number.to_bytes(2) + (5_500).to_bytes(3) + b"\0\0\x02ab"
    assert compressed_certificate((message,)) == (algorithm, 5_500)


@pytest.mark.parametrize("message", [b"", b"\x19\0\0\0", b"\x19\0\0\x05\0\x09\0\0\x01", b"\x0b\0\0\x05\0\x01\0\0\x01"])
def test_what_says_no_algorithm_is_not_compressed(message: bytes) -> None:
    assert compressed_certificate((message,)) is None


def compressed(number: int, size_bytes: int, data: bytes) -> bytes:
    body = number.to_bytes(2) + size_bytes.to_bytes(3) + len(data).to_bytes(3) + data
    return b"\x19" + len(body).to_bytes(3) + body


_PACKED = {1: zlib.compress, 2: brotli.compress, 3: zstd.compress}


@given(number=st.sampled_from(list(_PACKED)), certificates=st.binary(max_size=3_000), off=st.integers(-3, 3))
def test_certificates_are_sound_where_their_length_is_what_they_say(number: int, certificates: bytes, off: int) -> None:
    said_bytes = max(0, len(certificates) + off)
    spoilt = why_spoilt(compressed(number, said_bytes, _PACKED[number](certificates)))
    assert (spoilt is None) == (said_bytes == len(certificates))


@given(number=st.integers(0, 5), data=st.binary(max_size=200), size_bytes=st.integers(0, 2**24 - 1))
def test_no_bytes_break_the_inflating(number: int, data: bytes, size_bytes: int) -> None:
    spoilt = why_spoilt(compressed(number, size_bytes, data))
    assert number in _PACKED or spoilt is None


@pytest.mark.parametrize("number", _PACKED)
def test_a_little_that_inflates_to_gigabytes_takes_no_memory(number: int) -> None:
    bomb = compressed(number, 2**24 - 1, _PACKED[number](b"\0" * 60_000_000))
    tracemalloc.start()
    try:
        assert why_spoilt(bomb) is not None
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()
