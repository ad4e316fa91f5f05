"""Numbers by which the plan of a deep probe and the rules on what it saw agree: what is worth another connection is
what a rule would tell.
"""

# Below this round trip a busy server and a round trip look alike, and nothing that counts round trips is told.
MIN_RTT_US = 8_000
# Who looked at an arrival sooner was mostly there when it came.
LATE_LOOK_US = 5_000
# Shorter pauses, or ones below half a round trip, are within one flight (measured: a server's own are shorter).
MIN_PAUSE_US = 3_000
# A wait for an acknowledgement is a round trip, give or take (measured on delay links of 20 to 380 ms).
LEAST_RTT, MOST_RTT = 0.85, 1.15
# What a client adds that delays its acknowledgements: Linux and today's Windows 40 ms, RFC 1122 stacks 200 ms.
ACK_DELAYS_US = ((35_000, 60_000), (180_000, 230_000))
# From here on a chain may not fit into the first window, and compressing it can spare a round trip.
LARGE_CHAIN_BYTES = 4_096
# A QUIC server sends three times what it has received before it knows the client's address (RFC 9000, 8.1): of a client
# that says hello in one datagram of 1,200 bytes, and of browsers, whose hello with a hybrid key share takes two.
QUIC_FIRST_FLIGHT_BYTES, BROWSERS_QUIC_FLIGHT_BYTES = 3_600, 7_200
# What was preloaded for nothing is worth a word, and the wait for that of the browser, from so many bytes on: a line of
# 1.6 Mbit/s takes 50 ms for them.
UNUSED_BYTES = 10_000
_SLOWER_TIMES, _SLOWER_US = 1.5, 30_000


def is_far_slower(one_us: float, other_us: float) -> bool:
    """Whether one way is slower than another: so many times as long, and so much longer."""
    return one_us > max(_SLOWER_TIMES * other_us, other_us + _SLOWER_US)
