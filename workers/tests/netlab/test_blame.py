"""Whom a failure is blamed on: the site, the way, or our own clock; and certificates for addresses."""

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from workers.measurement.evidence import Depth
from workers.measurement.failure import Blame, FailureKind
from workers.measurement.finding import Finding, NotJudgedReason
from workers.measurement.finding import FindingId as Id
from workers.measurement.messages import Failed, Measured, ProbeMeasurement
from workers.shaping.settings import Direction, Drop
from workers.tests.netlab.certificates import USUAL_LIFE, Life
from workers.tests.netlab.chains import Recipe, Vault
from workers.tests.netlab.column import diagnosis_of
from workers.tests.netlab.conduct import HSTS, Conduct
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.misbehaving import MisbehavingServer
from workers.tests.netlab.network import NAME
from workers.tests.waiting import undisturbed

RTT_MS = 20
# Every full packet of the server vanishes, and nobody tells it.
BLACK_HOLE = (Drop(direction=Direction.DOWN, nth=None, least_bytes=1300, port=443),)
# A connection has half of it: long enough for a server to have tried again four times.
PATIENCE_US = 8_000_000
HOUR = 1 / 24


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return Vault(tmp_path_factory.mktemp("vault"))


@contextmanager
def serving(
    vault: Vault,
    conduct: Conduct,
    *,
    names: Sequence[str] = (NAME,),
    life: Life = USUAL_LIFE,
    loss: Sequence[Drop] = (),
    address: str | None = None,
) -> Iterator[Lab]:
    with Lab(rtt_ms=RTT_MS, loss=loss) as lab:
        lab.configure(ca_file=vault.ca_file)
        where = address or lab.server_address4
        family = socket.AF_INET6 if ":" in where else socket.AF_INET
        listener = lab.server.call(lambda: socket.create_server((where, 443), family=family))
        with MisbehavingServer(listener, conduct, vault.chain(Recipe(names=tuple(names), life=life))):
            yield lab


def asked(lab: Lab, host: str = NAME, depth: Depth = Depth.LIGHT) -> Measured | Failed:
    return lab.probe(f"https://{host}/", depth=depth, timeout_us=PATIENCE_US)


def findings_of(outcome: Measured | Failed) -> dict[Id, Finding]:
    assert isinstance(outcome.measurement, ProbeMeasurement)
    return {one.id: one for one in diagnosis_of(outcome.measurement).findings}


@undisturbed
def test_a_hole_that_is_never_filled_is_the_ways(vault: Vault) -> None:
    with serving(vault, Conduct(), loss=BLACK_HOLE) as lab:
        outcome = asked(lab)
    assert isinstance(outcome, Failed)
    assert "path MTU" in outcome.failure.detail
    assert Id.TCP_LOSS not in findings_of(outcome)


def test_a_server_that_is_silent_has_lost_nothing(vault: Vault) -> None:
    with serving(vault, Conduct(handshake_think_s=20)) as lab:
        outcome = asked(lab)
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind is FailureKind.TLS_TIMEOUT
    assert "path MTU" not in outcome.failure.detail


def dated(hours: float) -> Conduct:
    """A server whose clock is so much ahead of ours."""
    now = datetime.now(UTC) + timedelta(hours=hours)
    return Conduct(headers=(HSTS, f"Date: {format_datetime(now, usegmt=True)}"))


@pytest.mark.parametrize(
    ("hours", "life", "id"),
    [
        (2, Life(begins=HOUR, ends=80), Id.TLS_CERT_NOT_YET_VALID),
        (-2, Life(begins=-80, ends=-HOUR), Id.TLS_CERT_EXPIRED),
    ],
)
def test_a_certificate_is_not_blamed_for_a_clock(vault: Vault, hours: int, life: Life, id: Id) -> None:
    with serving(vault, dated(hours), life=life) as lab:
        outcome = asked(lab)
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.measurement, ProbeMeasurement)
    assert outcome.failure.blame is Blame.MONITOR
    assert ("behind" if hours > 0 else "ahead of") in outcome.failure.detail
    assert id not in findings_of(outcome)
    reasons = {one.id: one.reason for one in diagnosis_of(outcome.measurement).not_judged}
    assert reasons[id] is NotJudgedReason.CLOCKS_APART


@pytest.mark.parametrize("hours", [0, 2])
def test_an_expired_certificate_is_blamed_by_either_clock(vault: Vault, hours: int) -> None:
    with serving(vault, dated(hours), life=Life(begins=-80, ends=-HOUR)) as lab:
        outcome = asked(lab)
    assert isinstance(outcome, Failed)
    assert outcome.failure.blame is Blame.TARGET
    assert Id.TLS_CERT_EXPIRED in findings_of(outcome)


@pytest.mark.parametrize(("address", "host"), [("10.77.0.1", "10.77.0.1"), ("fd77::1", "[fd77::1]")])
@pytest.mark.parametrize("right", [True, False])
def test_a_certificate_may_be_for_an_address(vault: Vault, address: str, host: str, right: bool) -> None:
    names = (address,) if right else ("10.77.0.99", "fd77::99", NAME)
    with serving(vault, Conduct(), names=names, address=address) as lab:
        outcome = asked(lab, host)
    assert isinstance(outcome, Measured) is right
    assert (Id.TLS_CERT_NAME_MISMATCH in findings_of(outcome)) is not right
