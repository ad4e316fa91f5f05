"""Stored secrets, encrypted anew with the first of FIRSTBYTE_FERNET_KEYS, so that older keys can be taken away."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from allauth.mfa.models import Authenticator
from django.apps import apps
from django.db import connection

from backend.api.models import KeptAnswer
from backend.encryption import DecryptionError, EncryptedJSONField, renewed
from backend.runs.sql import execute, fetch

_AT_ONCE = 500


@dataclass(slots=True)
class Counts:
    """How many secrets of one place were encrypted anew, and how many no key opens: those stay as they are."""

    place: str
    anew: int = 0
    unreadable: int = 0


def encrypt_anew() -> Iterator[Counts]:
    """Place by place. Any time, and beside a service that has the new key already: what changes meanwhile is left."""
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, EncryptedJSONField):
                yield _of_column(model._meta.db_table, str(field.column))
    yield _of_column(KeptAnswer._meta.db_table, "body")
    yield _of_second_factors()


def _of_column(table: str, column: str) -> Counts:
    counts, last = Counts(f"{table}.{column}"), 0
    names = {"table": connection.ops.quote_name(table), "column": connection.ops.quote_name(column)}
    some = "SELECT id, {column} FROM {table} WHERE id > %s AND {column} <> '' ORDER BY id LIMIT %s".format(**names)
    one = "UPDATE {table} SET {column} = %s WHERE id = %s AND {column} = %s".format(**names)
    while rows := fetch(some, (last, _AT_ONCE)):
        for pk, before in rows:
            after = _renewed(before, counts)
            if after != before:
                counts.anew += execute(one, (after, pk, before))
        last = rows[-1][0]
    return counts


def _of_second_factors() -> Counts:
    counts = Counts("second factors")
    for factor in Authenticator.objects.order_by("pk").iterator(_AT_ONCE):
        after = {name: _renewed_within(value, counts) for name, value in factor.data.items()}
        if after != factor.data:
            counts.anew += Authenticator.objects.filter(pk=factor.pk, data=factor.data).update(data=after)
    return counts


def _renewed_within(value: Any, counts: Counts) -> Any:
    """Secrets are texts, or lists of them; all else says how they are used."""
    if isinstance(value, list):
        return [_renewed_within(one, counts) for one in value]
    return _renewed(value, counts) if isinstance(value, str) else value


def _renewed(sealed: Any, counts: Counts) -> Any:
    """Of what the database gives for a column: a text, or bytes."""
    try:
        if isinstance(sealed, str):
            return renewed(sealed.encode()).decode()
        return renewed(bytes(sealed))
    except DecryptionError:
        counts.unreadable += 1
        return sealed
