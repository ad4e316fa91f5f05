"""What all bodies of the API have in common: closed inputs, milliseconds, UTC, and names that say the unit."""

from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from workers.measurement.target import MAX_URL_CHARS

Ms = Annotated[float, Field(description="Milliseconds, to the microsecond.")]
Bytes = Annotated[int, Field(description="Bytes.", ge=0)]
# Nothing was measured before, and the calendars of Python and PostgreSQL end not far behind the other end.
_EARLIEST, _LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


def _sane(at: datetime) -> datetime:
    if not _EARLIEST <= at <= _LATEST:
        raise ValueError("The time must lie between the years 2000 and 2100.")
    return at.astimezone(UTC)


Instant = Annotated[AwareDatetime, AfterValidator(_sane)]
RegionCode = Annotated[str, StringConstraints(min_length=2, max_length=20)]
Url = Annotated[str, StringConstraints(min_length=1, max_length=MAX_URL_CHARS)]

T = TypeVar("T", bound=BaseModel)


class In(BaseModel):
    """A body that is sent to us. A field that does not exist is a mistake, not ignored; so is "1" or true for 1."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Out(BaseModel):
    """A body that we send. Every field is there; what is not known is null."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)


class Page(Out, Generic[T]):
    """One page of a list. `next` is the cursor of the following one; null at the end."""

    items: list[T]
    next: str | None

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        return f"{params[0].__name__}Page"


def written(shape: BaseModel) -> bytes:
    """The JSON of a shape, straight from its fields."""
    return shape.__pydantic_serializer__.to_json(shape)
