"""What can be asked of a gate, and the rules it must keep: a sentence for each field at fault."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from backend.alerts.metrics import measured_by
from backend.analysis.gate_metrics import OFFSETS, canonical
from backend.analysis.user_timings import is_user_timing
from backend.faults import InvalidError
from backend.gates.addresses import Address, faults_of
from backend.gates.models import BaselineMode, Level, OnInconclusive, Phase
from backend.sites.deploys import DeployMarker
from backend.sites.models import Monitor
from backend.sites.targets import check_called
from workers.measurement.target import TargetError

MAX_RULES, MAX_REGIONS, MAX_MONITORS = 20, 20, 5
MAX_COMPARISONS = 40
RUNS_RANGE, MAX_DISCARD = (3, 50), 3
TIMEOUT_RANGE_S = (10, 3_600)
WINDOW_RANGE = (timedelta(hours=1), timedelta(days=30))
SAMPLES_RANGE = (10, 10_000)
CONFIDENCE_RANGE = (0.8, 0.999)
# A page in five regions for 50 rounds is 250; more would keep browsers busy for hours.
MAX_RUNS = 1_000
_GATED = f"{', '.join(OFFSETS)}, and the user timings that a page follows, such as mark:hero-painted"
# Where a monitor is not named, pages are asked only for what a raw probe does not see.
_KINDS = ("probe", "page")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRule:
    """A limit for a metric, by either of its names. `monitors` narrows it; empty means whichever the gate is about."""

    metric: str
    max_change_pct: float | None = None
    min_change: float = 0.0
    max_value: float | None = None
    level: str = Level.FAIL
    monitors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What is compared with. `gate` is that of an earlier one, by its id; `address` is of the mode `url`."""

    mode: str = BaselineMode.HISTORY
    window: timedelta = timedelta(hours=24)
    min_samples: int = 60
    gate: UUID | None = None
    address: Address = field(default_factory=Address)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """How much is measured: so many runs a region, doubled up to the most. The first ones only warm caches."""

    per_region: int = 3
    max_per_region: int = 12
    discard_first: int = 1
    regions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """All that a pipeline asks. `monitors` are ids, or `probe` and `page`; empty means whichever measures a metric.

    A `profile` is only compared with theirs: what is measured differently cannot be compared. `release` is where the
    release is reached, if that is not what the monitors measure.
    """

    rules: tuple[AskedRule, ...]
    monitors: tuple[str, ...] = ()
    profile: str = ""
    deploy: DeployMarker = field(default_factory=DeployMarker)
    phase: str = Phase.AFTER
    baseline: Baseline = field(default_factory=Baseline)
    release: Address = field(default_factory=Address)
    runs: Runs = field(default_factory=Runs)
    confidence: float = 0.95
    on_inconclusive: str = OnInconclusive.INCONCLUSIVE
    timeout_s: int = 600
    callback_url: str = ""


class InvalidGateError(InvalidError):
    """What was asked cannot be. `faults` holds a sentence by the path of the field, such as `rules/0/metric`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A rule for one monitor."""

    rule: AskedRule
    metric: str
    monitor: Monitor


def check(question: Question) -> None:
    """Raises InvalidGateError with every fault that can be seen without looking anything up."""
    faults = dict(_faults(question))
    if faults:
        raise InvalidGateError(faults)


def comparisons(question: Question, monitors: Sequence[Monitor]) -> list[Comparison]:
    """Each rule with each monitor that it is about, of a site's monitors. Raises InvalidGateError."""
    faults: dict[str, str] = {}
    found: list[Comparison] = []
    for place, rule in enumerate(question.rules):
        metric = canonical(rule.metric) or ""
        try:
            chosen = _chosen(metric, rule.monitors or question.monitors, monitors)
        except LookupError as error:
            named = f"rules/{place}/monitors" if rule.monitors else "monitors"
            faults[named if question.monitors or rule.monitors else f"rules/{place}/metric"] = str(error)
            continue
        found += [Comparison(rule=rule, metric=metric, monitor=monitor) for monitor in chosen]
    others = {comparison.monitor.profile for comparison in found} - {question.profile}
    if question.profile and others:
        faults["profile"] = f"The monitors measure with the profile {', '.join(sorted(others))}."
    if len(found) > MAX_COMPARISONS or len({comparison.monitor.pk for comparison in found}) > MAX_MONITORS:
        faults["monitors"] = f"At most {MAX_MONITORS} monitors and {MAX_COMPARISONS} comparisons can be judged at once."
    if faults:
        raise InvalidGateError(faults)
    return found


def _chosen(metric: str, wanted: Sequence[str], monitors: Sequence[Monitor]) -> list[Monitor]:
    """Raises LookupError with a sentence."""
    able = [one for one in monitors if one.kind in _KINDS and measured_by(metric, one.kind, one.user_timings)]
    verb = "follows" if is_user_timing(metric) else "measures"
    if not wanted:
        # One that is paused has hardly a history to compare with.
        first = sorted(able, key=lambda monitor: (monitor.paused, _KINDS.index(monitor.kind), monitor.pk))[:1]
        if not first:
            raise LookupError(f"No monitor of this site {verb} {metric}.")
        return first
    named = [monitor for monitor in monitors if {str(monitor.public_id), monitor.kind} & set(wanted)]
    known = {str(monitor.public_id) for monitor in monitors} | {monitor.kind for monitor in monitors}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise LookupError(f"This site has no monitor {unknown[0][:40]!r}.")
    chosen = [monitor for monitor in named if monitor in able]
    if not chosen:
        raise LookupError(f"None of these monitors {verb} {metric}.")
    return chosen


