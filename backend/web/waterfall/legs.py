"""Both legs of one pair as waterfalls on one axis: each exchange from its own begin, since they were made in turns."""

from dataclasses import replace

from backend.web.waterfall.rows import Chart
from backend.web.waterfall.side_by_side import charts_on_one_axis
from workers.measurement.messages import PairMeasurement
from workers.measurement.pair import Leg, LegExchange
from workers.measurement.timing import Span, Timing


def leg_charts(pair: PairMeasurement) -> tuple[Chart, Chart]:
    """The exchanges of leg a (the CDN) and leg b (the origin): one over a new connection, one over the same again."""
    legs = [tuple(_from_zero(one) for one in pair.exchanges if one.leg is leg) for leg in (Leg.A, Leg.B)]
    first, second = charts_on_one_axis(*(replace(pair, exchanges=exchanges) for exchanges in legs))
    return _named(first, legs[0]), _named(second, legs[1])


def _named(chart: Chart, exchanges: tuple[LegExchange, ...]) -> Chart:
    """What kind of connection each row had stands beside it; lines for one of two rows would mislead."""
    rows = (
        replace(row, notes=("same connection again" if one.reused else "new connection",))
        for row, one in zip(chart.rows, exchanges, strict=True)
    )
    return replace(chart, rows=tuple(rows), moments=())


def _from_zero(exchange: LegExchange) -> LegExchange:
    by_us = exchange.timing.start_us
    return replace(exchange, timing=_earlier(exchange.timing, by_us))


def _earlier(timing: Timing, by_us: int) -> Timing:
    return Timing(
        start_us=timing.start_us - by_us,
        end_us=None if timing.end_us is None else timing.end_us - by_us,
        dns=_moved(timing.dns, by_us),
        connect=_moved(timing.connect, by_us),
        tls=_moved(timing.tls, by_us),
        send=_moved(timing.send, by_us),
        wait=_moved(timing.wait, by_us),
        download=_moved(timing.download, by_us),
    )


def _moved(span: Span | None, by_us: int) -> Span | None:
    return None if span is None else Span(start_us=span.start_us - by_us, end_us=span.end_us - by_us)
