"""The API as a stranger's tool reads its description: no 5xx, and nothing that the description does not promise.

schemathesis calls a real server over HTTP, from a seed, with what the description allows and with what it forbids:
wrong types, hostile texts, huge numbers, missing and doubled fields, methods that do not exist. Everything it names in
a path is there, so that it gets further than "not found".
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import connection

from backend.api.tests.v1.calling import make_token
from backend.api.tests.v1.examples import VALUES
from backend.api.tests.v1.world import World, make_world
from backend.api.v1 import api
from backend.api.v1.openapi import TARGET, document
from backend.cast import Member
from backend.emptying import alone_in_the_database
from backend.testing import wait_until

SEED, EXAMPLES, TIMEOUT_S = 20261121, 3, 600
# That a token is asked for, and which, is walked elsewhere. Not `positive_data_acceptance`: a description cannot say
# that a period begins before it ends.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "allow_header_conformance",
)
REFUSALS = [400, 401, 403, 404, 405, 409, 411, 413, 414, 415, 422, 429]
# Two halves of the same size, for two processes.
TAGS = sorted({operation["tags"][0] for path in document(api)["paths"].values() for operation in path.values()})
HALVES = [TAGS[0::2], TAGS[1::2]]


@contextmanager
def web() -> Iterator[str]:
    """The address of gunicorn with the product as it is, on the test's own database."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [
            sys.executable, "-m", "gunicorn", "backend.wsgi", "--bind", f"fd://{listener.fileno()}",
            "--worker-class", "gthread", "--threads", "4", "--no-control-socket",
        ]  # fmt: skip
        environment = os.environ | {
            "FIRSTBYTE_DB_NAME": connection.settings_dict["NAME"],
            "FIRSTBYTE_DB_POOL_SIZE": "4",
            "FIRSTBYTE_API_REQUESTS_PER_MINUTE": "1000000",
        }
        heard = [listener.fileno()]
        with subprocess.Popen(command, env=environment, pass_fds=heard, stderr=subprocess.DEVNULL) as server:
            try:
                yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            finally:
                server.terminate()
    wait_until(alone_in_the_database, "the server's last connection to end")


def config_of(world: World, folder: Path) -> Path:
    """Where real objects are. Deletions find none, so that there is always something to find; and nobody waits."""
    real = {f"path.{name}": str(value(world)) for name, value in VALUES.items() if "." not in name}
    path = folder / "schemathesis.toml"
    path.write_text(
        f"{_parameters(real | {'query.wait': '0'})}\n"
        '[phases.coverage]\nunexpected-methods = ["TRACE"]\n'
        # The server itself refuses an address that is too long for it.
        f"[checks]\nnegative_data_rejection.expected-statuses = {REFUSALS}\n"
        f'[[operations]]\ninclude-method = "DELETE"\n{_parameters({name: str(uuid4()) for name in real})}\n'
    )
    return path


def _parameters(values: dict[str, str]) -> str:
    return "parameters = { " + ", ".join(f'"{name}" = "{value}"' for name, value in values.items()) + " }"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("tags", HALVES, ids=["one half", "the other half"])
def test_a_stranger_finds_no_fault_and_no_surprise(alice: Member, tmp_path: Path, tags: list[str]) -> None:
    world = make_world(alice)
    options = [
        f"--seed={SEED}",
        f"--max-examples={EXAMPLES}",
        "--phases=examples,coverage,fuzzing",
        f"--checks={','.join(CHECKS)}",
        f"--header=Authorization: Bearer {make_token(alice)}",
        *(f"--include-tag={tag}" for tag in tags),
        "--warnings=off",
        "--request-timeout=120",
        "--generation-database=none",
        "--continue-on-failure",
    ]
    tool = [sys.executable, "-m", "schemathesis.cli", f"--config-file={config_of(world, tmp_path)}"]
    with web() as url:
        done = subprocess.run(
            [*tool, "run", str(TARGET), f"--url={url}", *options],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            cwd=tmp_path,
            env=os.environ | {"COLUMNS": "160"},
            check=False,
        )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
