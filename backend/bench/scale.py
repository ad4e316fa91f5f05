"""Whether one organisation's pages and the duties of the background stay as quick when others have much.

The same questions are asked twice: when a small organisation is alone, and when millions of runs of three large ones
lie beside its own. Beyond 1 is what grew.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from statistics import median
from time import perf_counter

from django.test import Client
from django.utils import timezone

from backend.accounts.actions import NewToken, create_token
from backend.accounts.models import Organisation
from backend.accounts.permissions import Role, Scope
from backend.alerts.judging import judge_batch
from backend.bench.figures import Figure
from backend.bench.large import LARGE, Tenant, make, runs_stored
from backend.runs.claim import next_due
from backend.runs.leases import sweep
from backend.runs.rollups import roll_up
from backend.runs.sql import execute
from backend.sites.models import Monitor
from workers.memory import settle_heap

NEAR = Tenant(name="near", sites=30, regions=8, days=2)
ROUNDS, WARM_UP = 15, 3
# What does not grow is still read among more pages and deeper trees.
MOST_GROWTH = 2.0
# Most of what is looked at again is only counted.
MOST_AGAIN = 0.25
# Before those of others, which wait for their first look: else theirs would be measured.
_DUE = "UPDATE alerts_watch SET due_at = now() - interval '1 day' WHERE monitor_id = ANY(%s)"
_FORGET = """
DELETE FROM runs_rollup r USING (SELECT width_s, max(at) AS at FROM runs_rollup GROUP BY width_s) newest
WHERE r.width_s = newest.width_s AND (r.at = newest.at OR r.width_s = 3600 AND r.at >= newest.at - interval '1 hour')
"""

Questions = dict[str, Callable[[], object]]


def measure() -> Iterator[Figure]:
    now = timezone.now()
    near = make([NEAR], now=now)[NEAR.name]
    questions = _questions(near)
    alone = {name: _ms(ask) for name, ask in questions.items()}
    make(LARGE, now=now)
    yield Figure(name="runs stored", value=runs_stored(), unit="runs")
    for name, ask in questions.items():
        among = _ms(ask)
        yield Figure(name=f"{name}, among many", value=among, unit="ms")
        yield Figure(
            name=f"{name}, beside alone", value=among / alone[name], unit="times", target=MOST_GROWTH, at_least=False
        )
    yield Figure(name="rolled up again, beside anew", value=_again(), unit="times", target=MOST_AGAIN, at_least=False)


def _questions(organisation: Organisation) -> Questions:
    monitors = list(Monitor.objects.filter(site__organisation=organisation).order_by("pk").values_list("pk", flat=True))
    series = f"monitors/{Monitor.objects.get(pk=monitors[0]).public_id}/series"
    call = _caller(organisation)

    def judge() -> None:
        execute(_DUE, [monitors])
        judge_batch(timezone.now(), len(monitors))

    return {
        "API, sites": lambda: call("sites?limit=100"),
        "API, rules": lambda: call("rules?limit=100"),
        "API, series of all regions": lambda: call(series),
        "API, failed runs": lambda: call("runs?limit=100&outcome=failed"),
        "scheduler, when the next slot is due": next_due,
        "sweeper, leases": lambda: sweep(timezone.now()),
        f"judge, {NEAR.sites} monitors": judge,
    }


def _caller(organisation: Organisation) -> Callable[[str], None]:
    scopes = frozenset({Scope.READ, Scope.ALERTS})
    wanted = NewToken(name="bench", role=Role.ADMIN, scopes=scopes, life=timedelta(days=1))
    secret = create_token(actor=None, organisation=organisation, wanted=wanted).secret
    client = Client(headers={"Authorization": f"Bearer {secret}"}, SERVER_NAME="127.0.0.1")

    def call(path: str) -> None:
        answer = client.get(f"/api/v1/{path}")
        assert answer.status_code == 200, answer.content

    return call


def _ms(ask: Callable[[], object]) -> float:
    """Of rounds after a few that warm everything up."""
    settle_heap()
    for _ in range(WARM_UP):
        ask()
    return median(_took_s(ask) for _ in range(ROUNDS)) * 1000


def _took_s(ask: Callable[[], object]) -> float:
    began = perf_counter()
    ask()
    return perf_counter() - began


def _again() -> float:
    """The newest day and the two newest hours looked at again, beside writing them."""
    again_s = _took_s(lambda: roll_up(timezone.now()))
    execute(_FORGET)
    return again_s / _took_s(lambda: roll_up(timezone.now()))
