"""How a page monitor's options are kept: as one document, since most monitors have none and nobody searches in them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from workers.measurement.page_options import PLAIN, HostMapping, PageOptions
from workers.measurement.target import EVERY_PORT, TargetError, parse_target

# What no page can ask for (RFC 6761, 6.4).
_NOBODY = "nobody.invalid"

_ADAPTER = TypeAdapter(PageOptions)
_PLAIN: dict[str, Any] = _ADAPTER.dump_python(PLAIN, mode="json")


def stored(options: PageOptions) -> dict[str, Any]:
    """What is kept of the options; nothing of plain ones."""
    document: dict[str, Any] = _ADAPTER.dump_python(options, mode="json")
    return {name: value for name, value in document.items() if value != _PLAIN[name]}


def read(document: dict[str, Any]) -> PageOptions:
    """The options that were stored. Raises ValueError for what this version does not understand."""
    if not document:
        return PLAIN
    try:
        options = _ADAPTER.validate_python(document)
    except ValidationError as error:
        raise ValueError(f"stored page options cannot be read: {error.error_count()} faults") from None
    return replace(
        options,
        host_map=tuple(replace(one, host=_host(one.host)) for one in options.host_map),
        black_holes=tuple(map(_host, options.black_holes)),
    )


def _host(kept: str) -> str:
    """What browsers were told of a host that may have been kept as an address, which `parse_host` takes no more.

    An agent would refuse the run, and the site would seem to fail.
    """
    if kept.startswith("[") or not set("/?:") & set(kept):
        return kept
    try:
        return parse_target(f"https://{kept.strip()}/", extra_ports=EVERY_PORT).host
    except TargetError:
        return kept


def mapped(options: PageOptions, mapping: HostMapping) -> PageOptions:
    """The options with that host at that address, wherever it was before."""
    others = (one for one in options.host_map if one.host != mapping.host)
    return replace(
        options,
        host_map=(*others, mapping),
        black_holes=tuple(host for host in options.black_holes if host != mapping.host),
    )


def once_without(options: PageOptions, hosts: Sequence[str]) -> PageOptions:
    """The options for a single first view without those hosts, which may be none, wherever they were before.

    Where none are it is made without a host that nobody has: both kinds of loads then come from browsers of their own,
    which agents start alike. The ordinary one is warm on each agent, and the first load of a new one is later.
    """
    return replace(
        options,
        host_map=tuple(one for one in options.host_map if one.host not in hosts),
        black_holes=tuple(host for host in options.black_holes if host not in hosts),
        without=tuple(hosts) or (_NOBODY,),
        loads=1,
        repeat=None,
    )


def mapping_text(mapping: HostMapping) -> str:
    """As `workers.measurement.page_rules.parse_mapping` reads it."""
    address = f"[{mapping.address}]" if ":" in mapping.address and mapping.port else mapping.address
    return f"{mapping.host}={address}" + (f":{mapping.port}" if mapping.port else "")


def for_another_server(options: PageOptions) -> PageOptions:
    """The options without what only the monitor's own server may see."""
    return replace(options, cookies=(), login=None, steps=())
