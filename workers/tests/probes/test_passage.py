"""A way out of the own network is known to be open for an hour after somebody was reached by it."""

from workers.probes.passage import HOLDS_NS, Network, Passage


def test_nobody_was_reached_yet() -> None:
    network = Network()
    assert not network.quic.holds(0)
    assert not network.ipv6.holds(HOLDS_NS)


def test_what_was_seen_is_believed_for_an_hour() -> None:
    passage = Passage(last_ns=1_000)
    assert passage.holds(1_000)
    assert passage.holds(1_000 + HOLDS_NS)
    assert not passage.holds(1_001 + HOLDS_NS)


def test_each_way_is_known_by_itself_and_seen_again_it_counts_anew() -> None:
    network = Network()
    network.ipv6.last_ns = 0
    assert not network.quic.holds(1)
    assert not network.ipv6.holds(2 * HOLDS_NS)
    network.ipv6.last_ns = 2 * HOLDS_NS
    assert network.ipv6.holds(2 * HOLDS_NS + 1)
