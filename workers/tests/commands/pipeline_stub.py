"""A service that answers a pipeline as a test says, one prepared answer after the other."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from workers.cli import main
from workers.tests.local_server import LocalServer

GATE_ID = "7f0c6a54-2b54-4ff2-8f19-111111111111"


class Asked(NamedTuple):
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class Said(NamedTuple):
    """An answer as it goes; `body` None hangs up without one, `is_cut` in the middle of it."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = {}
    is_cut: bool = False


@dataclass
class Stub(LocalServer):
    """Gives `answers` in order, the last one again and again; `asked` is what came."""

    answers: list[Said]
    asked: list[Asked] = field(default_factory=list)

    def handler(self) -> type[BaseHTTPRequestHandler]:
        return _handler(self)

    def next(self) -> Said:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def ask(stub: Stub, *arguments: str) -> int:
    """The exit code of `firstbyte gate`."""
    return main(["gate", "--url", stub.url, "--site", "shop", *arguments])


def gate(status: str = "done", verdict: str | None = "pass", exit_code: int | None = 0, **more: object) -> Said:
    """An answer with a gate."""
    body = {
        "id": GATE_ID,
        "status": status,
        "verdict": verdict,
        "exit_code": exit_code,
        "conclusion": None if exit_code is None else {0: "success", 1: "failure"}.get(exit_code, "neutral"),
        "summary": "First byte +1.0 % (0.5 to +4.0 %), limit +10 %.",
        "url": f"https://monitor.example/gates/{GATE_ID}/",
        "runs": {"planned": 12, "completed": 4, "looks": 0, "planned_looks": 3},
        "rules": [{"verdict": verdict, "sentence": "First byte +1.0 %, limit +10 %."}],
        "warnings": [],
        "markdown_report": "### ✅ pass: Shop\n",
        "poll_after_s": 1,
    }
    return Said(202 if status == "queued" else 200, body | more)


def begun() -> Said:
    return gate("queued", None, None)


def problem(status: int, detail: str, *faults: tuple[str, str], **headers: str) -> Said:
    """An error as the service tells it."""
    errors = [{"pointer": pointer, "detail": text} for pointer, text in faults]
    body = {"type": "/api/v1/problems/x", "title": "No", "status": status, "detail": detail, "errors": errors}
    return Said(status, body, headers)


def _handler(stub: Stub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: tests have their own words."""

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            stub.asked.append(Asked(self.command, self.path, dict(self.headers.items()), body))
            said = stub.next()
            if said.body is None and said.status == 200:
                self.close_connection = True
                return
            content = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
            self.send_response(said.status)
            for name, value in {"Content-Length": str(len(content)), **said.headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if said.is_cut else content)
            self.close_connection = self.close_connection or said.is_cut

    return Handler
