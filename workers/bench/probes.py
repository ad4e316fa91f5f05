"""What a light probe costs beside prometheus-blackbox-exporter, curl, and the handshake alone, in CPU seconds.

Every one of them makes a full handshake of TLS 1.3 with the same nginx, checks the chain, asks for 4 kB and reads
them. Ours brings the whole evidence of it, the kernel's stamps, every record, the chain and the kernel's counters, and
computes phases, flights and all else of them. The same targets hold for the capture of that evidence, as a prober is
measured that only notes it, and for all that is computed. What an agent spends on a diagnosis is told besides; the
peers say nothing of causes.

Of ours the engine's thread is counted, of the exporter its process, of curl what each of its processes uses: what asks
them is counted of none. Only a diagnosis is made by who asks, so that there all is counted.

Ours remembers for half an hour that a chain was in order, as an agent does that asks the same site every minute
(`probes/verdicts.py`), and what is in its certificates; the others verify it and read them each time. Ours and the
handshake alone offer two key shares as browsers do, one of them post-quantum: a peer that offers only X25519's, as
those of Go before 1.24 do, computes a fifth less for its handshake. Ours, the handshake alone and curl trust the
authorities of this machine, as who measures public sites has to. A curl that knows but the one authority of the bench
is held to the same target: most of what the other one costs is reading authorities.

The barest probe that Python can make, a blocking socket and nothing noted or verified, is told besides: so much is the
least that a socket adds to the handshake in memory, whoever measures.
"""

import gc
import http.client
import json
import multiprocessing
import os
import random
import resource
import shutil
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from urllib.parse import urlencode
from uuid import uuid4

from OpenSSL import SSL

from workers.bench.cpu import tree_cpu_s
from workers.bench.pages import Ratio
from workers.measurement.addresses import parse_networks
from workers.measurement.messages import Failed, Kind, Measured, ProbeMeasurement, RunRequest
from workers.memory import settle_heap
from workers.probes.engine import Engine
from workers.probes.exchange import Tell
from workers.probes.journey import Journey, Outcome
from workers.probes.link import Kit
from workers.probes.openssl import SUITES
from workers.probes.settings import ProbeSettings
from workers.tests.netlab.chains import Chain, Recipe, Vault
from workers.tests.netlab.nginx import Nginx, NginxConduct, NginxSite, Place
from workers.tests.waiting import wait_for

CURL, EXPORTER = "curl", "prometheus-blackbox-exporter"
EXPORTER_TARGET, CURL_TARGET = 1 / 1.5, 1 / 10
# The handshake alone is 70 % of a probe; two processes do 1.8 times as much as one.
LIMIT_TARGET, TWO_TARGET = 1 / 0.7, 2 / 1.8
# Short turns, and many of them: a neighbour on a shared machine is felt by all alike, and none is unlucky for long.
_PROBES_A_ROUND, _CURLS_A_ROUND, _TURNS_A_ROUND = 96, 5, 5
_IN_FLIGHT = 8
_PATIENCE_S = 120
_SEED = 1
_MEASURED, _CAPTURED, _JUDGED = "all evidence", "captured evidence", "and its diagnosis"
_MEMORY, _BAREST, _ONE_AUTHORITY = "handshake in memory", "bare blocking probe", "curl that trusts one authority"
_TWO = "two processes"
_READ_BYTES = 16 * 1024
_HOST = "one.localhost"
_BODY_BYTES = 4000
# Where Debian's programs look.
_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")

