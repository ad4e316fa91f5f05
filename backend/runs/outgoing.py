"""From a pending run and its monitor to the message that goes to a region."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from backend.encryption import DecryptionError
from backend.sites import page_settings
from backend.sites.models import Monitor
from workers.measurement.connection import Header
from workers.measurement.evidence import Depth
from workers.measurement.messages import Kind, RunRequest
from workers.measurement.page_options import PLAIN, PageOptions
from workers.measurement.page_rules import parse_mapping
from workers.measurement.pair import PairTarget
from workers.measurement.profile import NATIVE, PROFILES
from workers.measurement.routes import Lane, key_prefix, queue_name
from workers.measurement.wire import encode

# In the order of `MonitorColumns`; `m` is the monitor, `r` the region.
MONITOR_SQL = """m.id, m.public_id, m.kind, m.url, m.timeout_s, m.profile, m.headers, m.accepted_status, m.body_text,
    m.ignore_certificate_errors, m.config_version, m.pair, m.page, r.id, r.code"""
MONITOR_WIDTH = 15
# `p` is the pending run.
LANE_SQL = "CASE WHEN p.urgent THEN 'now' WHEN p.trigger IN ('gate', 'cost') THEN 'gate' ELSE 'schedule' END"
PENDING_SQL = f"p.run_id, p.scheduled_for, p.attempt, p.expires_at, {LANE_SQL}, p.url, p.depth, p.mapping, p.without"


class MonitorColumns(NamedTuple):
    """What is measured and where, as it lies in the database. What is secret goes out only `at_home`."""

    monitor_pk: int
    monitor_id: UUID
    kind: str
    url: str
    timeout_s: int
    profile: str
    headers: str
    accepted_status: list[int]
    body_text: str
    ignore_certificate_errors: bool
    config_version: int
    pair: str | None
    page: str
    region_pk: int
    region: str
    at_home: bool = True
    mapping: str | None = None
    without: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Which execution of it."""

    run_id: UUID
    scheduled_for: datetime
    attempt: int
    expires_at: datetime
    lane: Lane
    depth: Depth = Depth.LIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A message that is ready to be published; `queue` is the whole key in the broker."""

    run_id: UUID
    queue: str
    expires_at: datetime
    timeout_s: int
    config_version: int
    message: bytes


class UnreadableSettingsError(RuntimeError):
    """What a monitor sends cannot be read: no key opens it, or another version wrote it."""


def outgoing(execution: Execution, monitor: MonitorColumns) -> Outgoing:
    """The message of one execution, with the monitor as it is configured now.

    Raises UnreadableSettingsError.
    """
    try:
        kind, other = Kind(monitor.kind), _other(monitor.pair)
        headers, page = _headers(monitor.headers) if monitor.at_home else (), _page(monitor)
    except (DecryptionError, ValueError) as error:
        # Without its context: nothing of what is stored has a place in a log.
        raise UnreadableSettingsError(str(error)) from None
    request = RunRequest(
        run_id=execution.run_id,
        monitor_id=monitor.monitor_id,
        kind=kind,
        url=monitor.url,
        region=monitor.region,
        scheduled_for=execution.scheduled_for,
        attempt=execution.attempt,
        expires_at=execution.expires_at,
        timeout_us=monitor.timeout_s * 1_000_000,
        urgent=execution.lane is Lane.NOW,
        config_version=monitor.config_version,
        profile=PROFILES.get(monitor.profile, NATIVE),
        headers=headers,
        accepted_status=tuple(monitor.accepted_status),
        body_text=monitor.body_text or None,
        ignore_certificate_errors=monitor.ignore_certificate_errors,
        other=other,
        depth=execution.depth,
        page=page,
    )
    return Outgoing(
        run_id=execution.run_id,
        queue=queue_key(monitor.region, monitor.kind, execution.lane),
        expires_at=execution.expires_at,
        timeout_s=monitor.timeout_s,
        config_version=monitor.config_version,
        message=encode(request),
    )


def entries_of_pending(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Execution, MonitorColumns]]:
    """What rows of MONITOR_SQL followed by PENDING_SQL say."""
    for row in rows:
        run_id, scheduled_for, attempt, expires_at, lane, url, depth, mapping, without = row[MONITOR_WIDTH:]
        execution = Execution(
            run_id=run_id,
            scheduled_for=scheduled_for,
            attempt=attempt,
            expires_at=expires_at,
            lane=Lane(lane),
            depth=Depth(depth),
        )
        monitor = MonitorColumns(*row[:MONITOR_WIDTH])._replace(without=without)
        yield execution, _mapped(mapping, _at(url, monitor))


def queue_key(region: str, kind: str, lane: Lane) -> str:
    """The broker's key of a region's queue."""
    return key_prefix(region) + queue_name(Kind(kind), lane)


def _at(url: str | None, monitor: MonitorColumns) -> MonitorColumns:
    """The monitor at another address."""
    return monitor if url is None else monitor._replace(url=url, at_home=is_same_server(url, monitor.url))


def _mapped(mapping: str | None, monitor: MonitorColumns) -> MonitorColumns:
    """With a host at another address, whose server was never told what is secret, nor may its scripts read it."""
    return monitor if mapping is None else monitor._replace(mapping=mapping, at_home=False)


def is_same_server(url: str, other: str) -> bool:
    """Whether scheme, host and port are the same, of canonical URLs."""
    return urlsplit(url)[:2] == urlsplit(other)[:2]


def _page(monitor: MonitorColumns) -> PageOptions:
    options = PLAIN
    if monitor.page:
        options = page_settings.read(Monitor._meta.get_field("page").from_db_value(monitor.page, None, None))
    if not monitor.at_home:
        options = page_settings.for_another_server(options)
    if monitor.without is not None:
        options = page_settings.once_without(options, monitor.without)
    return options if monitor.mapping is None else page_settings.mapped(options, parse_mapping(monitor.mapping))


def _headers(stored: str) -> tuple[Header, ...]:
    if not stored:
        return ()
    pairs = Monitor._meta.get_field("headers").from_db_value(stored, None, None)
    return tuple(Header(name=name, value=value) for name, value in pairs)


def _other(stored: str | None) -> PairTarget | None:
    """Raises ValueError for what this version does not understand."""
    try:
        return None if stored is None else PairTarget(**json.loads(stored))
    except TypeError:
        raise ValueError("the stored pair cannot be read: it holds what this version does not know") from None
