"""Pages of a list: where one ended is in the cursor of the next, signed, so that nobody builds one by hand."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

from django.core import signing
from ninja import Query
from pydantic import BaseModel

from backend.api.v1.access import ApiRequest
from backend.api.v1.problems import ProblemError, invalid
from backend.api.v1.shapes import Page

MAX_LIMIT = 100

Limit = Annotated[int, Query(50, ge=1, le=MAX_LIMIT, description="How many at most.")]
Cursor = Annotated[str, Query("", max_length=500, description="`next` of the page before; without it the list begins.")]

Row = TypeVar("Row")
Shape = TypeVar("Shape", bound=BaseModel)
Position = list[Any]


def position_of(request: ApiRequest, cursor: str) -> Position | None:
    """Where the page begins: what `page_of` was told of the last row. None for the first. Raises ProblemError."""
    if not cursor:
        return None
    try:
        position = signing.loads(cursor, salt=_salt(request))
    except (signing.BadSignature, ValueError) as error:
        raise _unknown() from error
    return position if isinstance(position, list) else None


def number_of(request: ApiRequest, cursor: str) -> int | None:
    """The same for a list in the order of a number, which is all that `page_of` was told."""
    position = position_of(request, cursor)
    return None if position is None else int(position[0])


def moment_of(request: ApiRequest, cursor: str) -> tuple[datetime, int] | None:
    """The same for a list in the order of time, told as ISO 8601, and of a number."""
    position = position_of(request, cursor)
    return None if position is None else (datetime.fromisoformat(position[0]), int(position[1]))


def page_of(
    request: ApiRequest,
    rows: Sequence[Row],
    page: type[Page[Shape]],
    *,
    limit: int,
    shape: Callable[[Row], Shape],
    key: Callable[[Row], Position],
) -> Page[Shape]:
    """The page of the first `limit` of the rows; ask for one row more, so that it is known whether there is another.

    `page` is the page's own type (`Page[Deploy]`). `key` gives what `position_of` will give for the next page: JSON
    values that say where a row stands in the order.
    """
    shown = rows[:limit]
    following = signing.dumps(key(shown[-1]), salt=_salt(request)) if len(rows) > limit else None
    if following is not None:
        request.out["Link"] = f'<{_next_url(request, following)}>; rel="next"'
    return page(items=[shape(row) for row in shown], next=following)


def _next_url(request: ApiRequest, cursor: str) -> str:
    """The same filters further on."""
    query = {name: values for name, values in request.GET.lists() if name != "cursor"}
    return f"{request.path}?{urlencode({**query, 'cursor': cursor}, doseq=True)}"


def _salt(request: ApiRequest) -> str:
    """A cursor is good for one list of one organisation."""
    return f"cursor {request.caller.organisation.pk} {request.path}"


def _unknown() -> ProblemError:
    return invalid("?cursor", "This is no cursor of this list. Begin without one.")
