"""What a deep probe asks port 80, where anybody on the way reads along."""

from pathlib import Path

from workers.measurement.evidence import Depth, Trial
from workers.measurement.messages import Measured, ProbeMeasurement
from workers.tests.netlab.lab import Lab
from workers.tests.servers import Authority, Peer, Server, redirect, response
from workers.tests.waiting import undisturbed

_NAME = "www.lab.test"


@undisturbed
def test_port_80_of_where_redirects_lead_is_asked_for_the_page_alone(tmp_path: Path) -> None:
    """What stands behind a question mark may be a secret."""
    asked: list[str] = []

    def secured(peer: Peer) -> None:
        while request := peer.read_request():
            peer.send(response() if b"GET /there" in request else redirect("/there?code=secret"))

    def plain(peer: Peer) -> None:
        asked.append(peer.read_request().split(b"\r\n")[0].decode())
        peer.send(redirect(f"https://{_NAME}/"))

    authority = Authority.make(tmp_path)
    with Lab(rtt_ms=5) as lab:
        lab.configure(ca_file=authority.ca_file)
        at = lab.server_address
        over_tls, without = lab.server.call(
            lambda: (
                Server(secured, context=authority.context(_NAME), host=at, port=443),
                Server(plain, host=at, port=80),
            )
        )
        with over_tls, without:
            outcome = lab.probe(f"https://{_NAME}/?token=secret", depth=Depth.DEEP)
    assert isinstance(outcome, Measured), outcome
    assert isinstance(outcome.measurement, ProbeMeasurement)
    evidence = outcome.measurement.evidence
    assert evidence is not None
    assert {one.status for trial in evidence.of(Trial.PLAIN) for one in trial.exchanges} == {302}
    assert set(asked) == {"GET /there HTTP/1.1"}
