"""Every cause, reason and column is told to people, in one voice, and docs/findings.md says the same."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from workers.diagnosis.catalogue import Setting, advice_of, column, entry, fact_words, reason_text, title_of
from workers.diagnosis.catalogue.page import page
from workers.measurement.finding import CheckColumn, FindingId, NotJudgedReason, Severity

_PAGE = Path(__file__).parents[3] / "docs" / "findings.md"
_SENTENCE_END = re.compile(r"[.](?=\s+[A-Z]|$)")
_LONGEST_TITLE = 80


@pytest.mark.parametrize("id", FindingId)
def test_every_cause_has_a_title_an_explanation_and_advice(id: FindingId) -> None:
    told = entry(id)
    assert not told.title[0].islower()
    assert not told.title.endswith(".")
    assert len(told.title) <= _LONGEST_TITLE
    assert len(_SENTENCE_END.findall(told.explanation)) == 2, "an explanation has two sentences"
    assert told.explanation.endswith(".")
    assert told.advice.endswith(".")


def test_titles_tell_causes_apart() -> None:
    assert len({entry(id).title for id in FindingId}) == len(FindingId)


@pytest.mark.parametrize(
    ("id", "severity", "title"),
    [
        (FindingId.TLS_CHAIN_EXCEEDS_IW, Severity.LOW, "The chain fits into the first window compressed only"),
        (FindingId.HTTP_KEEPALIVE_OFF, Severity.HIGH, entry(FindingId.HTTP_KEEPALIVE_OFF).title),
        (FindingId.HTTP_KEEPALIVE_OFF, Severity.LOW, "HTTP/1.1 connections are closed after each answer"),
        (FindingId.HTTP_H2_MISSING, Severity.MEDIUM, "HTTP/2 is missing"),
        (FindingId.HTTP_H2_MISSING, Severity.CRITICAL, "HTTP/2 is agreed on, and no answer comes over it"),
        (FindingId.TLS_PQ, Severity.INFO, "Post-quantum key exchange is not supported"),
        (FindingId.TLS_PQ, Severity.CRITICAL, "Post-quantum key exchange breaks the handshake"),
        (FindingId.IPV6_BROKEN_OR_SLOW, Severity.MEDIUM, "IPv6 is slower than IPv4"),
        (FindingId.TLS_ZERO_RTT, Severity.INFO, entry(FindingId.TLS_ZERO_RTT).title),
    ],
)
def test_a_finding_is_called_what_it_is_and_not_all_that_its_cause_may_be(
    id: FindingId, severity: Severity, title: str
) -> None:
    assert title_of(id, severity) == title
    assert len(title) <= _LONGEST_TITLE


@pytest.mark.parametrize(
    ("id", "severity", "first"),
    [
        (FindingId.HTTP_KEEPALIVE_OFF, Severity.HIGH, "Keep connections open"),
        (FindingId.HTTP_KEEPALIVE_OFF, Severity.LOW, "Browsers are spared"),
        (FindingId.HTTP_H2_MISSING, Severity.MEDIUM, "Switch HTTP/2 on"),
        (FindingId.HTTP_H2_MISSING, Severity.CRITICAL, "Mend what speaks HTTP/2"),
        (FindingId.HTTP_H3, Severity.INFO, "Offer it"),
        (FindingId.HTTP_H3, Severity.MEDIUM, "Let UDP port 443 through"),
        (FindingId.TLS_PQ, Severity.INFO, "OpenSSL 3.5"),
        (FindingId.TLS_PQ, Severity.CRITICAL, "Update or remove the firewall"),
        (FindingId.TLS_ZERO_RTT, Severity.INFO, entry(FindingId.TLS_ZERO_RTT).advice),
    ],
)
def test_what_to_do_is_told_of_the_finding_and_not_of_all_that_its_cause_may_be(
    id: FindingId, severity: Severity, first: str
) -> None:
    advice = advice_of(id, severity)
    assert advice.startswith(first)
    assert advice.endswith(".")


def test_settings_name_each_server_once_and_fit_a_line() -> None:
    for id in FindingId:
        servers = [one.server for one in entry(id).settings]
        assert len(set(servers)) == len(servers), id
        assert all(len(line) <= 120 for one in entry(id).settings for line in one.setting.split("\n")), id


def test_a_setting_brings_along_what_it_does_not_work_without() -> None:
    ocsp, cache = entry(FindingId.TLS_OCSP).settings, entry(FindingId.HTTP_THINK_TIME).settings
    # nginx verifies by ssl_trusted_certificate alone, and staples nothing where a delegated responder has signed.
    assert "ssl_stapling_verify" not in written_for("nginx", ocsp)
    assert "resolver " in written_for("nginx", ocsp)
    # With OpenSSL 3 Apache signs tickets with what happens to lie in its memory, not with the key of the file.
    assert "SSLSessionTicketKeyFile" not in written_for("Apache", entry(FindingId.TLS_RESUMPTION_FLAKY).settings)
    # Without it, Apache staples an error of its own making while the authority cannot be reached.
    assert "SSLStaplingFakeTryLater off" in written_for("Apache", ocsp)
    # Pages of an application have no date, which it wants; and it hands out cookies with what it keeps.
    kept = written_for("Apache", cache)
    assert all(one in kept for one in ("CacheRoot ", "CacheIgnoreNoLastMod On", "CacheIgnoreHeaders Set-Cookie"))
    # HAProxy keeps nothing that says neither until when nor which version it is.
    assert "set-header Cache-Control s-maxage=60 unless" in written_for("HAProxy", cache)
    assert "cache-store site unless { res.hdr(Set-Cookie) -m found }" in written_for("HAProxy", cache)


def test_caddys_options_of_all_sites_stand_in_the_block_at_the_head_of_its_file() -> None:
    told = [one.setting for id in FindingId for one in entry(id).settings if "servers {" in one.setting]
    assert told
    assert all(one.startswith("{\n    servers {") and "at the head of the Caddyfile" in one for one in told)


def written_for(server: str, settings: Sequence[Setting]) -> str:
    return next(one.setting for one in settings if one.server == server)


@pytest.mark.parametrize("reason", NotJudgedReason)
def test_every_reason_continues_not_judged(reason: NotJudgedReason) -> None:
    assert reason_text(reason).startswith("because ")
    assert not reason_text(reason).endswith(".")


@pytest.mark.parametrize("id", CheckColumn)
def test_every_column_has_a_title_and_one_sentence(id: CheckColumn) -> None:
    told = column(id)
    assert told.title
    assert len(_SENTENCE_END.findall(told.explanation)) == 1


def test_the_certificates_of_no_use_and_their_size_have_words_of_their_own() -> None:
    assert fact_words("needless") != fact_words("needless_bytes")


def test_the_page_of_the_docs_says_what_the_catalogue_says() -> None:
    told = _PAGE.read_text(encoding="utf-8")
    assert told == page(), "write it anew: python -m workers.diagnosis.catalogue > docs/findings.md"
