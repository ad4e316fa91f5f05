"""A program that serves what a plan says: misbehaving servers, names, HTTP/3 and the issuer that a leaf points to.

A process of its own keeps time better than threads beside the engine that is under test.
"""

import os
import pickle
import socket
import sys
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from workers.tests.netlab.ahead import go_ahead
from workers.tests.netlab.chains import Chain
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.misbehaving import MisbehavingServer
from workers.tests.netlab.names import Entry, NameServer
from workers.tests.netlab.quic import QuicServer

# A thread that wants to answer waits no longer than this for one that computes.
_SWITCH_S = 0.0005
_BACKLOG = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """One misbehaving server; plain without a chain. It has the session keys of the one before it, or its own."""

    address: str
    port: int
    conduct: Conduct
    chain: Chain | None = None
    same_keys: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`authority` is the address at which any path on port 80 is `issuer`, DER; `ready_file` is made once all serve.
    `priority` is how much ahead of other work they are, 0 for not."""

    ready_file: Path
    names_address: str
    authority: str
    issuer: bytes
    names: dict[str, Entry]
    priority: int
    servers: tuple[Listening, ...] = ()
    quic: tuple[tuple[str, Chain], ...] = ()

    def write(self, path: Path) -> None:
        path.write_bytes(pickle.dumps(self))


class _Issuer(BaseHTTPRequestHandler):
    issuer = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/pkix-cert")
        self.send_header("Content-Length", str(len(self.issuer)))
        self.end_headers()
        self.wfile.write(self.issuer)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


def main(plan_file: str) -> None:
    sys.setswitchinterval(_SWITCH_S)
    plan: Plan = pickle.loads(Path(plan_file).read_bytes())
    go_ahead(plan.priority)
    life = _serve_names_apart(plan)
    with life, ExitStack() as stack:
        _Issuer.issuer = plan.issuer
        issuers = ThreadingHTTPServer((plan.authority, 80), _Issuer)
        threading.Thread(target=issuers.serve_forever, daemon=True).start()
        server: MisbehavingServer | None = None
        for one in plan.servers:
            family = socket.AF_INET6 if ":" in one.address else socket.AF_INET
            listener = socket.create_server((one.address, one.port), family=family, backlog=_BACKLOG)
            keys = server if one.same_keys else None
            server = stack.enter_context(MisbehavingServer(listener, one.conduct, one.chain, keys=keys))
        for address, chain in plan.quic:
            stack.enter_context(QuicServer(address, 443, chain))
        plan.ready_file.touch()
        # Until its lab ends it.
        threading.Event().wait()


def _serve_names_apart(plan: Plan) -> socket.socket:
    """In a process of its own, which no handshake keeps from answering. It ends with what is given back."""
    names = _name_socket(plan.names_address)
    ours, theirs = socket.socketpair()
    if os.fork():
        names.close()
        theirs.close()
        return ours
    ours.close()
    with NameServer(names, plan.names):
        theirs.recv(1)
    os._exit(0)


def _name_socket(address: str) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((address, 53))
    return sock


if __name__ == "__main__":
    main(sys.argv[1])
