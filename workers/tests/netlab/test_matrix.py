"""Every cause is found where it is and nowhere else, near and far, with and without loss; and it costs what is said."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import pytest

from workers.measurement.finding import FindingId, NotJudgedReason
from workers.measurement.messages import ProbeMeasurement
from workers.tests.netlab.chains import Vault
from workers.tests.netlab.column import LOSS, Measurements, diagnosis_of, ids, measure, sites_of
from workers.tests.netlab.costs import UnseenError, cost_us
from workers.tests.netlab.twin import RTTS_MS, SHY_OF_LOSS, Cost, Twin
from workers.tests.netlab.twins import OF_THE_NETWORK, PAGE_LEVEL, TWINS
from workers.tests.second_tries import loud, measured_again

# Of the difference that a repair really makes, and what a busy machine adds to a short one.
_SAVING_SHARE = 0.10
_SAVING_FLOOR_US = 1500
_TRIES = 8
# They mostly wait.
_AT_ONCE = 3

Complaints = Mapping[Twin, list[str]]


class Column(NamedTuple):
    """One round trip, with or without loss."""

    rtt_ms: int
    lossy: bool

    def __str__(self) -> str:
        return f"{self.rtt_ms}-{'lossy' if self.lossy else 'clean'}"


# The longest first, so that all processes end at about the same time.
COLUMNS = tuple(Column(rtt_ms, lossy) for rtt_ms, lossy in product(sorted(RTTS_MS, reverse=True), (True, False)))


def test_every_cause_that_a_probe_can_see_has_twins() -> None:
    assert {twin.id for twin in TWINS} == set(FindingId) - PAGE_LEVEL - OF_THE_NETWORK
    assert len({twin.name for twin in TWINS}) == len(TWINS)


@pytest.fixture(scope="module")
def told(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[Column, Future[list[str]]]]:
    """Complaints of every column that is to be tested. What gives cause for complaint is measured again when all were
    measured, with nothing of ours beside it."""
    parameters = (getattr(item, "callspec", None) for item in request.session.items)
    asked = {one.params["column"] for one in parameters if one is not None and "column" in one.params}
    places = {column: tmp_path_factory.mktemp("column") for column in sorted(asked, key=COLUMNS.index)}
    with ProcessPoolExecutor(_AT_ONCE, get_context("spawn")) as processes:
        with loud():
            first = {column: processes.submit(complained, column, TWINS, place) for column, place in places.items()}
            wait(first.values())
        with ThreadPoolExecutor(1) as alone:
            yield {
                column: alone.submit(judge, column, first[column].result(), processes, place)
                for column, place in places.items()
            }


@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_findings_are_exact_and_what_they_save_is_real(
    column: Column, told: Mapping[Column, Future[list[str]]]
) -> None:
    """With loss: what a lost packet imitates is left open, and all else is found as before."""
    complaints = told[column].result()
    assert not complaints, "\n" + "\n".join(complaints)


def complained(column: Column, twins: Iterable[Twin], folder: Path, number: int = 0) -> Complaints:
    """What is wrong with the diagnoses of these twins in that column, of each that is told wrongly."""
    complain = complaints_of_loss if column.lossy else complaints
    chosen = [twin for twin in twins if column.rtt_ms in twin.rtts_ms and not (column.lossy and twin.calm)]
    place = folder / f"try{number}"
    place.mkdir()
    loss = LOSS if column.lossy else ()
    measured = measure(sites_of(chosen), rtt_ms=column.rtt_ms, loss=loss, vault=Vault(place), folder=place)
    told = {twin: list(complain(twin, measured, column.rtt_ms)) for twin in chosen}
    return {twin: words for twin, words in told.items() if words}


def judge(column: Column, told: Complaints, processes: Executor, folder: Path) -> list[str]:
    """What stays wrong of what was told when all twins were measured.

    Any server of so many may have to wait for the processor, which nobody can tell from a slow server. So twins that
    give cause for complaint are measured again, with fewer beside them: what is wrong with a rule is wrong each time.
    """
    for number in range(1, _TRIES):
        if told:
            measured_again(f"{column}: {'; '.join(words[0] for words in told.values())}")
            told = processes.submit(complained, column, tuple(told), folder, number).result()
    return [word for words in told.values() for word in words]


def complaints(twin: Twin, measured: Measurements, rtt_ms: int) -> Iterator[str]:
    """What is wrong with the diagnoses of both, in words."""
    for repaired, site in ((False, twin.positive), (True, twin.repaired)):
        found = ids(diagnosis_of(measured[site]))
        expected = twin.expected(rtt_ms, repaired=repaired)
        if found != expected:
            yield f"{label(twin, repaired=repaired)}: {difference(found, expected)}{why(measured[site], twin.id)}"
    if twin.cost is not None and rtt_ms >= twin.cost_from_ms:
        yield from complaints_of_saving(twin, twin.cost, measured)


def complaints_of_saving(twin: Twin, cost: Cost, measured: Measurements) -> Iterator[str]:
    try:
        real_us = cost_us(cost, measured[twin.positive]) - cost_us(cost, measured[twin.repaired])
    except UnseenError as error:
        yield f"{twin.name}: {error}"
        return
    diagnosis = diagnosis_of(measured[twin.positive])
    for finding in diagnosis.findings:
        if finding.id is twin.id:
            claimed_us = finding.saving_us or 0
            if abs(claimed_us - real_us) > max(_SAVING_FLOOR_US, _SAVING_SHARE * real_us):
                yield f"{twin.name}: saves {real_us / 1000:.1f} ms, but {claimed_us / 1000:.1f} ms are claimed"


def complaints_of_loss(twin: Twin, measured: Measurements, rtt_ms: int) -> Iterator[str]:
    """With loss, what a lost packet imitates must be left open, and all else found as before."""
    for repaired, site in ((False, twin.positive), (True, twin.repaired)):
        measurement = measured[site]
        if not lost(measurement):
            continue
        diagnosis = diagnosis_of(measurement)
        left_open = SHY_OF_LOSS | ({twin.id} if twin.shy else frozenset())
        expected = (twin.expected(rtt_ms, repaired=repaired) - left_open) | {FindingId.TCP_LOSS}
        expected |= frozenset() if repaired else twin.instead
        # How much of the time the way itself takes is less where packets are sent again.
        found = ids(diagnosis) | (expected & {FindingId.TCP_RTT_HIGH})
        if found != expected:
            yield f"{label(twin, repaired=repaired)}: {difference(found, expected)}{why(measurement, twin.id)}"
        open_for_loss = {one.id for one in diagnosis.not_judged if one.reason is NotJudgedReason.LOSS}
        if not repaired and twin.is_shy_of_loss and twin.id not in open_for_loss:
            yield f"{twin.name}: {twin.id} is not left open for loss{why(measurement, twin.id)}"


def lost(measurement: ProbeMeasurement) -> bool:
    """Whether the script struck often enough to be told: in two connections."""
    assert measurement.evidence is not None
    ends = [trial.tcp_ended for trial in measurement.evidence.trials if trial.tcp_ended is not None]
    return sum(bool(end.out_of_order_packets) for end in ends) >= 2


def label(twin: Twin, *, repaired: bool) -> str:
    return f"{twin.name} ({'repaired' if repaired else 'broken'})"


def difference(found: frozenset[FindingId], expected: frozenset[FindingId]) -> str:
    missing, wrong = sorted(expected - found), sorted(found - expected)
    return f"{f'missing {missing} ' if missing else ''}{f'wrong {wrong}' if wrong else ''}"


def why(measurement: ProbeMeasurement, id: FindingId) -> str:
    """What the diagnosis says of that cause, for whoever looks into it."""
    left_open = [f" (not judged: {one.reason})" for one in diagnosis_of(measurement).not_judged if one.id is id]
    return "".join(left_open)
