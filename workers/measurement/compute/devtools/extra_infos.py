"""The headers really sent and received ("extra info"), which DevTools tells apart from the requests that they are of.

They carry no hop number: each belongs to the hops that announce it, in order.
"""

from collections.abc import Callable, Iterator

from workers.measurement.compute.devtools.exchange import Exchange, Json, monotonic_us
from workers.measurement.statuses import NOT_MODIFIED

# Two that are told of the same instant; what goes before it is the browser's own work.
_SAME_US = 1_000
# More is made up: Chrome follows twenty redirects, and each of these is held against every hop of its request.
_MAX_EXTRAS = 256


class ExtraInfos:
    """`keep_sent` and `keep_received` take the events; `hand_out` gives those of a request to its hops."""

    def __init__(self) -> None:
        self._sent: dict[str, list[Json]] = {}
        self._received: dict[str, list[Json]] = {}

    def keep_sent(self, params: Json) -> None:
        _keep(self._sent, params)

    def keep_received(self, params: Json) -> None:
        _keep(self._received, params)

    def hand_out(self, request_id: str, hops: list[Exchange], others: int) -> None:
        """`others` hops before these were not told of, but may have been heard. Nothing was sent to memory."""
        asked = [hop for hop in hops if not hop.from_memory]
        _hand_out_sent(asked, self._sent.get(request_id, []), others)
        _hand_out_received(asked, self._received.get(request_id, []), others)


def _keep(extras: dict[str, list[Json]], params: Json) -> None:
    of_request = extras.setdefault(str(params.get("requestId")), [])
    if len(of_request) < _MAX_EXTRAS:
        of_request.append(params)


def _hand_out_sent(hops: list[Exchange], extras: list[Json], others: int) -> None:
    # A hop without an answer never announces its extra info, so the last one takes what is left.
    announced = [hop for hop in hops if hop.has_extra_request]
    takers = [hop for hop in hops if hop.has_extra_request or hop.response is None]
    for hop, extra in _pairs((announced, takers), extras, others, _is_sent_by):
        headers, connect = extra.get("headers"), extra.get("connectTiming")
        if isinstance(headers, dict):
            hop.request_headers, hop.is_sent_known = headers, True
        if hop.net_started_us is None and isinstance(connect, dict):
            hop.net_started_us = monotonic_us(connect.get("requestTime"))


def _is_sent_by(hop: Exchange, extra: Json) -> bool:
    connect = extra.get("connectTiming")
    began_us = monotonic_us(connect.get("requestTime")) if isinstance(connect, dict) else None
    return began_us is None or hop.net_started_us is None or abs(began_us - hop.net_started_us) <= _SAME_US


def _hand_out_received(hops: list[Exchange], extras: list[Json], others: int) -> None:
    # As above: of a worker's script the page hears the headers and not the answer.
    announced = [hop for hop in hops if hop.has_extra_response]
    takers = [hop for hop in hops if hop.has_extra_response or hop.response is None]
    for hop, extra in _pairs((announced, takers), extras, others, _is_received_by):
        headers, status = extra.get("headers"), extra.get("statusCode")
        hop.response_headers = headers if isinstance(headers, dict) else hop.response_headers
        # A revalidated resource shows 200 in `response`; the wire said 304.
        if hop.response is not None and isinstance(status, int):
            hop.response = {**hop.response, "status": status}


def _is_received_by(hop: Exchange, extra: Json) -> bool:
    status, told = extra.get("statusCode"), hop.number("status")
    return status is None or told is None or status in (told, NOT_MODIFIED)


def _pairs(
    choices: tuple[list[Exchange], list[Exchange]],
    extras: list[Json],
    others: int,
    may_be_of: Callable[[Exchange, Json], bool],
) -> Iterator[tuple[Exchange, Json]]:
    """Who takes which: in order, where as many came as hops announced, or as may take one. `others` hops before them
    were not told of, but may have been heard. What came twice is passed over; where some are missing, one goes to the
    only hop that it can be of.
    """
    takers = next((hops for hops in choices if len(hops) + others == len(extras)), choices[1])
    if others or len(extras) > len(takers):
        extras = [extra for at, extra in enumerate(extras) if extra not in extras[:at]]
    if len(extras) >= len(takers) + others:
        # More than were announced are of hops behind the last that was told of, or else before the first.
        first = len(extras) - len(takers) if others else 0
        found = list(zip(takers, extras[first : first + len(takers)], strict=True))
        if all(may_be_of(*pair) for pair in found):
            yield from found
            return
    for extra in extras if not others else ():
        possible = [hop for hop in takers if may_be_of(hop, extra)]
        if len(possible) == 1:
            yield possible[0], extra
