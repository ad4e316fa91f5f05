"""A diagnosis in a terminal: at most one screen, in the order in which to mend things."""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.catalogue import advice_of, entry, reason_text, setting_for
from workers.diagnosis.diagnosis_drawing import draw_diagnosis
from workers.measurement.canvas import Canvas, columns_of
from workers.measurement.connection import Header
from workers.measurement.evidence import Depth
from workers.measurement.finding import (
    Answer,
    Cause,
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
    Together,
)
from workers.measurement.messages import ProbeMeasurement
from workers.tests.builders import build_probe
from workers.tests.diagnosis.test_probe_document import OVERFLOW, deep_probe

SCREEN = 40
_EXAMPLE = "(for example, in nginx: ssl_buffer_size 4k;)"


def diagnosed(*findings: Finding, depth: Depth = Depth.DEEP, **changes: Any) -> ProbeMeasurement:
    probe = deep_probe()
    assert probe.evidence is not None
    diagnosis = Diagnosis(findings=findings, **changes)
    return replace(probe, evidence=replace(probe.evidence, depth=depth), diagnosis=diagnosis)


def drawn(probe: ProbeMeasurement, width: int = 100, rows: int | None = SCREEN) -> list[str]:
    return draw_diagnosis(probe, Canvas(width=width, remedy="--all"), rows=rows)


def some(count: int) -> list[Finding]:
    fact = Fact(name="gap_ms", value=100.0)
    return [
        Finding(id=id, severity=Severity.HIGH, confidence=Confidence.HIGH, saving_us=100_000, evidence=(fact,))
        for id in list(FindingId)[:count]
    ]


def test_a_finding_says_what_it_costs_what_was_seen_and_what_to_do() -> None:
    lines = drawn(diagnosed(OVERFLOW))

    assert lines[0] == "1 finding, to mend in this order:"
    assert lines[1].startswith(f"● {entry(OVERFLOW.id).title} · costs 20 ms")
    assert lines[1].endswith("tls.record_overflow")
    assert lines[2].strip() == "record 16,401 B · gap 20 ms"
    assert lines[3].startswith("  → ")


def test_evidence_is_told_in_words_and_with_units() -> None:
    evidence = (
        Fact(name="false_start_possible", value=True),
        Fact(name="spread", value=1.5),
        Fact(name="openssl", value="self-signed certificate"),
        Fact(name="ticket_lifetime_s", value=7_200),
        Fact(name="gap_rtt", value=0.98),
        Fact(name="key_bits", value=4096),
    )

    told = drawn(diagnosed(replace(OVERFLOW, evidence=evidence)), width=240)[2].strip()

    assert told == (
        "browsers can send early (False Start) yes · 95th percentile to median 1.5 · "
        "OpenSSL says self-signed certificate · tickets live 2 h · gap 0.98 RTT · key bits 4096"
    )


def test_what_is_less_than_sure_says_so() -> None:
    lines = drawn(diagnosed(replace(OVERFLOW, confidence=Confidence.LOW)), width=140)

    assert "low confidence" in lines[1]


def test_a_narrow_terminal_cuts_between_words_and_facts_and_never_what_it_costs() -> None:
    remarks = [Finding(id=id, severity=Severity.INFO, confidence=Confidence.HIGH) for id in FindingId]
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

    lines = drawn(diagnosed(steps, *remarks), width=80, rows=6)

    assert lines[1] == "● Style sheets or scripts hold the first … · costs 345 ms  page.render_blocking"
    assert lines[2] == "    medium confidence · costs 120 ms, 225 ms · files 2 app.css, 3 app.js …"
    wide = drawn(diagnosed(steps), width=120)
    assert wide[1].endswith("hold the first paint up · costs 345 ms · medium confidence  page.render_blocking")
    assert wide[2] == "    costs 120 ms, 225 ms · files 2 app.css, 3 app.js · document read 23 ms"


def test_a_cause_of_one_host_names_it_before_all_that_was_seen_where_its_title_has_no_room() -> None:
    of_host = replace(OVERFLOW, host="static.example.net")
    wide = drawn(diagnosed(of_host), width=140)
    assert wide[1].startswith(f"● {entry(OVERFLOW.id).title} (static.example.net) · costs 20 ms")
    assert "static.example.net" not in wide[2]
    narrow = drawn(diagnosed(of_host), width=70)
    assert "static.example.net" not in narrow[1]
    assert narrow[2].startswith("    static.example.net · ")


