"""Mail to the operator's server, whose whole conversation ends in time: what smtplib bounds is each wait alone."""

import smtplib
from time import monotonic
from typing import Any

from django.core.mail.backends.smtp import EmailBackend

from backend.deadlines import Timed, left_s

# For all of it; a server that makes strangers wait before its greeting takes a few seconds.
CONVERSATION_S = 30.0
# For a connection to one of the server's addresses.
CONNECT_S = 10.0


class TimedEmailBackend(EmailBackend):
    """As Django's, and a conversation that lasts longer than CONVERSATION_S is broken off."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"timeout": CONNECT_S} | options)

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return _OverTls if self.use_ssl else _Plain


class _Plain(smtplib.SMTP):
    def __init__(self, *args: Any, **options: Any) -> None:
        self._deadline_s = monotonic() + CONVERSATION_S
        super().__init__(*args, **options)

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            self.file = Timed(self.sock, self._deadline_s).makefile("rb")
        return super().getreply()

    def send(self, s: Any) -> None:
        """Breaks off as where the server does: who asks for nothing but the end need not hear of it."""
        if self.sock is not None:
            try:
                self.sock.settimeout(left_s(self._deadline_s))
            except TimeoutError:
                self.close()
        super().send(s)


class _OverTls(_Plain, smtplib.SMTP_SSL):
    """From the first byte."""
