"""What a pair costs beside two probes of the same two addresses, in CPU seconds of our own process."""

import multiprocessing
import ssl
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from multiprocessing.connection import Connection
from pathlib import Path
from uuid import uuid4

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from workers.bench.pages import Ratio
from workers.measurement.addresses import parse_networks
from workers.measurement.messages import Kind, Measured, RunRequest
from workers.measurement.pair import PairTarget
from workers.pairs import PairEngine
from workers.probes.settings import ProbeSettings

# A pair asks twice over each of its connections, two probes once: the second asking may cost half as much as the first.
PAIR_TARGET = 1.5
_PAIRS_A_ROUND = 50
_BODY = b"x" * 20_000


def compare_pairs(rounds: int) -> Ratio:
    """Over TLS on loopback, as a scheduled run is carried out, without the servers' own time.

    Raises RuntimeError when a run is not measured.
    """
    costs: dict[str, list[float]] = {"pair": [], "probes": []}
    with _server() as port, _engine(port) as (pair, probe):
        works = {"pair": pair, "probes": lambda: (probe(), probe())}
        pair()
        for _ in range(rounds):
            for name, work in works.items():
                costs[name].append(_cost_s(work))
    medians = {name: statistics.median(values) for name, values in costs.items()}
    return Ratio(peer="two probes", ours_s=medians["pair"], peer_s=medians["probes"], target=PAIR_TARGET)


def _cost_s(work: Callable[[], object]) -> float:
    before_s = time.process_time()
    for _ in range(_PAIRS_A_ROUND):
        work()
    return (time.process_time() - before_s) / _PAIRS_A_ROUND


@contextmanager
def _engine(port: int) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    """A pair, and a probe of one of its legs."""
    settings = ProbeSettings(allowed=parse_networks("127.0.0.0/8"), extra_ports=frozenset({port}))
    with PairEngine(settings) as engine:

        def pair() -> None:
            _check(engine.pair(_request(port, Kind.PAIR)))

        def probe() -> None:
            _check(engine.probe(_request(port, Kind.PROBE)))

        yield pair, probe


def _check(outcome: object) -> None:
    if not isinstance(outcome, Measured):
        raise RuntimeError(f"the run could not be measured: {outcome}")


def _request(port: int, kind: Kind) -> RunRequest:
    now = datetime.now(UTC)
    return RunRequest(
        run_id=uuid4(),
        monitor_id=uuid4(),
        kind=kind,
        url=f"https://one.localhost:{port}/a.js",
        other=PairTarget(url=f"https://two.localhost:{port}/a.js") if kind is Kind.PAIR else None,
        region="bench",
        scheduled_for=now,
        attempt=1,
        expires_at=now + timedelta(minutes=5),
        timeout_us=30_000_000,
        ignore_certificate_errors=True,
    )


class _Asset(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript")
        self.send_header("Content-Length", str(len(_BODY)))
        self.send_header("X-Cache", "HIT")
        self.end_headers()
        self.wfile.write(_BODY)

    def log_message(self, *_: object) -> None:
        """Requests are counted by those who measure."""


def _serve(ready: Connection) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Asset)
    server.socket = _context().wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    ready.send(server.server_address[1])
    server.serve_forever()


def _context() -> ssl.SSLContext:
    """A leaf that vouches for itself: the handshake costs the same."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "one.localhost")])
    now = datetime.now(UTC)
    names = [x509.DNSName("one.localhost"), x509.DNSName("two.localhost"), x509.IPAddress(IPv4Address("127.0.0.1"))]
    leaf = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory(prefix="firstbyte-bench-") as folder:
        path = Path(folder) / "leaf.pem"
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path.write_bytes(private + leaf.public_bytes(Encoding.PEM))
        context.load_cert_chain(path)
    return context


@contextmanager
def _server() -> Iterator[int]:
    """Its port. A process of its own, so that its time is not counted."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()
