"""Anything that was measured, and what is said of it, as far as colleagues and vendors may see it. Pure."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, TypeVar, cast

from workers.measurement.connection import Header
from workers.measurement.redaction import Masks, Redaction

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")


def masked(thing: T) -> T:
    """The same with every text in it masked at the standard level, wherever that stands.

    Texts that were equal stay equal, so that what names another is still found by its name.
    """
    return cast(T, _masked(thing, Masks(Redaction.STANDARD)))


def _masked(thing: object, masks: Masks) -> object:
    if isinstance(thing, Enum):
        return thing
    if isinstance(thing, str):
        return masks.bare(thing)
    if isinstance(thing, Header):
        return masks.header(thing)
    if isinstance(thing, tuple | list | set | frozenset):
        return type(thing)(_masked(one, masks) for one in thing)
    if isinstance(thing, Mapping):
        return {key: _masked(value, masks) for key, value in thing.items()}
    if is_dataclass(thing) and not isinstance(thing, type):
        return _of_fields(thing, masks)
    return thing


def _of_fields(thing: "DataclassInstance", masks: Masks) -> object:
    changed = {}
    for field in fields(thing):
        value = getattr(thing, field.name)
        new = _masked(value, masks)
        if new is not value and new != value:
            changed[field.name] = new
    return replace(thing, **changed) if changed else thing
