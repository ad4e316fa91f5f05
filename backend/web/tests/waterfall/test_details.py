import re
from dataclasses import replace

import pytest

from backend.web.tests import measurements
from backend.web.waterfall.connections import connection_chart
from backend.web.waterfall.details import (
    MAX_TRAVELS,
    Details,
    Fact,
    connection_details,
    connection_facts,
    hop_details,
    phase_lines,
    request_details,
)
from backend.web.waterfall.phases import phase_table
from backend.web.waterfall.rows import page_chart
from workers.measurement.connection import Header, Pause
from workers.measurement.messages import PageMeasurement
from workers.measurement.timing import Timing
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Waterfall
from workers.tests.builders import build_connection, pause


def test_what_came_from_a_cache_has_no_head_on_the_way() -> None:
    details = request_details(measurements.page(30), 13)
    assert details is not None
    (told,) = (fact.value for fact in details.facts if fact.name == "Size")
    assert re.fullmatch(r"0 B; body of \d+ kB", told)


def test_the_document_tells_its_phases_its_cache_and_its_connection() -> None:
    details = request_details(measurements.page(30), 1)
    assert details is not None
    assert [(line.name, line.text) for line in details.phases] == [
        ("DNS", "9.0 ms"),
        ("Connect (TCP)", "30.2 ms"),
        ("TLS", "34.8 ms"),
        ("Waiting (first byte)", "212.0 ms"),
        ("Download", "31.0 ms"),
    ]
    assert details.total == "317.0 ms"
    assert Fact(name="Size", value="24 kB with its head; body of 131 kB, packed with br") in details.facts
    assert [fact.name for fact in details.cache] == ["cache-control", "server-timing"]
    assert Fact(name="TLS round trips", value="1") in details.connection
    assert Fact(name="Valid until", value="2026-11-30") in details.certificate


@pytest.mark.parametrize(
    ("priority", "told"), [("VeryHigh", "highest"), ("VeryLow", "lowest"), ("Low", "low"), ("u=1", "u=1")]
)
def test_a_priority_is_told_as_devtools_shows_it(priority: str, told: str) -> None:
    page = measurements.page(3)
    requests = tuple(replace(one, priority=priority) for one in page.waterfall.requests)
    details = request_details(replace(page, waterfall=replace(page.waterfall, requests=requests)), 1)
    assert details is not None
    assert Fact(name="Priority", value=told) in details.facts


def test_a_row_that_is_not_there_has_no_details() -> None:
    assert request_details(measurements.page(3), 4) is None
    assert connection_details(measurements.page(3), 9) is None


def test_the_lines_of_a_gappy_exchange_add_up_to_its_total() -> None:
    timing = Timing(start_us=0, end_us=3_333, dns=measurements.span(0.333, 1), wait=measurements.span(2, 1))
    lines, total = phase_lines(timing)
    assert [line.phase for line in lines] == ["queued", "dns", "wait", "idle"]
    assert total == "3.33 ms"
    assert round(sum(float(line.text.removesuffix(" ms")) for line in lines), 2) == 3.33


def test_what_was_done_ahead_is_told_and_not_counted() -> None:
    timing = Timing(
        start_us=100_000, end_us=200_000, connect=measurements.span(20, 30), wait=measurements.span(110, 90)
    )
    request = replace(measurements.document(), timing=timing)
    page = PageMeasurement(waterfall=Waterfall(requests=(request,), connections=()), vitals=Vitals())
    details = request_details(page, 1)
    assert details is not None
    assert (details.ahead, details.total) == ("Connect (TCP) 30 ms", "100.0 ms")


def test_headers_stand_as_the_server_said_them() -> None:
    there = Header(name="location", value="https://www.xn--bcher-kva.example/")
    request = replace(measurements.document(), url=there.value, response_headers=(there,))
    page = PageMeasurement(waterfall=Waterfall(requests=(request,), connections=()), vitals=Vitals())
    details = request_details(page, 1)
    assert details is not None
    assert details.response_headers[0].value == there.value
    assert details.url == "https://www.bücher.example/"


