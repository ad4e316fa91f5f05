"""What all small servers of the lab are: a listening socket, and a thread for each connection."""

import socket
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from types import TracebackType
from typing import Self

_POLL_S = 0.1


class Listening(ABC):
    """Serves the connections of a listening socket until its `with` block ends; `closing` tells those under way."""

    def __init__(self, listener: socket.socket) -> None:
        self.port: int = listener.getsockname()[1]
        self.connections = 0
        self.closing = threading.Event()
        self._listener = listener
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._listener.settimeout(_POLL_S)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._thread.join()
        self._listener.close()

    @abstractmethod
    def serve(self, sock: socket.socket, number: int) -> None:
        """Serves one connection and closes it; `number` counts them from 0."""

    def _accept(self) -> None:
        while not self.closing.is_set():
            with suppress(TimeoutError):
                sock, _ = self._listener.accept()
                thread = threading.Thread(target=self.serve, args=(sock, self.connections), daemon=True)
                # Before it is served: who has an answer finds it counted.
                self.connections += 1
                thread.start()
