"""What `probe` and `page` have in common: a run of one's own, outside any region."""

import argparse
import os
import shutil
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import IPv6Address, ip_network
from typing import TextIO
from uuid import uuid4

from workers.commands import EXIT_FAILED, EXIT_NOT_MEASURED, EXIT_OK, UsageError
from workers.commands.output import say, takes_all_letters
from workers.measurement.addresses import Network, parse_networks
from workers.measurement.canvas import Canvas
from workers.measurement.failure import Blame, Stage
from workers.measurement.messages import Early, Failed, Kind, Measured, ProbeMeasurement, ProgressStage, RunRequest
from workers.measurement.target import EVERY_PORT, TargetError, parse_target

# On one's own machine every address may be measured, as every port: there is nobody to protect from the caller.
EVERYWHERE: tuple[Network, ...] = (ip_network("0.0.0.0/0"), ip_network("::/0"))
# Where a terminal does not tell its size, it is as large as the first ones were.
_TERMINAL, _FILE = (80, 24), (100, 24)
# A deep probe makes about sixteen.
_TOLD_EACH = 5
_STAGES = {
    ProgressStage.CONNECTING: "connecting",
    ProgressStage.LOADING: "loading",
    ProgressStage.COMPUTING: "computing",
}


def request_of(arguments: argparse.Namespace, kind: Kind) -> RunRequest:
    """Raises UsageError for an address that cannot be measured by anybody."""
    return request_for(arguments.url, arguments, kind)


def request_for(url: str, arguments: argparse.Namespace, kind: Kind) -> RunRequest:
    """The same for a URL of its own."""
    try:
        target = parse_target(url, extra_ports=EVERY_PORT)
    except TargetError as error:
        raise UsageError(_better(url) or str(error)) from error
    now = datetime.now(UTC)
    return RunRequest(
        run_id=uuid4(),
        monitor_id=uuid4(),
        kind=kind,
        url=target.page_url if kind is Kind.PAGE else target.url,
        region="here",
        scheduled_for=now,
        attempt=1,
        expires_at=now + timedelta(hours=1),
        timeout_us=round(arguments.timeout * 1_000_000),
        urgent=True,
        ignore_certificate_errors=arguments.insecure,
    )


def _better(url: str) -> str | None:
    """What was probably meant by an address that is none."""
    scheme, apart, rest = url.rpartition("://")
    host, slash, path = rest.partition("/")
    with suppress(ValueError):
        return f"An IPv6 address stands in brackets: {scheme or 'https'}://[{IPv6Address(host)}]{slash}{path}"
    with suppress(TargetError):
        meant = parse_target(f"https://{url}", extra_ports=EVERY_PORT).page_url
        return None if apart else f"{url} lacks https:// or http://: write {meant}"
    return None


def allowed_of(arguments: argparse.Namespace) -> tuple[Network, ...]:
    """Every address, unless `--allow-private` names the private ranges that may be measured. Raises UsageError."""
    if not arguments.allow_private:
        return EVERYWHERE
    try:
        return parse_networks(",".join(arguments.allow_private))
    except ValueError as error:
        raise UsageError(f"--allow-private: {error}") from error


def tell(stage: ProgressStage, known: int | Early | None) -> None:
    """Progress for a person, on stderr."""
    if isinstance(known, Early):
        _tell_of(known.connections or 0, known.planned)
    elif stage in _STAGES:
        count = "" if known is None else f", {known} request{'' if known == 1 else 's'}"
        say(f"{_STAGES[stage]}{count} …")


def _tell_of(connections: int, planned: int | None) -> None:
    """Where a deep probe is: at its beginning, and at every fifth connection."""
    if planned is None:
        say("looking deeper …")
    elif connections % _TOLD_EACH == 0:
        say(f"looking deeper, {connections} of about {planned} connections …")


def exit_code(outcome: Measured | Failed) -> int:
    if isinstance(outcome, Measured):
        return EXIT_OK
    is_told = outcome.failure.stage is Stage.CHECK or _was_answered(outcome)
    return EXIT_FAILED if is_told and outcome.failure.blame is not Blame.MONITOR else EXIT_NOT_MEASURED


def _was_answered(outcome: Failed) -> bool:
    """Whether a probe was answered in spite of its certificate: then it is measured like any other."""
    probe = outcome.measurement
    hops = probe.hops if isinstance(probe, ProbeMeasurement) else ()
    return outcome.failure.stage is Stage.TLS and bool(hops) and hops[-1].status is not None


def canvas_of(stream: TextIO, *, everything: bool) -> Canvas:
    """As large as the terminal, without a line for the prompt, and in colour for terminals that want it. Files and
    pipes are 100 columns wide and as long as need be, unless COLUMNS and LINES are set.
    """
    is_terminal = stream.isatty()
    size = shutil.get_terminal_size(_TERMINAL if is_terminal else _FILE)
    ends = not everything and (is_terminal or bool(os.environ.get("LINES")))
    return Canvas(
        width=size.columns,
        rows=size.lines - 1 if ends else None,
        colour=is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        remedy="--all",
        letters=takes_all_letters(stream),
    )
