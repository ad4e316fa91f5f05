"""`firstbyte gate`: asks the service for a verdict on a release, and makes it the pipeline's exit code."""

import argparse
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workers.commands import EXIT_NOT_MEASURED, EXIT_OK, UsageError
from workers.commands.deploys import deploy_of
from workers.commands.output import say, write, write_json
from workers.commands.pipeline_addresses import address_of
from workers.commands.pipeline_api import Api, RefusedError, SilentError, UnreachableError, api_of
from workers.commands.pipeline_junit import junit_of, junit_of_no_gate
from workers.commands.pipeline_rules import parse_rule

_ENDED = frozenset({"done", "timeout", "cancelled"})
# The service answers as soon as there is a verdict; proxies close what is silent for a minute.
_WAIT_S = 45
# Beyond the service's own time: it may have ended the gate a moment after the deadline.
_GRACE_S = 60.0
_DEFAULT_RULE = "ttfb<=+10%"


class _TooLateError(UnreachableError):
    """The service answers, and its time is over without a verdict."""


def run(arguments: argparse.Namespace) -> int:
    """Asks, waits, tells, and gives the exit code. Raises UsageError."""
    body = _question(arguments)
    api = api_of(arguments.url, arguments.token, arguments.cacert)
    try:
        gate = _carry_out(api, body, arguments)
    except RefusedError as error:
        if error.is_usage:
            raise UsageError(str(error)) from error
        return _not_measured(str(error), arguments)
    except UnreachableError as error:
        return _not_measured(str(error), arguments)
    _report(gate, arguments)
    if not arguments.wait:
        return EXIT_OK
    code = gate.get("exit_code")
    return code if isinstance(code, int) else EXIT_NOT_MEASURED


def _question(arguments: argparse.Namespace) -> dict[str, Any]:
    """The body of the request. Raises UsageError."""
    # With warnings alone nothing could fail, which is hardly what a pipeline wants.
    rules = [parse_rule(text, level="fail") for text in arguments.rule or [_DEFAULT_RULE]]
    rules += [parse_rule(text, level="warn") for text in arguments.warn]
    return {
        "site": arguments.site,
        "rules": rules,
        "monitors": arguments.monitor,
        "deploy": deploy_of(arguments),
        "phase": "before" if arguments.before else "after",
        **_compared(arguments),
        "runs": {
            "per_region": arguments.runs,
            "max_per_region": max(arguments.max_runs, arguments.runs),
            "regions": arguments.region,
        },
        "confidence": arguments.confidence,
        "on_inconclusive": arguments.on_inconclusive,
        "timeout_s": arguments.timeout,
    }