@pytest.mark.parametrize(
    ("alone_us", "cost"), [(None, "costs 470 ms together"), (100_000, "costs 100 ms + 470 ms together")]
)
def test_what_is_saved_together_with_others_says_so_and_with_which(alone_us: int | None, cost: str) -> None:
    hosts = ("cdn.example.net", "fonts.example.com", "ads.example.net", "more.example.net")
    others = tuple(Cause(id=FindingId.PAGE_THIRD_PARTY_BLOCKING, host=host) for host in hosts)
    shared = replace(OVERFLOW, saving_us=alone_us, together=Together(saving_us=470_000, others=others[:1]))

    lines = drawn(diagnosed(shared), width=120)

    assert f" · {cost}  " in lines[1]
    assert lines[2].strip().startswith("together with page.third_party_blocking (cdn.example.net) · record")
    many = replace(shared, together=Together(saving_us=470_000, others=others))
    assert "(ads.example.net), 1 more" in drawn(diagnosed(many), width=240)[2]


@pytest.mark.parametrize("rows", [12, 23, 39, 59])
@pytest.mark.parametrize("width", [60, 80, 100])
def test_many_findings_fit_the_screen_in_order_and_the_rest_is_counted(rows: int, width: int) -> None:
    findings = some(45)

    head, *lines, last = drawn(diagnosed(*findings), width=width, rows=rows)

    assert head == "45 findings, to mend in this order:"
    titles = [line for line in lines if line.startswith("● ")]
    assert [line.rsplit(" ", 1)[1] for line in titles] == [str(one.id) for one in findings[: len(titles)]]
    assert all(" · costs 100 ms  " in line for line in titles)
    assert sum(line.startswith("  → ") for line in lines) == len(titles) >= (rows - 2) // 2
    assert last.startswith(f"… and {45 - len(titles)} more findings")
    assert last.endswith(": --all shows all")
    assert len(lines) + 2 <= rows


def test_room_is_for_all_causes_first_then_for_what_was_seen_then_for_the_rest() -> None:
    remark = Finding(id=FindingId.TLS_ZERO_RTT, severity=Severity.INFO, confidence=Confidence.HIGH)
    probe = diagnosed(*some(3), remark)

    brief, longer, longest = (drawn(probe, rows=rows) for rows in (8, 10, 15))

    assert [sum(line.strip() == "gap 100 ms" for line in lines) for lines in (brief, longer, longest)] == [0, 1, 3]
    assert brief[-1] == "… and 1 remark, more details: --all shows all"
    assert [any("Could be better" in line for line in lines) for lines in (brief, longer, longest)] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("rows", [-3, 0, 3])
def test_what_to_mend_first_is_told_however_small_the_screen_is(rows: int) -> None:
    lines = drawn(diagnosed(*some(5)), rows=rows)

    assert lines[1].startswith(f"● {entry(some(1)[0].id).title} · costs 100 ms")
    assert lines[2].startswith("  → ")
    assert lines[3] == "… and 4 more findings, more details: --all shows all"


def test_who_wants_all_is_spared_nothing() -> None:
    asked = zip(FindingId, NotJudgedReason, strict=False)
    left_open = tuple(NotJudged(id=id, reason=reason) for id, reason in asked)

    text = " ".join(" ".join(drawn(diagnosed(*some(45), not_judged=left_open), width=60, rows=None)).split())

    for finding in some(45):
        assert advice_of(finding.id, finding.severity) in text
    assert all(reason_text(one.reason) in text for one in left_open)
    assert "--all" not in text


def test_a_setting_is_told_whole_since_people_copy_it() -> None:
    told = entry(FindingId.HTTP_REDIRECT_COST)
    hsts = Fact(name="hsts", value="absent")
    hops = Finding(
        id=FindingId.HTTP_REDIRECT_COST, severity=Severity.MEDIUM, confidence=Confidence.HIGH, evidence=(hsts,)
    )
    remarks = [replace(hops, id=id, severity=Severity.INFO) for id in FindingId]

    lines = drawn(diagnosed(hops, *remarks), width=110, rows=6)

    assert f"(for example, in {told.settings[0].server}: {told.settings[0].setting})" in lines[4]
    assert lines[3].endswith(" …")


@pytest.mark.parametrize("id", [FindingId.TLS_KEY_COST, FindingId.TLS_RESUMPTION_BROKEN])
def test_advice_without_a_setting_loses_words_at_its_end_alone(id: FindingId) -> None:
    finding = Finding(
        id=id, severity=Severity.MEDIUM, confidence=Confidence.HIGH, evidence=(Fact(name="gap_ms", value=1.0),)
    )
    remarks = [replace(finding, id=one, severity=Severity.INFO) for one in FindingId]

    advice = " ".join(line.strip() for line in drawn(diagnosed(finding, *remarks), width=80, rows=6)[3:5])

    assert advice.endswith(" …")
    assert advice_of(id, Severity.MEDIUM).startswith(advice.removeprefix("→ ").removesuffix(" …"))