def test_headers_are_bounded_and_printable() -> None:
    headers = tuple(Header(name=f"x-{n}", value="a\x00" + "b" * 9_000) for n in range(300))
    request = replace(measurements.document(), response_headers=headers)
    page = PageMeasurement(waterfall=Waterfall(requests=(request,), connections=()), vitals=Vitals())
    details = request_details(page, 1)
    assert details is not None
    assert len(details.response_headers) == 100
    assert len(details.response_headers[0].value) == 2_000
    assert "\x00" not in details.response_headers[0].value


def test_a_connection_lists_the_requests_it_carried() -> None:
    details = connection_details(measurements.page(30), 2)
    assert details is not None
    assert (details.name, details.total) == ("cdn.shop.example", "74.0 ms")
    assert details.facts == (Fact(name="Hosts on it", value="cdn.shop.example"),)


def test_a_connection_counts_all_requests_it_carried_and_lists_the_first() -> None:
    details = connection_details(measurements.page(2_000), 2)
    assert details is not None
    assert (len(details.travels), details.travelled) == (MAX_TRAVELS, 500)


def test_a_hop_tells_its_phases_and_certificate() -> None:
    probe = measurements.probe()
    details = hop_details(2, probe.hops[1], probe.connections[1])
    assert details.total == "253.0 ms"
    assert Fact(name="Body", value="130 kB") in details.facts
    assert details.certificate
    assert hop_details(1, probe.hops[0], None).connection == ()


def test_the_phases_of_a_hop_tell_their_round_trips_and_shares() -> None:
    probe = measurements.probe()
    table = phase_table(probe.hops[1], probe.connections[1])
    tls = next(row for row in table.rows if row.phase == "tls")
    assert (tls.time, tls.share, tls.round_trips) == ("64.8 ms", "26 %", "1 round trip of 30 ms")
    assert [row.name for row in table.rows if row.phase == "wait"] == ["Sending", "Waiting (first byte)"]
    assert table.total == "253.0 ms"
    assert [row.round_trips for row in phase_table(probe.hops[1], None).rows if row.phase == "tls"] == [""]


def test_who_asked_is_named_with_the_place_of_the_tag() -> None:
    page = measurements.page(3)
    first, second, third = page.waterfall.requests
    rows = (first, replace(second, initiator_at=(3, 18)), third)
    placed = replace(page, waterfall=replace(page.waterfall, requests=rows))
    told = [_asker(request_details(placed, number)) for number in (2, 3)]
    assert told == ["https://www.shop.example/, line 3, column 18", "https://www.shop.example/"]


def _asker(details: Details | None) -> str | None:
    assert details is not None
    return next((fact.value for fact in details.facts if fact.name == "Asked for by"), None)


def test_the_chain_of_initiators_leads_up_to_the_document() -> None:
    page = measurements.page(6)
    rows = list(page.waterfall.requests)
    rows[5] = replace(rows[5], initiator_url=rows[3].url)
    chained = replace(page, waterfall=replace(page.waterfall, requests=tuple(rows)))
    details = request_details(chained, 6)
    assert details is not None
    assert [(cause.number, cause.name) for cause in details.causes] == [(4, "basket"), (1, "/")]


def test_requests_that_asked_for_each_other_make_no_endless_chain() -> None:
    page = measurements.page(3)
    first, second, third = page.waterfall.requests
    rows = (
        first,
        replace(second, initiator_url=third.url, timing=third.timing),
        replace(third, initiator_url=second.url),
    )
    details = request_details(replace(page, waterfall=replace(page.waterfall, requests=rows)), 3)
    assert details is not None
    assert [cause.number for cause in details.causes] == [2]


def test_a_connection_tells_what_travelled_over_it() -> None:
    details = connection_details(measurements.page(30), 2)
    assert details is not None
    assert details.travels[0].name == "inter.woff2"
    assert details.travels[0].note.startswith("waited ")


