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

Of a chain as Let's Encrypt's and Google's servers send it for keys on curves, an authority of P-384 signs a part, which
takes whoever verifies it as long as all of the rest. What ours costs beside the handshake alone and the exporter on
such a chain is told besides.

The barest probe that Python can make, a blocking socket and nothing noted or verified, is told besides: so much is the
least that a socket adds to the handshake in memory, whoever measures.
"""

import gc
import multiprocessing
import random
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType
from uuid import uuid4

from workers.bench.pages import Ratio
from workers.bench.peers import (
    BODY_BYTES,
    CURL,
    EXPORTER,
    HOST,
    IN_FLIGHT,
    PROBES_A_ROUND,
    Served,
    accepts,
    barest,
    curl,
    exporter,
    free_port,
    handshakes,
)
from workers.measurement.addresses import parse_networks
from workers.measurement.messages import Failed, Kind, Measured, ProbeMeasurement, RunRequest
from workers.memory import settle_heap
from workers.probes.engine import Engine
from workers.probes.exchange import Tell
from workers.probes.journey import Journey, Outcome
from workers.probes.link import Kit
from workers.probes.settings import ProbeSettings
from workers.tests.netlab.certificates import KeyKind
from workers.tests.netlab.chains import Recipe, Vault
from workers.tests.netlab.nginx import Nginx, NginxConduct, NginxSite, Place
from workers.tests.waiting import wait_for

EXPORTER_TARGET, CURL_TARGET = 1 / 1.5, 1 / 10
# The handshake alone is 70 % of a probe; two processes do 1.8 times as much as one.
LIMIT_TARGET, TWO_TARGET = 1 / 0.7, 2 / 1.8
_TURNS_A_ROUND = 5
_PATIENCE_S = 120
_SEED = 1
_MEASURED, _CAPTURED, _JUDGED = "all evidence", "captured evidence", "and its diagnosis"
_MEMORY, _BAREST, _ONE_AUTHORITY = "handshake in memory", "bare blocking probe", "curl that trusts one authority"
_TWO = "two processes"
_PLAIN, _PUBLIC = Recipe(names=(HOST,)), Recipe(names=(HOST,), authorities=KeyKind.P384)
# Where Debian's programs look.
_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")

Ask = Callable[[Engine, RunRequest], None]
Works = Mapping[str, Callable[[], float]]


def compare_probes(rounds: int) -> list[Ratio]:
    """A ratio for each peer. Raises RuntimeError when one is not installed, or a probe does not succeed."""
    for program in (CURL, EXPORTER):
        if shutil.which(program) is None:
            raise RuntimeError(f"{program} is not installed: `./dev bench` installs it, run as root or with sudo")
    return [*_on_a_plain_chain(rounds), *_on_a_public_chain(rounds)]


def _on_a_plain_chain(rounds: int) -> list[Ratio]:
    with ExitStack() as stack:
        place = stack.enter_context(_served(_PLAIN))
        works: dict[str, Callable[[], float]] = {_MEASURED: stack.enter_context(_ours(place, _measure))}
        works[_CAPTURED] = stack.enter_context(_ours(place, _capture))
        works[_JUDGED] = stack.enter_context(_ours(place, _judge, asking_too=True))
        works[_MEMORY] = handshakes(place)
        works[_BAREST] = barest(place)
        works[CURL] = curl(place, place.all_ca_file)
        works[_ONE_AUTHORITY] = curl(place, place.ca_file)
        works[EXPORTER] = stack.enter_context(exporter(place))
        return _ratios(_means(works, rounds, rarely={_TWO: partial(_two_processes_s, place)}))


def _on_a_public_chain(rounds: int) -> list[Ratio]:
    """Told besides: targets hold for the plain one, of which whoever verifies it computes the least."""
    with ExitStack() as stack:
        place = stack.enter_context(_served(_PUBLIC))
        works = {_MEASURED: stack.enter_context(_ours(place, _measure)), _MEMORY: handshakes(place)}
        works[EXPORTER] = stack.enter_context(exporter(place))
        means = _means(works, rounds)
    return [
        Ratio(peer=f"{name} ({_MEASURED}, a public chain)", ours_s=means[_MEASURED], peer_s=means[name], target=None)
        for name in (_MEMORY, EXPORTER)
    ]


def _means(works: Works, rounds: int, *, rarely: Works = MappingProxyType({})) -> dict[str, float]:
    """CPU seconds of a probe, by turns; of what is asked `rarely` once a round."""
    costs: dict[str, list[float]] = {name: [] for name in (*works, *rarely)}
    order = random.Random(_SEED)
    for _ in range(rounds):
        for _ in range(_TURNS_A_ROUND):
            # Who comes first finds the processor's caches full of another's: nobody always comes behind the same.
            for name in order.sample(list(works), len(works)):
                costs[name].append(works[name]())
        for name, work in rarely.items():
            costs[name].append(work())
    return {name: statistics.mean(values) for name, values in costs.items()}


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
def _served(recipe: Recipe) -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="firstbyte-bench-") as name:
        folder = Path(name)
        vault = Vault(folder)
        chain = vault.chain(recipe)
        secure, plain = free_port(), free_port()
        site = NginxSite(
            conduct=NginxConduct(http2=False, keepalive_s=0, body_bytes=BODY_BYTES, early_data=False),
            place=Place(address="127.0.0.1", secure_port=secure, plain_port=plain),
            chain=chain,
        )
        all_ca_file = folder / "authorities.pem"
        all_ca_file.write_bytes(_AUTHORITIES.read_bytes() + vault.ca_file.read_bytes())
        home = folder / "nginx"
        home.mkdir()
        with Nginx(home, [site]) as nginx:
            wait_for(lambda: not nginx.running or accepts(secure), "nginx to listen")
            if not nginx.running:
                raise RuntimeError(f"nginx does not run: {nginx.complaints}")
            yield Served(port=secure, ca_file=vault.ca_file, all_ca_file=all_ca_file, chain=chain)


@contextmanager
def _ours(place: Served, ask: Ask, *, asking_too: bool = False) -> Iterator[Callable[[], float]]:
    """Several in flight, as in an agent. Counts the engine's thread, or all that the process uses."""
    settings = ProbeSettings(
        allowed=parse_networks("127.0.0.0/8"), extra_ports=frozenset({place.port}), ca_file=place.ca_file
    )
    with Engine(settings) as engine, ThreadPoolExecutor(IN_FLIGHT) as callers:
        request = _request(place.url)
        thread = engine.capture(_own_thread, request)
        clock = time.CLOCK_PROCESS_CPUTIME_ID if asking_too else time.pthread_getcpuclockid(thread)

        def probe_in_turn(_: int) -> None:
            for _ in range(PROBES_A_ROUND // IN_FLIGHT):
                ask(engine, request)

        def work() -> float:
            before_s = time.clock_gettime(clock)
            list(callers.map(probe_in_turn, range(IN_FLIGHT)))
            return (time.clock_gettime(clock) - before_s) / PROBES_A_ROUND

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


def _two_processes_s(place: Served) -> float:
    """CPU seconds of a probe when two processes make them at the same time."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        return statistics.mean(pool.map_async(_ours_once_s, [place, place]).get(_PATIENCE_S))


def _ours_once_s(place: Served) -> float:
    with _ours(place, _measure) as work:
        return statistics.mean(work() for _ in range(_TURNS_A_ROUND))
