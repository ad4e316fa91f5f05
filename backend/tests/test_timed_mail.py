"""Mail to servers of every manner: taken, or broken off in time."""

import smtplib
import ssl
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

import pytest
from django.core.mail import EmailMessage

from backend import timed_mail
from backend.alerts.delivery import LEASE
from backend.timed_mail import CONVERSATION_S, TimedEmailBackend
from workers.tests.servers import Authority, Peer, Script, Server

ANSWERS = {b"EHLO": b"250-mail.example\r\n250 STARTTLS\r\n", b"DATA": b"354 Go on\r\n", b"STAR": b"220 Go on\r\n"}
FINE = b"250 Fine\r\n"


def line(peer: Peer, end: bytes = b"\r\n") -> bytes:
    read = b""
    while not read.endswith(end) and (part := peer.sock.recv(1)):
        read += part
    return read


def taking(
    mails: list[bytes], *, before: Callable[[Peer, bytes], object] = lambda *_: None, tls: ssl.SSLContext | None = None
) -> Script:
    """Takes mail; `before` is done before each command is answered, `tls` is for who asks for it on the way."""

    def script(peer: Peer) -> None:
        peer.send(b"220 mail.example\r\n")
        with ExitStack() as stack:
            while command := line(peer):
                before(peer, command[:4].upper())
                peer.send(ANSWERS.get(command[:4].upper(), FINE))
                if command.startswith(b"STARTTLS"):
                    assert tls is not None
                    peer.sock = stack.enter_context(tls.wrap_socket(peer.sock, server_side=True))
                elif command.upper().startswith(b"DATA"):
                    mails.append(line(peer, b"\r\n.\r\n"))
                    peer.send(FINE)

    return script


def send(server: Server, **options: object) -> int | None:
    message = EmailMessage("A title", "Words", "firstbyte@acme.example", ["ops@acme.example"])
    sent: int | None = TimedEmailBackend(host="127.0.0.1", port=server.port, **options).send_messages([message])
    return sent


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_mail, "CONVERSATION_S", 0.5)


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    made = Authority.make(tmp_path)
    trusting = ssl.create_default_context(cafile=made.ca_file)
    monkeypatch.setattr(TimedEmailBackend, "ssl_context", trusting)
    return made


def test_a_mail_is_taken() -> None:
    mails: list[bytes] = []
    with Server(taking(mails)) as server:
        assert send(server) == 1
    assert b"Subject: A title" in mails[0]


def test_a_mail_is_taken_over_tls_from_the_first_byte_or_from_when_it_is_asked_for(authority: Authority) -> None:
    mails: list[bytes] = []
    with Server(taking(mails), context=authority.context()) as server:
        assert send(server, use_ssl=True) == 1
    with Server(taking(mails, tls=authority.context())) as server:
        assert send(server, use_tls=True) == 1
    assert len(mails) == 2


def drip(peer: Peer) -> None:
    while not peer.gone.is_set():
        peer.send(b"2")
        peer.pause(0.05)


def linger(peer: Peer, _command: bytes) -> None:
    """Each wait is short, their sum is not."""
    peer.pause(0.2)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("script", [drip, taking([], before=linger)], ids=["drip", "lingering"])
def test_a_server_that_takes_its_time_is_left(script: Script) -> None:
    with Server(script) as server:
        started_s = monotonic()
        with pytest.raises(smtplib.SMTPServerDisconnected):
            send(server)
        assert monotonic() - started_s < 60


@pytest.mark.usefixtures("hurried")
def test_a_server_that_does_not_say_good_bye_has_taken_the_mail() -> None:
    mails: list[bytes] = []

    def hang(peer: Peer, command: bytes) -> None:
        if command == b"QUIT":
            peer.gone.wait()

    with Server(taking(mails, before=hang)) as server:
        assert send(server) == 1


def test_a_conversation_ends_before_the_lease_of_its_delivery() -> None:
    assert LEASE.total_seconds() >= 2 * CONVERSATION_S
