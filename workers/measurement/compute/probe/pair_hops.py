"""A pair seen as one probe after another, for who draws hops and connections."""

from workers.measurement.messages import Hop, Measurement, PageMeasurement, PairMeasurement, ProbeMeasurement
from workers.measurement.pair import LegExchange


def as_probe(measurement: Measurement) -> ProbeMeasurement | PageMeasurement:
    """The exchanges of a pair as hops, in the order they were made; anything else as it is."""
    if not isinstance(measurement, PairMeasurement):
        return measurement
    return ProbeMeasurement(
        hops=tuple(_hop(exchange) for exchange in measurement.exchanges),
        connections=measurement.connections,
        clock=measurement.clock,
        scheduling_lag_us=measurement.scheduling_lag_us,
        contention_us=measurement.contention_us,
    )


def _hop(exchange: LegExchange) -> Hop:
    return Hop(
        url=exchange.url,
        connection=exchange.connection,
        timing=exchange.timing,
        status=exchange.status,
        response_headers=exchange.response_headers,
        head_bytes=exchange.head_bytes,
        body_bytes=exchange.body_bytes,
    )