def _faults(question: Question) -> Iterator[tuple[str, str]]:
    if not 1 <= len(question.rules) <= MAX_RULES:
        yield "rules", f"A gate needs 1 to {MAX_RULES} rules."
    for place, rule in enumerate(question.rules):
        yield from ((f"rules/{place}/{name}", fault) for name, fault in _rule_faults(rule))
    yield from _run_faults(question.runs)
    yield from _baseline_faults(question)
    yield from _side_faults(question)
    if not CONFIDENCE_RANGE[0] <= question.confidence <= CONFIDENCE_RANGE[1]:
        yield "confidence", f"The confidence must lie between {CONFIDENCE_RANGE[0]} and {CONFIDENCE_RANGE[1]}."
    if not TIMEOUT_RANGE_S[0] <= question.timeout_s <= TIMEOUT_RANGE_S[1]:
        yield "timeout_s", f"The timeout must be {TIMEOUT_RANGE_S[0]} to {TIMEOUT_RANGE_S[1]} seconds."
    if question.phase not in Phase.values:
        yield "phase", f"The phase is one of {', '.join(Phase.values)}."
    if question.on_inconclusive not in OnInconclusive.values:
        yield "on_inconclusive", f"It is one of {', '.join(OnInconclusive.values)}."
    if question.callback_url and (fault := _address_fault(question.callback_url)):
        yield "callback_url", fault


def _rule_faults(rule: AskedRule) -> Iterator[tuple[str, str]]:
    metric = canonical(rule.metric)
    if metric is None:
        yield "metric", f"{rule.metric[:40]!r} cannot be gated; choose from {_GATED}."
    if (rule.max_change_pct is None) == (rule.max_value is None):
        yield "max_change_pct", "A rule needs one limit: max_change_pct, or a greatest value."
    elif metric == "cls" and rule.max_change_pct is not None:
        yield "max_change_pct", "Layout shift is often 0, of which there are no per cents: give a greatest value."
    if rule.max_change_pct is not None and not 0 < rule.max_change_pct <= 1_000:
        yield "max_change_pct", "The limit must lie above 0 and be at most 1000 per cent."
    if rule.max_value is not None and not 0 < rule.max_value <= 1e12:
        yield "max_value", "The greatest value must lie above 0."
    if rule.min_change and rule.max_value is not None:
        yield "min_change", "The least change that counts belongs to max_change_pct; a greatest value has none."
    if not 0 <= rule.min_change <= 1e9:
        yield "min_change", "What does not count must not be negative."
    if rule.level not in Level.values:
        yield "level", f"The level is one of {', '.join(Level.values)}."


def _run_faults(runs: Runs) -> Iterator[tuple[str, str]]:
    low, high = RUNS_RANGE
    if not low <= runs.per_region <= high:
        yield "runs/per_region", f"A region makes {low} to {high} runs."
    if not runs.per_region <= runs.max_per_region <= high:
        yield "runs/max_per_region", f"The most runs of a region are at least runs/per_region, and at most {high}."
    if not 0 <= runs.discard_first <= MAX_DISCARD:
        yield "runs/discard_first", f"0 to {MAX_DISCARD} first runs can be left out."
    if len(runs.regions) > MAX_REGIONS:
        yield "runs/regions", f"At most {MAX_REGIONS} regions can take part."


def _baseline_faults(question: Question) -> Iterator[tuple[str, str]]:
    baseline = question.baseline
    if baseline.mode not in BaselineMode.values:
        yield "baseline/mode", f"The mode is one of {', '.join(BaselineMode.values)}."
    if not WINDOW_RANGE[0] <= baseline.window <= WINDOW_RANGE[1]:
        yield "baseline/window", "The window must be 1 hour to 30 days."
    if not SAMPLES_RANGE[0] <= baseline.min_samples <= SAMPLES_RANGE[1]:
        yield "baseline/min_samples", f"It must be {SAMPLES_RANGE[0]} to {SAMPLES_RANGE[1]} earlier runs."
    if baseline.mode == BaselineMode.GATE and baseline.gate is None:
        yield "baseline/gate", "Say which gate's runs are compared with."
    if baseline.mode in (BaselineMode.GATE, BaselineMode.URL) and question.phase == Phase.BEFORE:
        yield "baseline/mode", "A gate before the release compares with nothing."


def _side_faults(question: Question) -> Iterator[tuple[str, str]]:
    before, after = question.baseline.address, question.release
    if question.baseline.mode != BaselineMode.URL:
        for address, path in ((before, "baseline"), (after, "release")):
            if address:
                yield f"{path}/url" if address.base else f"{path}/urls", "Addresses are compared in the mode url."
        return
    yield from faults_of(before, "baseline")
    yield from faults_of(after, "release")
    if not before and not after:
        yield "baseline/url", "Say which address is compared with."


def _address_fault(url: str) -> str | None:
    try:
        check_called(url)
    except TargetError as error:
        return str(error)
    return None