Ask = Callable[[Engine, RunRequest], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where nginx answers, and how it is trusted: by one authority, or by that besides all of this machine."""

    port: int
    ca_file: Path
    all_ca_file: Path
    chain: Chain

    @property
    def url(self) -> str:
        return f"https://{_HOST}:{self.port}/"


def compare_probes(rounds: int) -> list[Ratio]:
    """A ratio for each peer. Raises RuntimeError when one is not installed, or a probe does not succeed."""
    for program in (CURL, EXPORTER):
        if shutil.which(program) is None:
            raise RuntimeError(f"{program} is not installed: `./dev bench` installs it, run as root or with sudo")
    with ExitStack() as stack:
        place = stack.enter_context(_served())
        works: dict[str, Callable[[], float]] = {_MEASURED: stack.enter_context(_ours(place, _measure))}
        works[_CAPTURED] = stack.enter_context(_ours(place, _capture))
        works[_JUDGED] = stack.enter_context(_ours(place, _judge, asking_too=True))
        works[_MEMORY] = _handshakes(place)
        works[_BAREST] = _barest(place)
        works[CURL] = _curl(place, place.all_ca_file)
        works[_ONE_AUTHORITY] = _curl(place, place.ca_file)
        works[EXPORTER] = stack.enter_context(_exporter(place))
        costs: dict[str, list[float]] = {name: [] for name in (*works, _TWO)}
        order = random.Random(_SEED)
        for _ in range(rounds):
            for _ in range(_TURNS_A_ROUND):
                # Who comes first finds the processor's caches full of another's: nobody always comes behind the same.
                for name in order.sample(list(works), len(works)):
                    costs[name].append(works[name]())
            costs[_TWO].append(_two_processes_s(place))
    return _ratios({name: statistics.mean(values) for name, values in costs.items()})


def _ratios(means: dict[str, float]) -> list[Ratio]:
    targets: dict[str, float | None] = {
        _MEMORY: LIMIT_TARGET,
        EXPORTER: EXPORTER_TARGET,
        CURL: CURL_TARGET,
        _ONE_AUTHORITY: CURL_TARGET,
    }
    told: dict[str, float | None] = dict.fromkeys((*targets, _BAREST))
    ratios = [
        Ratio(peer=f"{name} ({ours})", ours_s=means[ours], peer_s=means[name], target=target)
        for ours in (_MEASURED, _CAPTURED, _JUDGED)
        for name, target in (told if ours == _JUDGED else told | targets).items()
    ]
    alone = Ratio(peer="one process alone", ours_s=means[_TWO], peer_s=means[_MEASURED], target=TWO_TARGET)
    return [*ratios, alone]


@contextmanager
def _served() -> Iterator[_Place]:
    with tempfile.TemporaryDirectory(prefix="firstbyte-bench-") as name:
        folder = Path(name)
        vault = Vault(folder)
        chain = vault.chain(Recipe(names=(_HOST,)))
        secure, plain = _free_port(), _free_port()
        site = NginxSite(
            conduct=NginxConduct(http2=False, keepalive_s=0, body_bytes=_BODY_BYTES, early_data=False),
            place=Place(address="127.0.0.1", secure_port=secure, plain_port=plain),
            chain=chain,
        )
        all_ca_file = folder / "authorities.pem"
        all_ca_file.write_bytes(_AUTHORITIES.read_bytes() + vault.ca_file.read_bytes())
        home = folder / "nginx"
        home.mkdir()
        with Nginx(home, [site]) as nginx:
            wait_for(lambda: not nginx.running or _accepts(secure), "nginx to listen")
            if not nginx.running:
                raise RuntimeError(f"nginx does not run: {nginx.complaints}")
            yield _Place(port=secure, ca_file=vault.ca_file, all_ca_file=all_ca_file, chain=chain)


@contextmanager
def _ours(place: _Place, ask: Ask, *, asking_too: bool = False) -> Iterator[Callable[[], float]]:
    """Several in flight, as in an agent. Counts the engine's thread, or all that the process uses."""
    settings = ProbeSettings(
        allowed=parse_networks("127.0.0.0/8"), extra_ports=frozenset({place.port}), ca_file=place.ca_file
    )
    with Engine(settings) as engine, ThreadPoolExecutor(_IN_FLIGHT) as callers:
        request = _request(place.url)
        thread = engine.capture(_own_thread, request)
        clock = time.CLOCK_PROCESS_CPUTIME_ID if asking_too else time.pthread_getcpuclockid(thread)

        def probe_in_turn(_: int) -> None:
            for _ in range(_PROBES_A_ROUND // _IN_FLIGHT):
                ask(engine, request)

        def work() -> float:
            before_s = time.clock_gettime(clock)
            list(callers.map(probe_in_turn, range(_IN_FLIGHT)))
            return (time.clock_gettime(clock) - before_s) / _PROBES_A_ROUND

        work()
        # As the agent does once it has imported everything.
        settle_heap()
        yield work
        gc.unfreeze()


async def _own_thread(_: Kit, __: Tell) -> int:
    return threading.get_ident()


async def _travel(request: RunRequest, kit: Kit, tell: Tell) -> Outcome:
    return await Journey(kit=kit, request=request, tell=tell).run()


def _capture(engine: Engine, request: RunRequest) -> None:
    """A connection with all that evidence is computed from."""
    outcome = engine.capture(partial(_travel, request), request)
    if outcome.failure is not None:
        raise RuntimeError(f"the probe could not be made: {outcome.failure}")
    hop = outcome.capture.hops[0]
    stamped = all(read.arrival.kernel_ns for read in hop.reads if read.size)
    if not (stamped and hop.records and hop.tcp_ended and hop.handshake and hop.handshake.chain):
        raise RuntimeError("the probe brought no evidence")


def _measure(engine: Engine, request: RunRequest) -> None:
    _check(engine.measure(request))


def _judge(engine: Engine, request: RunRequest) -> None:
    _check(engine.probe(request))


def _check(outcome: Measured | Failed) -> None:
    if not isinstance(outcome, Measured) or not isinstance(outcome.measurement, ProbeMeasurement):
        raise RuntimeError(f"the probe could not be made: {outcome}")
    if outcome.measurement.evidence is None or not outcome.measurement.evidence.trials[0].records:
        raise RuntimeError("the probe brought no evidence")


def _request(url: str) -> RunRequest:
    now = datetime.now(UTC)
    return RunRequest(
        run_id=uuid4(),
        monitor_id=uuid4(),
        kind=Kind.PROBE,
        url=url,
        region="bench",
        scheduled_for=now,
        attempt=1,
        expires_at=now + timedelta(minutes=5),
        timeout_us=30_000_000,
    )


def _two_processes_s(place: _Place) -> float:
    """CPU seconds of a probe when two processes make them at the same time."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        return statistics.mean(pool.map_async(_ours_once_s, [place, place]).get(_PATIENCE_S))


def _ours_once_s(place: _Place) -> float:
    with _ours(place, _measure) as work:
        return statistics.mean(work() for _ in range(_TURNS_A_ROUND))


def _handshakes(place: _Place) -> Callable[[], float]:
    """A client's side of the handshake by the same OpenSSL, in memory, without a packet."""
    client, server = SSL.Context(SSL.TLS_CLIENT_METHOD), SSL.Context(SSL.TLS_SERVER_METHOD)
    client.set_default_verify_paths()
    client.load_verify_locations(str(place.ca_file))
    client.set_verify(SSL.VERIFY_PEER)
    client.set_tls13_ciphersuites(SUITES)
    server.use_certificate_chain_file(str(place.chain.chain_file))
    server.use_privatekey_file(str(place.chain.key_file))

    def work() -> float:
        return sum(_handshake_s(client, server) for _ in range(_PROBES_A_ROUND)) / _PROBES_A_ROUND

    return work


def _barest(place: _Place) -> Callable[[], float]:
    """A probe without evidence: connect, shake hands with anybody, ask, and read to the end."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_verify(SSL.VERIFY_NONE)
    context.set_tls13_ciphersuites(SUITES)
    request = f"GET / HTTP/1.1\r\nHost: {_HOST}\r\nConnection: close\r\n\r\n".encode()

    def work() -> float:
        before_s = time.thread_time()
        for _ in range(_PROBES_A_ROUND):
            if _ask_barely(context, place.port, request) < _BODY_BYTES:
                raise RuntimeError("the bare probe got less than the page")
        return (time.thread_time() - before_s) / _PROBES_A_ROUND

    return work


def _ask_barely(context: SSL.Context, port: int, request: bytes) -> int:
    received_bytes = 0
    with socket.create_connection(("127.0.0.1", port)) as sock:
        connection = SSL.Connection(context, sock)
        connection.set_connect_state()
        connection.set_tlsext_host_name(_HOST.encode())
        connection.do_handshake()
        connection.sendall(request)
        with suppress(SSL.ZeroReturnError):
            while True:
                received_bytes += len(connection.recv(_READ_BYTES))
    return received_bytes


def _handshake_s(client: SSL.Context, server: SSL.Context) -> float:
    theirs = SSL.Connection(server, None)
    theirs.set_accept_state()
    began_s = time.thread_time()
    ours = SSL.Connection(client, None)
    ours.set_connect_state()
    ours.set_tlsext_host_name(_HOST.encode())
    hello = _advance(ours)
    spent_s = time.thread_time() - began_s
    theirs.bio_write(hello)
    answer = _advance(theirs)
    began_s = time.thread_time()
    ours.bio_write(answer)
    _advance(ours)
    # Who makes many gives their memory back, and so do all the others here.
    del ours
    return spent_s + time.thread_time() - began_s


def _advance(connection: SSL.Connection) -> bytes:
    with suppress(SSL.WantReadError):
        connection.do_handshake()
    return connection.bio_read(65536)


def _curl(place: _Place, ca_file: Path) -> Callable[[], float]:
    """A process for each, as scripts do it."""
    command = [CURL, "-sS", "-o", os.devnull, "--http1.1", "--cacert", str(ca_file)]
    command += ["--resolve", f"{_HOST}:{place.port}:127.0.0.1", place.url]

    def work() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for _ in range(_CURLS_A_ROUND):
            subprocess.run(command, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / _CURLS_A_ROUND

    return work


@contextmanager
def _exporter(place: _Place) -> Iterator[Callable[[], float]]:
    """The exporter's own process; what asks it is not counted."""
    with tempfile.TemporaryDirectory(prefix="firstbyte-bench-") as folder:
        settings = Path(folder) / "exporter.yml"
        settings.write_text(json.dumps(_exporter_settings(place)))
        port = _free_port()
        command = [EXPORTER, f"--config.file={settings}", f"--web.listen-address=127.0.0.1:{port}"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: process.poll() is not None or _accepts(port), f"{EXPORTER} to listen")
            work = _asking(port, process.pid, place)
            work()
            yield work
        finally:
            process.terminate()
            process.wait()


def _exporter_settings(place: _Place) -> dict[str, object]:
    """JSON is YAML too."""
    tls = {"ca_file": str(place.ca_file), "server_name": _HOST}
    http_settings = {"preferred_ip_protocol": "ip4", "tls_config": tls}
    return {"modules": {"bench": {"prober": "http", "timeout": "10s", "http": http_settings}}}


def _asking(port: int, pid: int, place: _Place) -> Callable[[], float]:
    query = urlencode({"module": "bench", "target": f"https://127.0.0.1:{place.port}/"})

    def ask(_: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", f"/probe?{query}")
        answer = connection.getresponse().read()
        connection.close()
        if b"probe_success 1" not in answer:
            raise RuntimeError(f"{EXPORTER} could not probe: {answer.decode('utf-8', 'replace')[-300:]}")

    def work() -> float:
        before_s = tree_cpu_s(pid)
        with ThreadPoolExecutor(_IN_FLIGHT) as callers:
            list(callers.map(ask, range(_PROBES_A_ROUND)))
        return (tree_cpu_s(pid) - before_s) / _PROBES_A_ROUND

    return work


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2):
            return True
    except OSError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