def _compared(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the release is compared with. Raises UsageError."""
    if arguments.before and arguments.against:
        raise UsageError("--before and --against are for two gates, one before the release and one after it")
    if arguments.against_url or arguments.release_url:
        if arguments.before or arguments.against:
            raise UsageError("--against-url and --release-url compare two addresses within one gate")
        return {
            "baseline": {"mode": "url", **address_of("--against-url", arguments.against_url)},
            "release": address_of("--release-url", arguments.release_url),
        }
    against = {"mode": "gate", "gate": arguments.against} if arguments.against else {"window": arguments.window}
    return {"baseline": {"min_samples": arguments.min_samples, **against}}


def _carry_out(api: Api, body: Mapping[str, object], arguments: argparse.Namespace) -> dict[str, Any]:
    gate = api.post("gates", body)
    _say(f"gate {gate['id']} begun: {gate['url']}")
    if not arguments.wait:
        return gate
    try:
        return _await(api, gate, deadline=time.monotonic() + arguments.timeout + _GRACE_S)
    except (KeyboardInterrupt, SystemExit, _TooLateError):
        # Pipelines end what they give up by either signal.
        _cancel(api, gate)
        raise
    except RefusedError as error:
        # What was asked was right: it has begun.
        raise UnreachableError(str(error)) from error


def _await(api: Api, gate: dict[str, Any], *, deadline: float) -> dict[str, Any]:
    told = ""
    while gate["status"] not in _ENDED:
        if (sentence := _progress(gate)) != told:
            _say(told := sentence)
        if time.monotonic() > deadline:
            raise _TooLateError(f"the service has not ended gate {gate['id']} in time; is its judge running?")
        asked_at = time.monotonic()
        try:
            gate = api.get(f"gates/{gate['id']}", wait_s=_WAIT_S)
        except (SilentError, RefusedError) as error:
            # The gate goes on meanwhile, or once the service is back.
            if time.monotonic() > deadline or (isinstance(error, RefusedError) and error.is_usage):
                raise
            _say(f"{error}; asking on")
        # Who asks too often is not made to wait by the service, and waits here.
        if gate["status"] not in _ENDED and time.monotonic() - asked_at < 1.0:
            time.sleep(max(1, min(int(gate.get("poll_after_s") or 1), 30)))
    return gate


def _cancel(api: Api, gate: Mapping[str, Any]) -> None:
    """Best effort: who interrupts a pipeline does not want to wait."""
    try:
        api.post(f"gates/{gate['id']}/cancel")
    except (RefusedError, UnreachableError) as error:
        _say(f"the gate could not be cancelled: {error}")


def _progress(gate: Mapping[str, Any]) -> str:
    runs = gate["runs"]
    # What was asked for at the last look may still come in when it is over.
    now = min(runs["looks"] + 1, runs["planned_looks"])
    look = f", look {now} of {runs['planned_looks']}" if runs["planned_looks"] > 1 else ""
    return f"{gate['status']}: {runs['completed']} of {runs['planned']} runs{look}"


def _report(gate: Mapping[str, Any], arguments: argparse.Namespace) -> None:
    if arguments.json:
        write_json(gate)
    else:
        write("\n".join(_lines(gate)))
    report = str(gate.get("markdown_report") or "")
    if arguments.markdown is not None:
        _write(arguments.markdown, report, append=False)
    if arguments.junit is not None:
        _write(arguments.junit, junit_of(gate), append=False)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        _write(Path(summary), f"{report}\n", append=True)
    if output := os.environ.get("GITHUB_OUTPUT"):
        _write(Path(output), "".join(_outputs(gate)), append=True)


def _lines(gate: Mapping[str, Any]) -> list[str]:
    """For a terminal or a log."""
    lines = [f"{(gate['verdict'] or gate['status']).upper()}: {gate['summary'] or 'under way'}"]
    # The sentence about all of it begins with that of the rule that decided.
    told = [rule for rule in gate["rules"] if not (gate["summary"] or "").startswith(rule["sentence"])]
    lines += [f"  {rule['verdict'] or 'not judged'}: {rule['sentence']}" for rule in told]
    lines += [f"  note: {warning}" for warning in gate["warnings"]]
    return [*lines, f"  gate {gate['id']}", f"  {gate['url']}"]


def _outputs(gate: Mapping[str, Any]) -> list[str]:
    values = {
        "gate-id": gate["id"],
        "gate-url": gate["url"],
        "verdict": gate["verdict"] or "",
        "conclusion": gate["conclusion"] or "",
        "exit-code": "" if gate["exit_code"] is None else gate["exit_code"],
    }
    one_line: Callable[[object], str] = lambda value: " ".join(str(value).split())  # noqa: E731 (three words)
    return [f"{name}={one_line(value)}\n" for name, value in values.items()]


def _write(path: Path, text: str, *, append: bool) -> None:
    try:
        with path.open("a" if append else "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        # The verdict stands, whatever becomes of its report.
        _say(f"{path} cannot be written: {error}")


def _not_measured(why: str, arguments: argparse.Namespace) -> int:
    _say(why)
    if arguments.junit is not None:
        _write(arguments.junit, junit_of_no_gate(arguments.site, why), append=False)
    return EXIT_NOT_MEASURED


def _say(text: str) -> None:
    """Progress and faults, for people."""
    say(f"firstbyte gate: {text}")
