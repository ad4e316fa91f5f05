"""What changes regions and agents."""

import re
from datetime import datetime

from django.db import IntegrityError, transaction

from backend.accounts.audit import record
from backend.accounts.models import Organisation, User
from backend.accounts.room import hold
from backend.as_it_is import as_it_is
from backend.fleet import broker
from backend.fleet.credentials import Credentials, digest, new_credentials, shown_prefix
from backend.fleet.models import Agent, Region
from backend.texts import is_one_line
from workers.measurement.messages import Heartbeat
from workers.measurement.routes import REGION_PATTERN

# An agent names itself. A broken or stolen one must not fill the table; no region runs more hosts than this.
MAX_AGENTS = 200
MAX_REGIONS = 100
# No clock is three thousand years ahead, and the column holds no more than a hundred times that.
MAX_SKEW_US = 10**17


class RegionError(ValueError):
    """The region cannot be made or used so; the text is a sentence for people."""


class RegionNameError(RegionError):
    """The same, for what it shall be called."""


@transaction.atomic
def add_region(*, actor: User | None, organisation: Organisation | None, code: str, name: str) -> Credentials:
    """Makes a region with its broker account; the secrets are in the answer and nowhere else.

    `organisation` None: all share it. Raises RegionError, BrokerUnavailableError (then nothing is kept).
    """
    if not re.fullmatch(REGION_PATTERN, code):
        raise RegionError("Use 2 to 20 lower-case letters, digits and inner hyphens for the code, such as eu-west.")
    if not is_one_line(name.strip()):
        raise RegionNameError("The name must be one line without control characters.")
    if organisation is not None:
        hold(organisation)
    taken = RegionError(f"There is a region {code} already; choose another code.")
    if Region.objects.filter(code=code).exists():
        raise taken
    if Region.objects.filter(organisation=organisation).count() >= MAX_REGIONS:
        raise RegionError(f"There are {MAX_REGIONS} regions; no more can be added.")
    credentials = new_credentials(code)
    region = Region(code=code, name=name.strip()[:60] or code, organisation=organisation)
    try:
        with transaction.atomic():
            _store(region, credentials)
    except IntegrityError:
        # Of another organisation, which nobody held back.
        raise taken from None
    record("add_region", region, actor=actor, organisation=organisation, code=code)
    broker.write_account(region)
    return credentials


@transaction.atomic
def rotate_token(*, actor: User | None, region: Region) -> Credentials:
    """New secrets for a region; the old ones end at once. Raises RegionError when it was removed, and
    BrokerUnavailableError (then the old ones stay)."""
    region = _unless_removed(region)
    credentials = new_credentials(region.code)
    _store(region, credentials)
    record("rotate_token", region, actor=actor, organisation=region.organisation, code=region.code)
    broker.write_account(region)
    return credentials


@transaction.atomic
def remove_region(*, actor: User | None, region: Region) -> None:
    """Shuts a region out: its token and its broker account end. Its history stays, and so its code stays taken.

    Raises RegionError when it was removed before, and BrokerUnavailableError (then it stays).
    """
    region = _unless_removed(region)
    region.enabled = False
    region.save(update_fields=["enabled"])
    record("remove_region", region, actor=actor, organisation=region.organisation, code=region.code)
    broker.remove_account(region.broker_user)


@transaction.atomic
def restore_broker_accounts() -> int:
    """Makes the broker accounts that Redis lost, and gives all of them the rights of this version; how many were not
    so. Raises BrokerUnavailableError.
    """
    # Behind whoever gives a region new secrets at this moment, which would be undone.
    return broker.restore_accounts(Region.objects.select_for_update().filter(enabled=True).order_by("pk"))


def record_heartbeat(*, region: Region, heartbeat: Heartbeat, now: datetime) -> Agent:
    """Keeps what an agent told of itself; with the first of them its region has joined.

    Raises RegionError when the region has too many agents to be true.
    """
    name = _clean(heartbeat.agent, 100) or "agent"
    known = Agent.objects.filter(region=region, name=name).exists()
    if not known and Agent.objects.filter(region=region).count() >= MAX_AGENTS:
        raise RegionError(f"Region {region.code} has {MAX_AGENTS} agents; no more are taken.")
    told = {
        "version": _clean(heartbeat.agent_version, 40),
        "browser_version": _clean(heartbeat.browser_version, 80) if heartbeat.browser_version else None,
        "sandbox": heartbeat.browser_sandbox,
        "browser_fault": _clean(heartbeat.browser_fault, 300) if heartbeat.browser_fault else None,
        "spool_fault": _clean(heartbeat.spool_fault, 300) if heartbeat.spool_fault else None,
        "last_seen_at": now,
        "clock_skew_us": _skew_us(heartbeat, now),
        "holding": len(heartbeat.holding),
        "spooled": min(max(heartbeat.spooled, 0), 2**31 - 1),
    }
    agent, _ = Agent.objects.update_or_create(region=region, name=name, defaults=told)
    if region.joined_at is None:
        Region.objects.filter(pk=region.pk, joined_at=None).update(joined_at=now)
    return agent


def _skew_us(heartbeat: Heartbeat, now: datetime) -> int:
    """How far the agent's clock is ahead of ours. It knows that from our answers; that it is not further behind is all
    that reading its heartbeat proves, as nobody knows how long that lay unread."""
    read_us = round((heartbeat.sent_at - now).total_seconds() * 1_000_000)
    told_us = heartbeat.clock_ahead_us
    return read_us if told_us is None else max(read_us, min(told_us, MAX_SKEW_US))


def forget_agents(*, before: datetime) -> int:
    """Removes agents that were last seen before an instant; how many."""
    deleted, _ = Agent.objects.filter(last_seen_at__lt=before).delete()
    return deleted


def _unless_removed(region: Region) -> Region:
    """Until the end of the transaction nobody else changes it. Raises RegionError when somebody has removed it."""
    region = as_it_is(region)
    if not region.enabled:
        raise RegionError(f"Region {region.code} was removed; add another one.")
    return region


def _store(region: Region, credentials: Credentials) -> None:
    region.token_hash = digest(credentials.token)
    region.token_prefix = shown_prefix(credentials.token)
    region.broker_user = credentials.broker_user
    region.broker_password_hash = digest(credentials.broker_password)
    region.emptied_at = None
    region.save()


def _clean(text: str, limit: int) -> str:
    """An agent's words are a stranger's: printable and bounded (NUL alone would fail the whole statement)."""
    return "".join(char for char in text if char.isprintable())[:limit]
