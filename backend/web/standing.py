"""How a page says how something stands: a pill in lists, a headline at the top, each by a mark and words beside its
colour. `level` is the style's."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pill:
    level: str
    mark: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The verdict sentence at the top of a page."""

    level: str
    mark: str
    title: str
    text: str
