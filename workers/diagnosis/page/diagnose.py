"""One page load in, its diagnosis out. Asks every rule; what each has claimed of a paint is taken for those behind it.

What is mended in one place comes before what takes more: connections, then bytes, then what need not block at all.
"""

from collections.abc import Callable

from workers.diagnosis.asking import OnFault, all_said, log_fault
from workers.diagnosis.case import Verdicts
from workers.diagnosis.order import findings_in_order, open_questions
from workers.diagnosis.page import (
    behind,
    imports,
    largest,
    made,
    multiplexing,
    needless_bytes,
    parser,
    redirects,
    rendering,
    returning,
    text,
    unused,
)
from workers.diagnosis.page.case import IsOwn, PageCase, case_of
from workers.measurement.finding import Diagnosis, Finding, NotJudged
from workers.measurement.messages import PageMeasurement

RULES: tuple[Callable[[PageCase], Verdicts], ...] = (
    redirects.redirects,
    multiplexing.hosts,
    unused.preloaded,
    needless_bytes.uncompressed,
    needless_bytes.oversized,
    imports.imported,
    rendering.blocking,
    made.client_rendered,
    largest.late,
    largest.font_late,
    parser.held,
    largest.preconnect,
    text.hidden,
    behind.others,
    returning.uncached,
)


def diagnose_page(page: PageMeasurement, *, is_own: IsOwn | None = None, on_fault: OnFault = log_fault) -> Diagnosis:
    """Causes in the order in which to mend them, each with the rows that it speaks of, and what was left open.

    `is_own` says which hosts are the owner's to change; without it, those of the document's domain. A single load is
    told with medium confidence at most. There is no checklist.
    """
    case = case_of(page, is_own)
    if case is None:
        return Diagnosis()
    said = tuple(all_said(RULES, case, on_fault))
    findings = findings_in_order(one for one in said if isinstance(one, Finding))
    return Diagnosis(
        findings=findings, not_judged=open_questions((one for one in said if isinstance(one, NotJudged)), findings)
    )
