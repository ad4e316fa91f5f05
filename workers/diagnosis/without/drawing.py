"""What hosts cost a page as text for a terminal: the verdict, each metric with and without them, what to know. Pure."""

from collections.abc import Sequence
from textwrap import wrap

from workers.diagnosis.catalogue import entry
from workers.diagnosis.catalogue.failures import Door, advice_on
from workers.diagnosis.finding_drawing import ADVICE
from workers.diagnosis.units import ms
from workers.diagnosis.without.cost import Cost
from workers.diagnosis.without.verdict import DIFFERENT, MetricVerdict
from workers.diagnosis.without.words import TITLES, size_of, some_of, told
from workers.measurement.canvas import BOLD, DIM, GREEN, RED, Canvas, hanging, pad
from workers.measurement.failure import Failure

_TITLE_COLUMNS, _VALUE_COLUMNS = 14, 10
# Where fewer columns are left beside the figures, what they say stands below them.
_MIN_WORDS = 40
_BELOW = "    "


# What is shown whole or not at all, by what it is called where it does not fit.
Part = tuple[str, list[str]]


def draw_cost(cost: Cost, canvas: Canvas) -> str:
    """Lines without a final line break: all of it, or what the canvas has rows for, the last of which says what it has
    not; the verdict always.
    """
    parts = [("the verdict", _head(cost, canvas)), *_parts(cost, canvas)]
    for shown in range(len(parts), 0, -1):
        lines = _lines(parts, shown, canvas)
        if canvas.rows is None or len(lines) <= canvas.rows:
            break
    return "\n".join(lines)


def _lines(parts: Sequence[Part], shown: int, canvas: Canvas) -> list[str]:
    lines = [line for _, drawn in parts[:shown] for line in drawn]
    hidden = list(dict.fromkeys(name for name, _ in parts[shown:]))
    return [*lines, canvas.left_out(hidden)] if hidden else lines


def _parts(cost: Cost, canvas: Canvas) -> list[Part]:
    """What is told below the verdict, by what it is called where it does not fit; what matters most is first."""
    failed = [] if cost.failure is None or cost.pairs else [("what failed", _failed(cost.failure, canvas))]
    warnings = [("more warnings", hanging("! ", canvas.named(one.text), canvas, RED)) for one in cost.warnings]
    metrics = [("more metrics", _metric(verdict, canvas)) for verdict in cost.metrics.values()]
    notes = [("estimates", lines) for lines in _estimates(cost, canvas)]
    notes += [("what else goes", lines) for lines in _gone(cost, canvas)]
    return [*failed, *warnings, *_begun(["", _titles(canvas)], metrics), *_begun([""], notes)]


def _begun(before: list[str], parts: list[Part]) -> list[Part]:
    """Parts, the first of which begins with those lines."""
    return [(name, [*before, *lines] if at == 0 else lines) for at, (name, lines) in enumerate(parts)]


def _head(cost: Cost, canvas: Canvas) -> list[str]:
    return [canvas.paint(line, BOLD) for line in wrap(canvas.named(cost.sentence), canvas.columns)]


def _failed(failure: Failure, canvas: Canvas) -> list[str]:
    lines = hanging("", f"Failed ({failure.stage}): {failure.detail}", canvas, RED)
    return [*lines, *hanging(ADVICE, advice_on(failure, Door.TERMINAL), canvas)]


def _titles(canvas: Canvas) -> str:
    columns = f"{'with':>{_VALUE_COLUMNS}}{'without':>{_VALUE_COLUMNS}}"
    return canvas.paint(f"  {' ' * _TITLE_COLUMNS}{columns}", DIM)


def _metric(verdict: MetricVerdict, canvas: Canvas) -> list[str]:
    sides = (size_of(verdict.metric, side) for side in (verdict.with_hosts, verdict.without))
    figures = (
        f"  {pad(TITLES[verdict.metric], _TITLE_COLUMNS)}{''.join(f'{side:>{_VALUE_COLUMNS}}' for side in sides)}  "
    )
    colour = (GREEN if verdict.estimate < 0 else RED) if verdict.verdict in DIFFERENT else DIM
    if canvas.columns - len(figures) < _MIN_WORDS:
        return [figures.rstrip(), *hanging(_BELOW, told(verdict), canvas, colour)]
    first, *more = hanging(" " * len(figures), told(verdict), canvas)
    return [figures + canvas.paint(first.strip(), colour), *(canvas.paint(line, colour) for line in more)]


def _gone(cost: Cost, canvas: Canvas) -> list[list[str]]:
    if not cost.gone:
        return []
    return [hanging("  ", f"What goes with it: {canvas.named(some_of(cost.gone))}", canvas, DIM)]


def _estimates(cost: Cost, canvas: Canvas) -> list[list[str]]:
    """Beside what was measured: what causes say, each by itself, of a load of the page as it is."""
    return [
        hanging(f"  estimated {ms(one.saving_us)}: ", f"{entry(one.id).title} ({canvas.named(one.host)})", canvas, DIM)
        for one in cost.estimates
    ]