@pytest.mark.parametrize(
    ("pauses", "told"),
    [
        (None, []),
        ((), []),
        ((pause(500, 620),), ["120 ms of its answers, in 1 pause"]),
        ((pause(500, 620), pause(700, 1_400)), ["820 ms of its answers, in 2 pauses"]),
    ],
)
def test_a_connection_tells_how_long_nothing_came_over_it(pauses: tuple[Pause, ...] | None, told: list[str]) -> None:
    facts = connection_facts(build_connection(pauses=pauses))
    assert [fact.value for fact in facts if fact.name == "Nothing came for"] == told


def test_what_is_special_of_a_row_is_told_in_sentences() -> None:
    details = request_details(measurements.eventful_page(30), 3)
    assert details is not None
    assert details.remarks == ("Its connection was begun before the page asked for it.",)


def test_quic_connects_and_secures_in_one_handshake() -> None:
    timing = Timing(start_us=0, end_us=50_000, tls=measurements.span(0, 30), wait=measurements.span(30, 20))
    lines, _ = phase_lines(timing, is_quic=True)
    assert [line.name for line in lines] == ["QUIC handshake", "Waiting (first byte)"]


def test_what_was_cut_off_has_no_total_but_what_was_seen_of_it() -> None:
    cut = replace(measurements.document(), timing=Timing(start_us=0, end_us=None, wait=measurements.span(1, 80)))
    page = PageMeasurement(waterfall=Waterfall(requests=(cut,), connections=()), vitals=Vitals())
    (row,) = page_chart(page).rows
    details = request_details(page, 1)
    assert details is not None
    assert row.time == "\N{EN DASH}"
    assert row.spoken.endswith("its end was not seen")
    assert (details.total_name, details.total) == ("Seen of it", "81.0 ms")
    assert details.sum_note.startswith("Its end was not seen")
    probe = measurements.probe()
    hop = replace(probe.hops[1], timing=cut.timing)
    assert hop_details(2, hop, probe.connections[1]).total_name == "Seen of it"
    assert (phase_table(hop, None).total_name, phase_table(probe.hops[1], None).total_name) == ("Seen of it", "Total")


def test_what_hung_is_told_to_have_been_open_for_so_long() -> None:
    details = request_details(measurements.hanging_page(), 3)
    assert details is not None
    assert [(line.name, line.text) for line in details.phases][-1] == ("Still open", "5,599.0 ms")
    assert (details.total_name, details.total) == ("Still open after", "5,620.0 ms")
    assert details.sum_note.startswith("The load was left then")


def test_a_connection_to_an_address_of_ipv6_is_named_as_a_url_names_it() -> None:
    page = measurements.page(3)
    connection = replace(page.waterfall.connections[0], host="2001:db8::1", port=8443)
    request = replace(page.waterfall.requests[0], url="https://[2001:db8::1]:8443/a", connection=connection.number)
    there = replace(page, waterfall=Waterfall(requests=(request,), connections=(connection,)))
    details = connection_details(there, connection.number)
    assert details is not None
    assert details.url == "[2001:db8::1]:8443"
    assert details.facts == (Fact(name="Hosts on it", value="2001:db8::1"),)
    assert details.connection[0].value == f"#{connection.number} to [2001:db8::1]:8443"
    assert not any("also" in note for note in connection_chart(there).rows[0].notes)


def test_a_connection_of_which_no_time_is_known_has_none() -> None:
    page = measurements.page(3)
    connection = replace(page.waterfall.connections[0], dns=None, connect=None, tls=None)
    request = replace(page.waterfall.requests[0], timing=Timing(start_us=7_000, end_us=9_000))
    (row,) = connection_chart(replace(page, waterfall=Waterfall(requests=(request,), connections=(connection,)))).rows
    assert (row.time, row.total_us, row.start_us) == ("\N{EN DASH}", None, 7_000)
    assert row.spoken.startswith("times not known")
