"""Numbers that stand in a document and in the code are the same."""

from pathlib import Path

import pytest

from backend.alerts.judgement import rechecks
from backend.analysis import gate_estimate, settings
from backend.processes.loops import LOOPS
from deploy.local.bench import IDLE_LIMIT_MB
from workers.bench.overhead import LIMIT_S
from workers.diagnosis.pair import verdict as pairs
from workers.diagnosis.without import verdict as without
from workers.measurement.canvas import MIN_WIDTH, Canvas
from workers.measurement.compute.netlog.pauses import MAX_PAUSES
from workers.measurement.compute.probe.trial_plan import MAX_CONNECTIONS
from workers.measurement.page_options import MAX_LOADS, MAX_STEPS, STEP_S
from workers.tests.shapes.catalogue import SHAPES

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = {
    "ARCHITECTURE.md": (f"{len(SHAPES)} small sites with golden captures",),
    "CHANGELOG.md": (f"never more than {MAX_CONNECTIONS}.",),
    "deploy/SCALING.md": (
        f"one for each of its {len(LOOPS)} loops",
        f"with nothing to do | {IDLE_LIMIT_MB:.0f} MB of memory",
        f"the time the page itself takes | {LIMIT_S:g} s",
    ),
    "docs/command-line.md": (f"from {MIN_WIDTH} columns on", f"they are {Canvas().width} columns wide"),
    "docs/pages.md": (
        f"(`--runs N`, up to {MAX_LOADS})",
        f"Each step has {STEP_S} s; a script has at most {MAX_STEPS}.",
        f"the longest {MAX_PAUSES} are kept",
    ),
    "docs/verdicts.md": (
        f"{pairs.MIN_PAIRS} pairs at least",
        f"needs at least {pairs.MARGIN_US // 1_000} ms or {pairs.MARGIN_SHARE:.0%}".replace("%", " %"),
        f"Such a claim needs {without.MIN_PAIRS} pairs",
        f"A change below {settings.Settings().min_change_pct} %",
        f"Up to {gate_estimate.MAX_FAILED_PART * 100:.0f} of a hundred may fail",
        f"at most {rechecks.MOST_AN_HOUR} an hour",
    ),
}


@pytest.mark.parametrize("document", SENTENCES)
def test_a_document_tells_the_numbers_that_the_code_goes_by(document: str) -> None:
    told = " ".join((ROOT / document).read_text().split())
    assert [sentence for sentence in SENTENCES[document] if sentence not in told] == []
