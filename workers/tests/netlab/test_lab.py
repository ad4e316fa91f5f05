"""A probe in the lab: an engine inside the client's network."""

from workers.measurement.messages import Measured, ProbeMeasurement
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.network import NAME
from workers.tests.servers import Server, answering, response
from workers.tests.waiting import undisturbed


@undisturbed
def test_a_probe_is_measured_inside_the_lab() -> None:
    with Lab(rtt_ms=40) as lab:
        server = lab.server.call(lambda: Server(answering(response()), host=lab.server_address))
        with server:
            outcome = lab.probe(server.url(host=NAME))
    assert isinstance(outcome, Measured)
    assert isinstance(outcome.measurement, ProbeMeasurement)
    connection = outcome.measurement.connections[0]
    assert connection.rtt_us is not None
    assert 40_000 <= connection.rtt_us < 70_000


def test_a_name_known_by_version_6_is_measured_over_it() -> None:
    with Lab(rtt_ms=40, ipv6=True) as lab:
        server = lab.server.call(lambda: Server(answering(response()), host=lab.server_address))
        with server:
            outcome = lab.probe(server.url(host=NAME))
    assert isinstance(outcome, Measured)
    assert isinstance(outcome.measurement, ProbeMeasurement)
    assert outcome.measurement.connections[0].address == lab.server_address6
