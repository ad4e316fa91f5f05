"""Behind every odd way a healthy site has no fault, and a broken one its own, or it is said why that is left open."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from workers.tests.netlab.odd_ways import ODD_WAYS, Told, Verdict, Way, side_by_side, told_behind
from workers.tests.netlab.twin import Twin
from workers.tests.netlab.twins import TWINS
from workers.tests.second_tries import loud, measured_again

_RTT_MS = 80
# What ways imitate best, and one of each kind of evidence: pauses in handshakes and answers, sizes, waits, visits and
# hops.
_CHOSEN = frozenset(
    {
        "records-16k",
        "nagle",
        "closing",
        "thinking",
        "handshake-stall",
        "flush-stall",
        "slow-signature",
        "no-sessions",
        "moved",
    }
)
_TRIES = 3
# Of a dozen sites each.
_AT_ONCE = 5


@pytest.fixture(scope="module")
def told(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Future[list[Told]]]]:
    """What each way that is to be tested leads to complain of."""
    parameters = (getattr(item, "callspec", None) for item in request.session.items)
    asked = {one.params["way"] for one in parameters if one is not None and "way" in one.params}
    ways = [Way(name=name, rtt_ms=_RTT_MS) for name in ODD_WAYS if name in asked]
    folder = tmp_path_factory.mktemp("ways")
    twins = [twin for twin in TWINS if twin.name in _CHOSEN]
    with side_by_side(_AT_ONCE) as processes:
        with loud():
            first = {way: processes.submit(complained, way, twins, folder) for way in ways}
            wait(first.values())
        with ThreadPoolExecutor(1) as alone:
            yield {way.name: alone.submit(judge, way, one.result(), processes, folder) for way, one in first.items()}


@pytest.mark.parametrize("way", ODD_WAYS)
def test_what_is_told_behind_an_odd_way_is_true_and_no_fault_is_passed_over(
    way: str, told: Mapping[str, Future[list[Told]]]
) -> None:
    complaints = told[way].result()
    assert not complaints, "\n" + "\n".join(map(str, complaints))


def complained(way: Way, twins: Iterable[Twin], folder: Path) -> list[Told]:
    """What is told wrongly, and faults of which nothing is said."""
    return [one for one in told_behind(way, twins, folder) if one.verdict in {Verdict.WRONG, Verdict.SILENT}]


def judge(way: Way, complaints: list[Told], processes: Executor, folder: Path) -> list[Told]:
    """As in the matrix: what a busy machine spoilt is measured again, and what is wrong with a rule is wrong again."""
    for _ in range(1, _TRIES):
        if complaints:
            measured_again("; ".join(map(str, complaints)))
            complaints = processes.submit(complained, way, {one.twin for one in complaints}, folder).result()
    return complaints
