"""A row as it is now: what an action changes by what it was, it reads again under a lock."""

from typing import TypeVar

from django.db.models import Model

Row = TypeVar("Row", bound=Model)


def as_it_is(row: Row, *related: str) -> Row:
    """The row of the database, with what it refers to by these names; inside a transaction, until whose end nobody else
    changes or deletes it. Who only refers to it is not held up, nor who changes what it refers to.

    Raises the model's DoesNotExist when it was deleted meanwhile.
    """
    rows = type(row)._default_manager.select_for_update(no_key=True, of=("self",))
    return rows.select_related(*related).get(pk=row.pk)
