"""A run as text for a terminal, with what to do about one that failed. Pure."""

from workers.diagnosis.catalogue.failures import Door, advice_on
from workers.diagnosis.finding_drawing import ADVICE
from workers.measurement.canvas import Canvas, hanging
from workers.measurement.drawing import draw
from workers.measurement.messages import Failed, Measured


def draw_outcome(outcome: Measured | Failed, canvas: Canvas) -> list[str]:
    """Lines: the run as it is drawn everywhere; advice on its failure is never cut."""
    advice = advice_on(outcome.failure, Door.TERMINAL) if isinstance(outcome, Failed) else ""
    return [*draw(outcome, canvas).splitlines(), *hanging(ADVICE, advice, canvas)]
