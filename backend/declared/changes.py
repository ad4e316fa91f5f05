"""What is otherwise than it shall be, field by field, as values for doors. No secret is in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Document = Mapping[str, Any]


class Act(StrEnum):
    """`KEEP`: it would be deleted, if deleting was allowed."""

    CREATE = "create"
    CHANGE = "change"
    DELETE = "delete"
    KEEP = "keep"


class What(StrEnum):
    CHANNEL = "channel"
    SITE = "site"
    PROBE = "probe"
    PAGE = "page"
    PAIR = "pair"
    HOST = "host"
    RULE = "rule"
    MAINTENANCE = "maintenance"
    STATUS_PAGE = "status_page"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """`is_secret`: its text changes, which is told to nobody; before and after are None then."""

    name: str
    before: Any = None
    after: Any = None
    is_secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that is made, changed or deleted. `site` is None for what is for no single one, `name` what it is
    called.
    """

    act: Act
    what: What
    site: str | None
    name: str
    fields: tuple[FieldChange, ...] = ()


def differences(before: Document, after: Document) -> tuple[FieldChange, ...]:
    """The fields whose values differ, in the order of the documents; what one of them lacks is None there."""
    return tuple(
        FieldChange(name=name, before=before.get(name), after=after.get(name))
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    )