def test_every_line_fits_the_terminal() -> None:
    findings = tuple(Finding(id=id, severity=Severity.LOW, confidence=Confidence.MEDIUM) for id in FindingId)

    for width in (48, 80, 200):
        assert max(columns_of(line) for line in drawn(diagnosed(*findings), width=width)) <= width


def test_a_server_that_never_answered_is_not_said_to_be_well() -> None:
    silent = diagnosed()
    silent = replace(silent, hops=tuple(replace(hop, status=None) for hop in silent.hops))

    assert drawn(silent)[0] == "No answer came: there was nothing more to judge."


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

    assert drawn(diagnosed(checklist=checks))[-1] == "Is TLS fast yet: 1 of 2 yes; no: HTTP/3"


def test_a_probe_that_nobody_judged_says_nothing() -> None:
    assert drawn(build_probe()) == []


def test_what_a_server_sent_cannot_steer_the_terminal() -> None:
    evil = replace(OVERFLOW, evidence=(Fact(name="server", value="a\x1b[2Jb\r\n"),))

    assert not any("\x1b" in line or "\r" in line for line in drawn(diagnosed(evil)))


@pytest.mark.parametrize(
    ("server", "told"),
    [
        ("Caddy", "(Caddy: begins with small records by itself)"),
        ("openresty/1.27", "(nginx: ssl_buffer_size 4k;)"),
        ("Phusion/6.0 (a comment) nginx/1.24.0", "(nginx: ssl_buffer_size 4k;)"),
        ("Apache-Coyote/1.1", _EXAMPLE),
        ("something/1.0 (Apache)", _EXAMPLE),
        ("Microsoft-IIS/10.0", _EXAMPLE),
        ("something of our own", _EXAMPLE),
        (None, _EXAMPLE),
    ],
)
def test_the_setting_is_the_one_of_whoever_answered_or_for_example_one_of_another(
    server: str | None, told: str
) -> None:
    assert told in answered_by(server)


@pytest.mark.parametrize("server", ["cloudflare", "Apache", "Apache/2.4.62 (Debian)"])
def test_no_setting_is_told_to_a_server_that_is_known_and_has_none(server: str) -> None:
    text = answered_by(server)
    assert "ssl_buffer_size" not in text
    assert "for example" not in text


def answered_by(server: str | None) -> str:
    probe = diagnosed(OVERFLOW)
    headers = () if server is None else (Header(name="Server", value=server),)
    answered = replace(probe.hops[-1], response_headers=headers)
    return "\n".join(drawn(replace(probe, hops=(*probe.hops[:-1], answered)), width=200))


@pytest.mark.parametrize("server", ["Caddy", "Kestrel", None])
def test_what_lies_beneath_a_server_is_set_for_all_of_them(server: str | None) -> None:
    told = setting_for(entry(FindingId.TCP_IW_SMALL).settings, server)
    assert told is not None
    assert told.startswith("Linux: ")
    assert setting_for((), server) is None


@pytest.mark.parametrize(
    ("id", "server", "whose"),
    [
        (FindingId.TCP_IW_SMALL, "Microsoft-IIS/10.0", "Windows Server"),
        (FindingId.TCP_IDLE_RESTART, "cloudflare", None),
        (FindingId.TLS_CERT_NAME_MISMATCH, "CloudFront", None),
        (FindingId.PAGE_LCP_LATE, "cloudflare", "HTML"),
        (FindingId.TLS_CERT_NAME_MISMATCH, "Apache", "certbot"),
        (FindingId.TLS_KEY_COST, "Caddy", "Caddy"),
        (FindingId.TLS_CERT_EXPIRED, "Apache", "Apache"),
    ],
)
def test_what_cannot_be_set_beneath_whoever_answered_is_not_told(id: FindingId, server: str, whose: str | None) -> None:
    """The machines and the certificates of a CDN are not the site's, and Linux is not beneath Windows."""
    told = setting_for(entry(id).settings, server)
    assert (None if told is None else told.partition(":")[0]) == whose


@pytest.mark.parametrize("id", [FindingId.TLS_CERT_EXPIRED, FindingId.TLS_CERT_EXPIRING])
def test_whoever_renews_a_certificate_has_its_own_server_load_it(id: FindingId) -> None:
    told = {server: setting_for(entry(id).settings, server) or "" for server in ("nginx", "Apache", "Caddy")}
    assert "reload nginx" in told["nginx"]
    assert "reload apache2" in told["Apache"]
    assert "certbot" not in told["Caddy"]
