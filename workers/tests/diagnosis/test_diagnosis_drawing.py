"""A diagnosis in a terminal: at most one screen, in the order in which to mend things."""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.catalogue import entry, reason_text, setting_for
from workers.diagnosis.diagnosis_drawing import draw_diagnosis
from workers.measurement.canvas import Canvas, columns_of
from workers.measurement.connection import Header
from workers.measurement.evidence import Depth
from workers.measurement.finding import (
    Answer,
    Check,
    CheckColumn,
    Confidence,
    Diagnosis,
    Fact,
    Finding,
    FindingId,
    NotJudged,
    NotJudgedReason,
    Severity,
)
from workers.measurement.messages import ProbeMeasurement
from workers.tests.builders import build_probe
from workers.tests.diagnosis.test_probe_document import OVERFLOW, deep_probe

SCREEN = 40


def diagnosed(*findings: Finding, depth: Depth = Depth.DEEP, **changes: Any) -> ProbeMeasurement:
    probe = deep_probe()
    assert probe.evidence is not None
    diagnosis = Diagnosis(findings=findings, **changes)
    return replace(probe, evidence=replace(probe.evidence, depth=depth), diagnosis=diagnosis)


def drawn(probe: ProbeMeasurement, width: int = 100, rows: int = SCREEN) -> list[str]:
    return draw_diagnosis(probe, Canvas(width=width), rows=rows)


def test_a_finding_says_what_it_costs_what_was_seen_and_what_to_do() -> None:
    lines = drawn(diagnosed(OVERFLOW))

    assert lines[0] == "1 finding, to mend in this order:"
    assert lines[1].startswith(f"● {entry(OVERFLOW.id).title} · costs 20 ms")
    assert lines[1].endswith("tls.record_overflow")
    assert lines[2].strip() == "record 16,401 B, gap 20 ms"
    assert lines[3].startswith("  → ")


def test_what_is_less_than_sure_says_so() -> None:
    lines = drawn(diagnosed(replace(OVERFLOW, confidence=Confidence.LOW)), width=140)

    assert "low confidence" in lines[1]


def test_a_narrow_terminal_cuts_between_words_and_facts_and_never_what_it_costs() -> None:
    steps = Finding(
        id=FindingId.PAGE_RENDER_BLOCKING,
        severity=Severity.HIGH,
        confidence=Confidence.MEDIUM,
        saving_us=345_000,
        evidence=(
            Fact(name="costs_ms", value=(120.0, 225.0)),
            Fact(name="files", value=("2 app.css", "3 app.js")),
            Fact(name="document_read_ms", value=23.0),
        ),
    )

    lines = drawn(diagnosed(steps), width=80)

    assert lines[1] == "● Style sheets or scripts hold the first … · costs 345 ms  page.render_blocking"
    assert lines[2] == "    medium confidence, costs 120 ms, 225 ms, files 2 app.css, 3 app.js …"
    wide = drawn(diagnosed(steps), width=120)
    assert wide[1].endswith("hold the first paint up · costs 345 ms · medium confidence  page.render_blocking")
    assert wide[2] == "    costs 120 ms, 225 ms, files 2 app.css, 3 app.js, document read 23 ms"


def test_many_findings_fit_one_screen_and_the_rest_is_named() -> None:
    findings = tuple(
        Finding(
            id=id,
            severity=Severity.HIGH,
            confidence=Confidence.HIGH,
            saving_us=100_000,
            evidence=(Fact(name="gap_ms", value=100.0),),
        )
        for id in FindingId
    )

    asked = zip(FindingId, NotJudgedReason, strict=False)
    left_open = tuple(NotJudged(id=id, reason=reason) for id, reason in asked)

    for rows in (40, 48, 60):
        lines = drawn(diagnosed(*findings, not_judged=left_open), rows=rows)
        assert len(lines) < rows
        assert any(line.startswith("· And: ") for line in lines)


def test_a_setting_is_told_whole_since_people_copy_it() -> None:
    told = entry(FindingId.HTTP_REDIRECT_COST)
    hops = Finding(id=FindingId.HTTP_REDIRECT_COST, severity=Severity.MEDIUM, confidence=Confidence.HIGH)

    lines = drawn(diagnosed(hops), width=110)

    assert f"({told.settings[0].server}: {told.settings[0].setting})" in lines[3]
    assert lines[2].endswith(" …")


