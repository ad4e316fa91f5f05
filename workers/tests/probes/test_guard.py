"""No probe reaches an address that was not judged."""

import errno
import os
import socket
from itertools import chain, repeat
from typing import Any

import pytest

from workers.measurement.addresses import parse_networks
from workers.measurement.failure import Blame, FailureKind, Stage
from workers.measurement.messages import Failed
from workers.probes.faults import ProbeError, connect_fault
from workers.probes.guard import choose, has_route
from workers.tests.inside import INSIDE_URLS
from workers.tests.probes.conftest import Lab
from workers.tests.servers import Server, answering, redirect, response
from workers.tests.waiting import undisturbed


def test_ipv4_is_preferred_and_ipv6_taken_where_there_is_nothing_else() -> None:
    assert choose("example.test", ("2606:4700::1111", "1.1.1.1", "8.8.8.8"), ()) == "1.1.1.1"
    assert choose("example.test", ("2606:4700::1111", "2606:4700::1112"), ()) == "2606:4700::1111"


@pytest.mark.parametrize("bad", ["10.0.0.1", "::1", "169.254.169.254", "64:ff9b::a00:1"])
def test_one_bad_answer_refuses_the_name_and_is_never_told(bad: str) -> None:
    with pytest.raises(ProbeError) as caught:
        choose("example.test", ("1.1.1.1", bad, "8.8.8.8"), ())
    assert caught.value.failure.kind is FailureKind.BLOCKED_DESTINATION
    assert caught.value.failure.stage is Stage.CONNECT
    assert bad not in caught.value.failure.detail


def test_what_the_operator_allows_is_allowed() -> None:
    assert choose("example.test", ("10.0.0.1",), parse_networks("10.0.0.0/8")) == "10.0.0.1"


def test_loopback_is_closed_unless_the_operator_opens_it(lab: Lab) -> None:
    lab.configure(allowed=())
    lab.zone.a["inside.example.test"] = ["127.0.0.1"]
    with Server(answering(response())) as server:
        for host in ("inside.example.test", "127.0.0.1", "localhost"):
            failed, measurement = lab.fail(server.url(host=host))
            assert failed.failure.kind is FailureKind.BLOCKED_DESTINATION
            assert measurement.connections[0].address is None
        assert server.connections == 0


@undisturbed
def test_mixed_answers_are_refused_whichever_comes_first(lab: Lab) -> None:
    with Server(answering(response())) as server:
        for name, addresses in {"a.test": ["127.0.0.1", "10.0.0.1"], "b.test": ["10.0.0.1", "127.0.0.1"]}.items():
            lab.zone.a[name] = addresses
            assert lab.fail(server.url(host=name))[0].failure.kind is FailureKind.BLOCKED_DESTINATION
        lab.zone.a["c.test"], lab.zone.aaaa["c.test"] = ["127.0.0.1"], ["fd00::1"]
        assert lab.fail(server.url(host="c.test"))[0].failure.kind is FailureKind.BLOCKED_DESTINATION
        assert server.connections == 0


@pytest.mark.parametrize("address", ["fd00::1", "::1", "64:ff9b::7f00:1", "2002:7f00:1::", "::ffff:127.0.0.1"])
def test_a_name_with_nothing_but_an_ipv6_address_inside_is_refused(lab: Lab, address: str) -> None:
    lab.configure(allowed=())
    lab.zone.aaaa["six.example.test"] = [address]
    assert lab.fail("http://six.example.test/")[0].failure.kind is FailureKind.BLOCKED_DESTINATION


@pytest.mark.parametrize("url", [*INSIDE_URLS, "http://localhost./", "http://app.localhost/"])
def test_every_spelling_of_an_inside_address_is_refused(lab: Lab, url: str) -> None:
    lab.configure(allowed=())
    outcome = lab.probe(url)
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind in {FailureKind.BLOCKED_DESTINATION, FailureKind.INVALID_URL}


def test_a_redirect_to_a_name_that_leads_inside_is_refused(lab: Lab) -> None:
    lab.zone.aliases["cdn.example.test"] = "deep.example.test"
    lab.zone.aliases["deep.example.test"] = "metadata.example.test"
    lab.zone.a["metadata.example.test"] = ["169.254.169.254"]
    with Server(answering(redirect("http://cdn.example.test/latest/meta-data/"))) as server:
        failed, measurement = lab.fail(server.url())
    assert failed.failure.kind is FailureKind.BLOCKED_DESTINATION
    assert "169.254" not in failed.failure.detail
    assert measurement.connections[1].connect is None


