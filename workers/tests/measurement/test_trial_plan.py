"""Which connection follows which, decided on evidence made by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.probe.trial_plan import MAX_CONNECTIONS, Scope, Step, next_step, planned
from workers.measurement.evidence import (
    CertificateCompression,
    Direction,
    Exchange,
    Handshake,
    TcpState,
    Transfer,
    Trial,
    TrialEvidence,
)
from workers.measurement.failure import FailureKind, failure
from workers.tests.measurement.planned_probe import RTT_US, SCOPE, Act, answered, connection, count, healthy, play


def test_a_healthy_site_is_asked_once_for_each_thing_there_is_to_know() -> None:
    assert count(healthy) == {
        Trial.FULL: 3,
        Trial.EARLY_DATA: 1,
        Trial.RESUMED: 3,
        Trial.TLS12: 2,
        Trial.TLS12_TICKET: 1,
        Trial.TLS12_SESSION_ID: 1,
        Trial.DELAYED_ACK: 1,
        Trial.CLASSICAL: 1,
        Trial.HTTP2: 1,
        Trial.HTTP3: 1,
        Trial.PLAIN: 1,
        Trial.OTHER_FAMILY: 1,
    }


def test_how_many_connections_it_comes_to_is_known_before_they_are_made_and_never_less_than_there_are() -> None:
    _, seen = play(healthy)
    told = [planned(seen[:number], SCOPE) for number in range(1, len(seen) + 1)]
    assert told[-1] == len(seen)
    assert all(number <= among <= MAX_CONNECTIONS for number, among in enumerate(told, 1))
    assert abs(told[0] - len(seen)) <= 2, "what TLS 1.2 and early data add is known soon"


def test_a_server_that_is_slower_over_http2_is_asked_until_chance_is_ruled_out() -> None:
    def act(step: Step, _: int) -> TrialEvidence:
        slow = answered(ended_us=90_000 + RTT_US + 200_000)
        return connection(step.trial, exchanges=(slow if step.trial is Trial.HTTP2 else answered(),))

    assert count(act)[Trial.HTTP2] == 3


def test_http2_is_asked_twice_over_a_connection_that_is_made_again_where_it_was_closed() -> None:
    asks: list[int] = []

    def act(step: Step, _: int) -> TrialEvidence:
        if step.trial is Trial.HTTP2:
            asks.append(step.asks)
        return connection(step.trial, exchanges=(answered(kept=step.trial is not Trial.HTTP2),))

    assert count(act)[Trial.HTTP2] == 3
    assert asks == [2, 2, 2]


def test_a_classical_handshake_that_is_quicker_is_made_until_chance_is_ruled_out() -> None:
    def act(step: Step, _: int) -> TrialEvidence:
        one = connection(step.trial)
        assert one.handshake is not None
        network_us = RTT_US if step.trial is Trial.CLASSICAL else 2 * RTT_US
        return replace(one, handshake=replace(one.handshake, network_us=network_us))

    assert count(act)[Trial.CLASSICAL] == 3


def test_one_connection_asks_again_at_once_and_after_a_pause() -> None:
    steps, _ = play(healthy)
    full = [step for step in steps if step.trial is Trial.FULL]
    assert [(step.asks, step.after_pause) for step in full] == [(2, True), (2, False)]


def test_a_server_of_http2_alone_is_asked_twice_where_acknowledgements_are_delayed() -> None:
    """In its first answer they go along with what we say of its settings."""
    spoken = Handshake(started_us=RTT_US, hello_bytes=1500, ended_us=2 * RTT_US, protocol="h2")
    for act, asks in ((lambda step, _: connection(step.trial, handshake=spoken), 2), (healthy, 1)):
        steps, _ = play(act)
        assert {step.asks for step in steps if step.trial is Trial.DELAYED_ACK} == {asks}


def test_the_second_of_tls_12_offers_no_tickets() -> None:
    steps, _ = play(healthy)
    assert [step.tickets for step in steps if step.trial is Trial.TLS12] == [True, False]


def test_what_does_not_apply_is_not_tried() -> None:
    made = count(healthy, Scope(secure=True))
    assert not made.keys() & {Trial.HTTP3, Trial.OTHER_FAMILY}
    assert count(healthy, Scope(secure=False)).keys() == {Trial.FULL, Trial.DELAYED_ACK}


def test_without_early_data_in_a_ticket_none_is_sent() -> None:
    """Tickets of HTTP/3 allow it for HTTP/3 alone."""

    def act(step: Step, number: int) -> TrialEvidence:
        one, most = healthy(step, number), 0xFFFFFFFF if step.trial is Trial.HTTP3 else 0
        assert one.handshake is not None
        return replace(one, handshake=replace(one.handshake, max_early_data_bytes=most))

    seen = [act(Step(trial=Trial.FULL), 0)]
    while (step := next_step(seen, SCOPE)) is not None:
        seen.append(act(step, len(seen)))
    assert Trial.EARLY_DATA not in {one.trial for one in seen}


@pytest.mark.parametrize(("resumed", "attempts"), [((False,), 5), ((True, False), 10), ((True,), 3)])
def test_sessions_that_are_not_taken_up_are_tried_until_it_is_certain(resumed: tuple[bool, ...], attempts: int) -> None:
    def act(step: Step, number: int) -> TrialEvidence:
        one = healthy(step, number)
        if step.trial is not Trial.RESUMED or one.handshake is None:
            return one
        return replace(one, handshake=replace(one.handshake, resumed=resumed[number % len(resumed)]))

    assert count(act)[Trial.RESUMED] == attempts


def test_of_two_ways_of_tls_12_that_of_ids_is_tried_until_it_is_known_not_to_work() -> None:
    def without(*kinds: Trial) -> Act:
        def act(step: Step, number: int) -> TrialEvidence:
            one = healthy(step, number)
            if step.trial not in kinds or one.handshake is None:
                return one
            return replace(one, handshake=replace(one.handshake, resumed=False))

        return act

    by_ticket, by_id = count(without(Trial.TLS12_SESSION_ID)), count(without(Trial.TLS12_TICKET))
    assert (by_ticket[Trial.TLS12_TICKET], by_ticket[Trial.TLS12_SESSION_ID]) == (1, 5)
    assert (by_id[Trial.TLS12_TICKET], by_id[Trial.TLS12_SESSION_ID]) == (1, 1)
    both = count(without(Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID))
    assert both[Trial.TLS12_TICKET] == both[Trial.TLS12_SESSION_ID] == 5


def test_a_server_without_tls_12_is_asked_for_it_once() -> None:
    def act(step: Step, number: int) -> TrialEvidence:
        if step.trial is not Trial.TLS12:
            return healthy(step, number)
        return connection(step.trial, handshake=None, exchanges=(), failure=failure(FailureKind.TLS_ALERT))

    made = count(act)
    assert made[Trial.TLS12] == 1
    assert not made.keys() & {Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID}


def test_http3_that_is_announced_and_refused_is_tried_three_times() -> None:
    def act(step: Step, number: int) -> TrialEvidence:
        if step.trial is not Trial.HTTP3:
            return healthy(step, number)
        return connection(step.trial, handshake=None, exchanges=(), failure=failure(FailureKind.TLS_ALERT))

    assert count(act)[Trial.HTTP3] == 3


@pytest.mark.parametrize(("took_us", "times"), [(RTT_US + 2_000, 1), (RTT_US + 150_000, 3)])
def test_a_redirect_that_takes_long_is_asked_for_again(took_us: int, times: int) -> None:
    def act(step: Step, number: int) -> TrialEvidence:
        one = healthy(step, number)
        return (
            replace(one, exchanges=(answered(90_000, ended_us=90_000 + took_us),)) if step.trial is Trial.PLAIN else one
        )

    assert count(act)[Trial.PLAIN] == times


def test_a_server_that_closes_after_each_answer_is_seen_to_do_so_three_times() -> None:
    def act(step: Step, number: int) -> TrialEvidence:
        closed = (answered(kept=False),) if step.trial is Trial.FULL else (answered(),)
        return replace(healthy(step, number), exchanges=closed)

    assert count(act)[Trial.FULL] == 4


def test_a_window_that_is_lost_while_idle_is_looked_at_each_time() -> None:
    def act(step: Step, number: int) -> TrialEvidence:
        rested = answered(3_000_000, idle_us=2_000_000, ended_us=3_000_000 + 2 * RTT_US)
        exchanges = (answered(), rested) if step.after_pause else (answered(),)
        return replace(healthy(step, number), exchanges=exchanges)

    steps, _ = play(act)
    assert sum(step.after_pause for step in steps) == 3


def test_an_answer_with_a_pause_in_it_is_asked_for_again_with_late_acknowledgements() -> None:
    transfers = tuple(
        Transfer(at_us=at_us, direction=Direction.RECEIVED, size_bytes=500) for at_us in (130_000, 130_000 + RTT_US)
    )

    def act(step: Step, number: int) -> TrialEvidence:
        one = healthy(step, number)
        return replace(one, transfers=transfers) if step.trial is Trial.DELAYED_ACK else one

    assert count(act)[Trial.DELAYED_ACK] == 3
    assert count(healthy)[Trial.DELAYED_ACK] == 1


@pytest.mark.parametrize("earlier", [(), (answered(10_000, ended_us=20_000),)])
@pytest.mark.parametrize(("end_bytes", "asks"), [(600, 2), (6000, 1)])
def test_a_small_end_that_may_have_been_held_back_is_waited_for_twice(
    end_bytes: int, asks: int, earlier: tuple[Exchange, ...]
) -> None:
    """Of the first answer, or of the second. Without TLS nobody comes back who shows it too: it takes one more."""
    asked_us, ended_us = 100_000, 100_000 + 2 * RTT_US
    sizes = ((ended_us - RTT_US, 1600), (ended_us, end_bytes))
    transfers = tuple(Transfer(at_us=at_us, direction=Direction.RECEIVED, size_bytes=size) for at_us, size in sizes)
    exchange = Exchange(asked_us=asked_us, sent_us=asked_us, ended_us=ended_us)

    def act(step: Step, number: int) -> TrialEvidence:
        one = healthy(step, number)
        return replace(one, transfers=transfers, exchanges=(*earlier, exchange)) if step.trial is Trial.FULL else one

    steps, _ = play(act)
    assert {step.asks for step in steps if step.trial is Trial.DELAYED_ACK} == {asks}
    assert count(act)[Trial.FULL] == 3
    assert count(act, Scope(secure=False))[Trial.FULL] == 2 + asks


def test_connections_that_lost_packets_are_made_up_for() -> None:
    def act(step: Step, number: int) -> TrialEvidence:
        one = healthy(step, number)
        return replace(one, tcp_ended=TcpState(out_of_order_packets=3)) if step.trial is Trial.FULL else one

    assert count(act)[Trial.FULL] == 5


def test_a_hybrid_hello_that_kills_is_said_three_times_and_asks_nothing() -> None:
    died = connection(Trial.FULL, handshake=None, exchanges=(), failure=failure(FailureKind.CONNECTION_RESET))
    seen, steps = [died, connection(Trial.CLASSICAL)], []
    scope = replace(SCOPE, classical=True)
    while (step := next_step(seen, scope)) is not None:
        steps.append(step)
        seen.append(died if step.trial is Trial.FULL else connection(step.trial))
    assert [step.asks for step in steps if step.trial is Trial.FULL] == [0, 0]


def test_a_family_that_fails_is_tried_three_times() -> None:
    def act(step: Step, number: int) -> TrialEvidence:
        if step.trial is not Trial.OTHER_FAMILY:
            return healthy(step, number)
        refused = failure(FailureKind.CONNECT_REFUSED)
        return TrialEvidence(trial=step.trial, started_us=0, failure=refused)

    assert count(act)[Trial.OTHER_FAMILY] == 3


@pytest.mark.parametrize("other_us", [3 * RTT_US, RTT_US // 8])
@pytest.mark.parametrize("scope", [SCOPE, replace(SCOPE, secure=False), replace(SCOPE, classical=True)])
def test_families_that_differ_are_asked_by_turns(scope: Scope, other_us: int) -> None:
    """A queue that fills and empties makes any way slower for a while."""

    def act(step: Step, number: int) -> TrialEvidence:
        one = healthy(step, number)
        return replace(one, connect_us=other_us) if step.trial is Trial.OTHER_FAMILY else one

    steps, seen = play(act, scope)
    own = Step(trial=Trial.CLASSICAL if scope.classical else Trial.FULL, asks=0)
    other = Step(trial=Trial.OTHER_FAMILY, asks=0)
    assert steps[-5:] == [other, own, other, own, other]
    told = [planned(seen[:number], scope) for number in range(len(seen) - 4, len(seen) + 1)]
    assert told == [len(seen)] * 5


handshakes = st.none() | st.builds(
    Handshake,
    started_us=st.just(0),
    hello_bytes=st.just(500),
    ended_us=st.none() | st.just(90_000),
    version=st.sampled_from([None, "TLSv1.2", "TLSv1.3"]),
    resumed=st.none() | st.booleans(),
    max_early_data_bytes=st.none() | st.integers(0, 100),
)
moves = st.builds(
    Transfer, at_us=st.integers(0, 10**6), direction=st.sampled_from(Direction), size_bytes=st.integers(1, 20_000)
)
asked = st.builds(
    Exchange,
    asked_us=st.integers(0, 10**6),
    idle_us=st.none() | st.integers(0, 10**6),
    sent_us=st.none() | st.integers(0, 10**6),
    first_raw_us=st.none() | st.integers(0, 10**6),
    ended_us=st.none() | st.integers(0, 10**6),
    kept=st.none() | st.booleans(),
)
states = st.none() | st.builds(
    TcpState, min_rtt_us=st.none() | st.integers(1, 10**6), out_of_order_packets=st.none() | st.integers(0, 2)
)


@given(st.data(), st.builds(Scope, secure=st.booleans(), other_family=st.booleans(), http3=st.booleans()))
def test_whatever_comes_of_connections_there_is_an_end(data: st.DataObject, scope: Scope) -> None:
    def act(step: Step, _: int) -> TrialEvidence:
        failures = st.none() | st.sampled_from(FailureKind).map(failure)
        return TrialEvidence(
            trial=step.trial,
            started_us=0,
            connect_us=data.draw(st.none() | st.integers(0, 10**6)),
            syn_rtt_us=data.draw(st.none() | st.integers(1, 10**6)),
            handshake=data.draw(handshakes),
            exchanges=tuple(data.draw(st.lists(asked, max_size=2))),
            transfers=tuple(sorted(data.draw(st.lists(moves, max_size=4)), key=lambda one: one.at_us)),
            tcp_ended=data.draw(states),
            failure=data.draw(failures),
        )

    play(act, scope)


@pytest.mark.parametrize(
    ("compression", "message_bytes", "http3", "asked"),
    [
        (None, 2_000, True, 0),
        (None, 3_700, True, 3),
        (None, 3_700, False, 0),
        (None, 5_000, False, 3),
        (CertificateCompression.BROTLI, 5_000, False, 1),
    ],
)
def test_compression_is_offered_where_it_would_gain_something(
    compression: CertificateCompression | None, message_bytes: int, http3: bool, asked: int
) -> None:
    def act(step: Step, number: int) -> TrialEvidence:
        one = healthy(step, number)
        assert one.handshake is not None
        mine = compression if step.trial is Trial.COMPRESSED else None
        sent = replace(one.handshake, certificate_message_bytes=message_bytes, certificate_compression=mine)
        return replace(one, handshake=sent)

    assert count(act, Scope(secure=True, http3=http3))[Trial.COMPRESSED] == asked


@pytest.mark.parametrize(
    ("sharing", "asked"),
    [({"a": True}, "a"), ({"a": False}, "aaaaa"), ({"a": True, "b": False}, "abbbbb"), ({"a": None, "b": True}, "ab")],
)
def test_each_other_address_is_asked_until_it_is_known_whether_it_shares_sessions(
    sharing: dict[str, bool | None], asked: str
) -> None:
    def act(step: Step, number: int) -> TrialEvidence:
        one = healthy(step, number)
        if step.address is None or one.handshake is None:
            return one
        shares = sharing[step.address]
        if shares is None:
            return replace(one, address=step.address, handshake=None, failure=failure(FailureKind.CONNECT_REFUSED))
        return replace(one, address=step.address, handshake=replace(one.handshake, resumed=shares))

    steps, _ = play(act, Scope(secure=True, elsewhere=tuple(sharing)))
    assert "".join(step.address or "" for step in steps) == asked


def test_a_site_that_continues_no_session_is_not_asked_elsewhere() -> None:
    def act(step: Step, number: int) -> TrialEvidence:
        one = healthy(step, number)
        assert one.handshake is not None
        return replace(one, handshake=replace(one.handshake, resumed=False))

    assert Trial.RESUMED_ELSEWHERE not in count(act, Scope(secure=True, elsewhere=("a",)))
