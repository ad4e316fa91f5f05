""" "Is TLS fast yet": twenty columns in their order, each with its answer and the evidence for it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from workers.diagnosis.probe.checks import Judged
from workers.diagnosis.probe.checks_http import initial_window
from workers.measurement.connection import Header
from workers.measurement.evidence import HttpsRecord, ProbeEvidence, Question, TlsRecord, Trial
from workers.measurement.finding import Answer, CheckColumn, FindingId, NotJudgedReason
from workers.tests.diagnosis.sites import (
    HOST,
    HSTS,
    INTERMEDIATE,
    LEAF,
    NOW,
    RTT_US,
    answer,
    answered,
    case,
    certificate,
    changed,
    check,
    deep_site,
    handshake,
    judge,
    light_site,
    sent,
    shaken,
    trial,
    without,
)

_VISITS = (Trial.FULL, Trial.DELAYED_ACK, Trial.HTTP2, Trial.CLASSICAL)
_FIRST = (Trial.FULL, Trial.CLASSICAL, Trial.TLS12)


def told(column: CheckColumn, evidence: ProbeEvidence) -> tuple[Answer, str]:
    one = check(column, evidence)
    return one.answer, one.detail


def with_records(*lengths: int) -> ProbeEvidence:
    records = tuple(
        TlsRecord(at_us=place, content_type=23, length_bytes=length, application=True)
        for place, length in enumerate(lengths)
    )
    return changed(deep_site(), _FIRST, lambda one: replace(one, records=records))


def only_tls12() -> ProbeEvidence:
    site = without(deep_site(), Trial.RESUMED, Trial.EARLY_DATA)
    return shaken(site, _VISITS, version="TLSv1.2", cipher="ECDHE-RSA-AES128-GCM-SHA256", group="X25519", tickets=1)


@pytest.mark.parametrize("site", [deep_site(), light_site(), light_site(trials=()), deep_site(secure=False)])
def test_there_are_always_twenty_columns_in_their_order(site: ProbeEvidence) -> None:
    assert [one.column for one in judge(site).checklist] == list(CheckColumn)


def test_a_faultless_site_says_no_nowhere() -> None:
    assert not [one for one in judge(deep_site()).checklist if one.answer is Answer.NO]


def test_what_one_connection_cannot_show_is_unknown() -> None:
    answers = {one.column: one.answer for one in judge(light_site()).checklist}
    assert answers[CheckColumn.TLS13] is Answer.YES
    assert answers[CheckColumn.SMALL_CHAIN] is Answer.YES
    assert answers[CheckColumn.HTTP2] is Answer.UNKNOWN
    assert answers[CheckColumn.SESSION_TICKETS] is Answer.UNKNOWN
    assert not [
        one for one in judge(light_site(trials=())).checklist if one.answer is Answer.YES and one.column != "ech"
    ]


def test_a_site_without_tls_has_no_tls_to_judge() -> None:
    answers = [one.answer for one in judge(deep_site(secure=False, trials=(trial(Trial.PLAIN),))).checklist]
    assert answers.count(Answer.NOT_APPLICABLE) == 18


@pytest.mark.parametrize(
    ("lengths", "answer", "words"),
    [
        ((4_096,) * 5, Answer.YES, "static, 4.1 kB"),
        ((1_400,) * 14, Answer.YES, "static, 1.4 kB"),
        ((1_369,) * 11 + (16_384,) * 2, Answer.YES, "dynamic, 1.4 kB to 16.4 kB"),
        # As Go begins: a packet, two, three …
        ((1_203, 2_389, 555, 4_761, 5_947, 7_133, 16_401), Answer.YES, "dynamic, 1.2 kB to 16.4 kB"),
        ((205, 4_096, 4_096, 4_096, 4_096), Answer.YES, "static, 4.1 kB"),
        ((205, 16_401, 12_969), Answer.NO, "static, 16.4 kB"),
        ((16_384, 4_000), Answer.NO, "static, 16.4 kB"),
        ((6_000,), Answer.NO, "static, 6.0 kB"),
        # As Apache writes: the window holds the first of them and more.
        ((8_209, 8_209, 8_209), Answer.YES, "static, 8.2 kB"),
        ((205, 8_209, 8_209), Answer.YES, "static, 8.2 kB"),
        ((8_209, 16_401, 400), Answer.NO, "static, 16.4 kB"),
        ((700,), Answer.UNKNOWN, "the answer is too small to tell (700 B)"),
        ((), Answer.UNKNOWN, "no records seen"),
    ],
)
def test_record_sizes_are_those_of_the_first_window(lengths: tuple[int, ...], answer: Answer, words: str) -> None:
    assert told(CheckColumn.RECORD_SIZING, with_records(*lengths)) == (answer, words)


def test_a_server_without_tls_1_3_lacks_what_comes_with_it() -> None:
    site = only_tls12()
    assert told(CheckColumn.TLS13, site) == (Answer.NO, "TLSv1.2 at most")
    for column in (CheckColumn.ZERO_RTT, CheckColumn.PQ_KEY_EXCHANGE, CheckColumn.CERTIFICATE_COMPRESSION):
        assert told(column, site) == (Answer.NO, "needs TLS 1.3")
    assert told(CheckColumn.SESSION_TICKETS, site) == (Answer.YES, "TLS 1.2: 1 of 1")
    assert check(CheckColumn.FORWARD_SECRECY, site).answer is Answer.YES


REFUSED = trial(Trial.FULL, connect_us=None, syn_rtt_us=None, handshake=None, exchanges=(), records=(), tcp_ended=None)


@pytest.mark.parametrize(
    "site",
    [
        light_site(trials=(REFUSED,)),
        deep_site(trials=(REFUSED,)),
        light_site(trials=(), names=()),
        deep_site(secure=False, trials=(REFUSED,)),
    ],
)
def test_where_nothing_answered_each_column_says_so_but_what_the_name_shows(site: ProbeEvidence) -> None:
    told = [one for one in judge(site).checklist if one.column is not CheckColumn.ECH]
    assert {(one.answer, one.detail) for one in told} == {(Answer.UNKNOWN, "nothing answered")}


@pytest.mark.parametrize("site", [light_site(trials=(REFUSED,)), deep_site(trials=(REFUSED,)), deep_site(trials=())])
def test_where_nothing_answered_no_cause_is_called_open(site: ProbeEvidence) -> None:
    assert not judge(site).not_judged


def test_static_rsa_has_no_forward_secrecy() -> None:
    site = shaken(only_tls12(), _VISITS, cipher="AES128-SHA256")
    assert told(CheckColumn.FORWARD_SECRECY, site) == (Answer.NO, "AES128-SHA256")
    fallback = shaken(deep_site(), (Trial.TLS12,), cipher="AES128-SHA256")
    assert check(CheckColumn.FORWARD_SECRECY, fallback).detail.endswith("not with TLS 1.2 (AES128-SHA256)")


def test_a_server_that_refuses_tls_1_2_needs_no_session_ids() -> None:
    refused = trial(Trial.TLS12, handshake=None, exchanges=())
    site = changed(without(deep_site(), Trial.TLS12_SESSION_ID), (Trial.TLS12,), lambda _: refused)
    assert told(CheckColumn.SESSION_IDS, site) == (Answer.NOT_APPLICABLE, "TLS 1.3 only")


def test_no_ticket_at_all_is_a_plain_no() -> None:
    kinds = (Trial.RESUMED, Trial.EARLY_DATA, Trial.TLS12_TICKET)
    site = shaken(without(deep_site(), *kinds), _VISITS, tickets=0, max_early_data_bytes=None)
    assert told(CheckColumn.SESSION_TICKETS, site) == (Answer.NO, "none given")
    assert told(CheckColumn.ZERO_RTT, site) == (Answer.NO, "no tickets")


def test_early_data_that_is_taken_and_never_answered_is_no_help_to_anybody() -> None:
    """As gnutls-serv takes it."""
    allowed = deep_site()
    (early,) = allowed.of(Trial.EARLY_DATA)
    silent = replace(early, exchanges=tuple(replace(one, status=None) for one in early.exchanges))
    unanswered = replace(allowed, trials=tuple(silent if one is early else one for one in allowed.trials))
    assert check(CheckColumn.ZERO_RTT, allowed).answer is Answer.YES
    assert told(CheckColumn.ZERO_RTT, unanswered) == (Answer.UNKNOWN, "taken, but not answered")


def test_stapling_is_asked_of_certificates_that_name_a_responder() -> None:
    named = certificate(HOST, "Issuing CA", ocsp_urls=("http://ocsp.example.net",))
    assert told(CheckColumn.OCSP_STAPLING, sent(named, INTERMEDIATE)) == (Answer.NO, "not stapled")
    assert told(CheckColumn.OCSP_STAPLING, sent(named, INTERMEDIATE, stapled=True)) == (Answer.YES, "stapled")
    assert check(CheckColumn.OCSP_STAPLING, sent(LEAF, INTERMEDIATE)).answer is Answer.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("days", "year", "answer"),
    [
        (90, 2026, Answer.YES),
        (199, 2026, Answer.YES),
        (397, 2026, Answer.NO),
        (199, 2027, Answer.NO),
        (90, 2029, Answer.NO),
        (47, 2029, Answer.YES),
        (397, 2025, Answer.YES),
    ],
)
def test_a_certificate_is_short_by_the_rule_of_its_day(days: int, year: int, answer: Answer) -> None:
    now = NOW.replace(year=year)
    leaf = certificate(HOST, "Issuing CA", not_before=now - timedelta(days=1), not_after=now + timedelta(days=days - 1))
    site = replace(sent(leaf, INTERMEDIATE), measured_at=now)
    assert check(CheckColumn.SHORT_CERTIFICATES, site).answer is answer


def test_http3_needs_an_announcement_and_an_answer() -> None:
    assert told(CheckColumn.HTTP3, deep_site()) == (Answer.YES, "announced, and it answers")
    dead = trial(Trial.HTTP3, handshake=None, exchanges=())
    assert told(CheckColumn.HTTP3, changed(deep_site(), (Trial.HTTP3,), lambda _: dead))[0] is Answer.NO
    asked = Question(record_type="HTTPS", took_us=9_000, code="NOERROR")
    names = tuple(replace(name, https=None, questions=(asked,)) for name in deep_site().names)
    silent = answered(deep_site(names=names), set(Trial), headers=(HSTS,))
    assert told(CheckColumn.HTTP3, silent) == (Answer.NO, "it answers, but nothing announces it")
    nothing = without(silent, Trial.HTTP3)
    assert told(CheckColumn.HTTP3, nothing) == (Answer.NO, "not announced")
    assert told(CheckColumn.QUIC_ZERO_RTT, nothing) == (Answer.NOT_APPLICABLE, "no HTTP/3")


@pytest.mark.parametrize(
    ("tickets", "said"), [(0, (Answer.NO, "no tickets")), (None, (Answer.UNKNOWN, "not measured"))]
)
def test_without_tickets_there_is_no_early_data_over_quic(tickets: int | None, said: tuple[Answer, str]) -> None:
    shaken = handshake(Trial.HTTP3, tickets=tickets, max_early_data_bytes=None)
    site = changed(deep_site(), (Trial.HTTP3,), lambda one: replace(one, handshake=shaken))
    assert told(CheckColumn.QUIC_ZERO_RTT, site) == said


def test_ech_is_in_the_https_record() -> None:
    (name,) = deep_site().names
    plain = replace(name, https=HttpsRecord(protocols=("h2",)))
    asked = replace(name, https=None, questions=(Question(record_type="HTTPS", took_us=9_000, code="NOERROR"),))
    unasked = replace(name, https=None)
    answers = [check(CheckColumn.ECH, deep_site(names=(one,))).answer for one in (name, plain, asked, unasked)]
    assert answers == [Answer.YES, Answer.NO, Answer.NO, Answer.UNKNOWN]


def test_an_address_has_no_https_record_that_could_lack_a_key() -> None:
    site = deep_site(host="192.0.2.7", names=())
    assert told(CheckColumn.ECH, site) == (Answer.NOT_APPLICABLE, "its key comes with a name")


def test_hints_are_of_use_to_pages_that_take_thought() -> None:
    assert check(CheckColumn.EARLY_HINTS, deep_site()).answer is Answer.NOT_APPLICABLE
    late_us = answer().asked_us + RTT_US + 300_000
    slow = answered(deep_site(), set(Trial), first_application_us=late_us)
    assert check(CheckColumn.EARLY_HINTS, slow).answer is Answer.NO
    assert check(CheckColumn.EARLY_HINTS, answered(slow, (Trial.HTTP2,), interim=(103,))).answer is Answer.YES


@pytest.mark.parametrize(
    ("value", "answer", "detail"),
    [
        ("max-age=31536000", Answer.YES, "365 days"),
        ("max-age=15552000; preload", Answer.YES, "180 days, preload"),
        ("max-age=86400", Answer.NO, "1 day"),
        ("max-age=3600; preload", Answer.NO, "1 hour, preload"),
        ("max-age=59", Answer.NO, "59 seconds"),
        ("max-age=0", Answer.NO, "max-age is 0"),
        ("preload", Answer.NO, "absent"),
    ],
)
def test_hsts_counts_from_half_a_year_on(value: str, answer: Answer, detail: str) -> None:
    header = Header(name="Strict-Transport-Security", value=value)
    assert told(CheckColumn.HSTS, answered(deep_site(), set(Trial), headers=(header,))) == (answer, detail)


def test_several_addresses_were_not_all_asked() -> None:
    (name,) = deep_site().names
    many = deep_site(names=(replace(name, addresses=("192.0.2.1", "192.0.2.2")),))
    assert check(CheckColumn.RESUMPTION_EVERYWHERE, many).answer is Answer.UNKNOWN


def window(evidence: ProbeEvidence, **open_for: NotJudgedReason) -> Answer:
    left_open = {FindingId(f"tcp.{name}"): reason for name, reason in open_for.items()}
    return initial_window(Judged(case=case(evidence), found={}, left_open=left_open)).answer


def test_the_window_is_known_where_it_was_put_to_the_test() -> None:
    assert window(deep_site()) is Answer.YES
    assert window(answered(deep_site(), set(Trial), body_bytes=900)) is Answer.UNKNOWN
    assert window(deep_site(), iw_small=NotJudgedReason.LOSS) is Answer.UNKNOWN
    assert window(deep_site(), idle_restart=NotJudgedReason.NOT_MEASURED) is Answer.UNKNOWN
    assert window(light_site()) is Answer.UNKNOWN