def test_every_line_fits_the_terminal() -> None:
    findings = tuple(Finding(id=id, severity=Severity.LOW, confidence=Confidence.MEDIUM) for id in FindingId)

    for width in (48, 80, 200):
        assert max(columns_of(line) for line in drawn(diagnosed(*findings), width=width)) <= width


def test_a_server_that_never_answered_is_not_said_to_be_well() -> None:
    silent = diagnosed()
    silent = replace(silent, hops=tuple(replace(hop, status=None) for hop in silent.hops))

    assert drawn(silent)[0] == "No answer came: there was nothing more to judge."


def test_names_that_do_not_fit_are_said_to_go_on() -> None:
    open_ones = tuple(NotJudged(id=id, reason=NotJudgedReason.NOT_MEASURED) for id in FindingId)

    told = drawn(diagnosed(not_judged=open_ones))

    assert told[-1].startswith("  ")
    assert told[-1].endswith(" …")


def test_remarks_stand_apart_from_what_costs_something() -> None:
    remark = Finding(id=FindingId.TLS_ZERO_RTT, severity=Severity.INFO, confidence=Confidence.HIGH)

    lines = drawn(diagnosed(remark))

    assert lines[0] == "Nothing to mend was found."
    assert lines[1].startswith("· Could be better: ")


def test_one_connection_alone_does_not_say_that_all_is_well() -> None:
    assert drawn(diagnosed(depth=Depth.LIGHT))[0] == "Nothing found in one connection."


def test_what_was_left_open_says_why_once_for_each_reason() -> None:
    left_open = tuple(
        NotJudged(id=id, reason=NotJudgedReason.RTT_SHORT)
        for id in (FindingId.TCP_IW_SMALL, FindingId.TLS_RECORD_OVERFLOW)
    )

    (line,) = [line for line in drawn(diagnosed(not_judged=left_open), width=200) if line.startswith("? ")]

    assert reason_text(NotJudgedReason.RTT_SHORT) in line
    assert line.endswith("tcp.iw_small, tls.record_overflow")


def test_the_checklist_counts_what_applies_and_names_what_lacks() -> None:
    checks = (
        Check(column=CheckColumn.TLS13, answer=Answer.YES),
        Check(column=CheckColumn.HTTP3, answer=Answer.NO),
        Check(column=CheckColumn.ECH, answer=Answer.UNKNOWN),
    )

    assert drawn(diagnosed(checklist=checks))[-1] == "Is TLS fast yet: 1 of 2 yes; no: http3"


def test_a_probe_that_nobody_judged_says_nothing() -> None:
    assert drawn(build_probe()) == []


def test_what_a_server_sent_cannot_steer_the_terminal() -> None:
    evil = replace(OVERFLOW, evidence=(Fact(name="server", value="a\x1b[2Jb\r\n"),))

    assert not any("\x1b" in line or "\r" in line for line in drawn(diagnosed(evil)))


@pytest.mark.parametrize(
    ("server", "told"),
    [
        ("Apache/2.4.62 (Debian)", "Apache: H2TLSWarmUpSize"),
        ("openresty/1.27", "nginx: ssl_buffer_size 4k;"),
        ("cloudflare", None),
        ("something of our own", "nginx: ssl_buffer_size 4k;"),
    ],
)
def test_the_setting_is_the_one_of_whoever_answered(server: str, told: str | None) -> None:
    probe = diagnosed(OVERFLOW)
    answered = replace(probe.hops[-1], response_headers=(Header(name="Server", value=server),))
    text = "\n".join(drawn(replace(probe, hops=(*probe.hops[:-1], answered)), width=200))
    assert told in text if told is not None else "ssl_buffer_size" not in text


def test_what_lies_beneath_a_server_is_set_for_all_of_them() -> None:
    small = entry(FindingId.TCP_IW_SMALL).settings
    found = setting_for(small, "Caddy")
    assert found is not None
    assert found.server == "Linux"
    assert setting_for((), "nginx") is None