def test_an_alias_that_leads_inside_is_refused(lab: Lab) -> None:
    lab.zone.aliases["www.example.test"] = "metadata.example.test"
    lab.zone.a["metadata.example.test"] = ["169.254.169.254"]
    failed, _ = lab.fail("http://www.example.test/")
    assert failed.failure.kind is FailureKind.BLOCKED_DESTINATION
    assert "169.254" not in failed.failure.detail


def test_a_name_is_asked_for_once_so_that_a_second_answer_changes_nothing(lab: Lab) -> None:
    lab.zone.rotating["rebind.example.test"] = chain(["127.0.0.1"], repeat("10.0.0.1"))
    with Server(answering(response())) as server:
        measurement = lab.measure(server.url(host="rebind.example.test"))
        assert measurement.connections[0].address == "127.0.0.1"
        failed, _ = lab.fail(server.url(host="rebind.example.test"))
    assert failed.failure.kind is FailureKind.BLOCKED_DESTINATION


def test_the_hosts_file_is_judged_like_any_answer(lab: Lab) -> None:
    (lab.directory / "hosts").write_text("10.0.0.1 printer.example.test\n")
    assert lab.fail("http://printer.example.test/")[0].failure.kind is FailureKind.BLOCKED_DESTINATION


def test_a_host_that_was_told_is_asked_for_nowhere_and_keeps_its_name(lab: Lab) -> None:
    with Server(answering(response())) as server:
        lab.configure(resolve={("told.example.test", server.port): "127.0.0.1"})
        measurement = lab.measure(server.url(host="told.example.test"))
        assert measurement.connections[0].address == "127.0.0.1"
        assert measurement.hops[0].timing.dns is None
        assert lab.dns.questions == 0
        failed, _ = lab.fail("http://told.example.test:1024/")
        assert failed.failure.kind is FailureKind.DNS_NOT_FOUND


def test_a_host_that_was_told_is_judged_all_the_same(lab: Lab) -> None:
    lab.configure(resolve={("told.example.test", 80): "10.0.0.1", ("told.example.test", 443): "nonsense"})
    for url in ("http://told.example.test/", "https://told.example.test/"):
        assert lab.fail(url)[0].failure.kind is FailureKind.BLOCKED_DESTINATION


def refuse_ipv6(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    class Socket(socket.socket):
        def __init__(self, family: int = -1, *rest: Any, **more: Any) -> None:
            if family == socket.AF_INET6:
                raise OSError(code, os.strerror(code))
            super().__init__(family, *rest, **more)

    monkeypatch.setattr(socket, "socket", Socket)


@pytest.mark.parametrize(
    ("code", "kind"),
    [(errno.EAFNOSUPPORT, FailureKind.CONNECT_UNREACHABLE), (errno.EMFILE, FailureKind.INTERNAL_ERROR)],
)
def test_where_the_machine_makes_no_socket_the_connection_fails_and_says_why(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, code: int, kind: FailureKind
) -> None:
    lab.zone.aaaa["six.test"] = ["2606:4700::1111"]
    refuse_ipv6(monkeypatch, code)
    failed, measurement = lab.fail("https://six.test/")
    assert (failed.failure.kind, failed.failure.stage, failed.failure.blame) == (kind, Stage.CONNECT, Blame.MONITOR)
    assert os.strerror(code) in failed.failure.detail
    assert measurement.connections[0].address == "2606:4700::1111"


def test_a_kernel_without_ipv6_has_no_way_there(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_ipv6(monkeypatch, errno.EAFNOSUPPORT)
    assert not has_route("2606:4700::1111")


@pytest.mark.parametrize(
    "code", [errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EACCES, errno.EPERM, errno.EADDRNOTAVAIL]
)
def test_where_the_machine_itself_lets_nothing_out_no_site_is_to_blame(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Without a route, by a rule of its own, or with no local port left: what is said at once nobody else said."""
    monkeypatch.setattr(socket.socket, "connect_ex", lambda sock, address: code)
    lab.zone.a["site.test"] = ["127.0.0.1"]
    failed, _ = lab.fail("http://site.test:8080/")
    assert (failed.failure.blame, failed.failure.stage) == (Blame.MONITOR, Stage.CONNECT)
    assert os.strerror(code) in failed.failure.detail


def test_what_comes_back_from_the_way_is_the_ways(lab: Lab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert lab.fail(f"http://127.0.0.1:{port}/")[0].failure.blame is Blame.TARGET
    assert connect_fault(OSError(errno.ENETUNREACH, "Network is unreachable"), "there").failure.blame is Blame.NETWORK
