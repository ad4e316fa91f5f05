"""Stretches of time, held against sets of the instants that they cover."""

from hypothesis import given
from hypothesis import strategies as st

from backend.analysis.spans import Spans, common, length_us, union, without

_SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=8)


def _instants(spans: Spans) -> set[int]:
    return {at for since, until in spans for at in range(since, until)}


def _is_in_order(spans: Spans) -> bool:
    flat = [at for span in spans for at in span]
    return flat == sorted(set(flat))


@given(_SPANS, _SPANS)
def test_what_either_of_two_covers_is_their_union(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    merged = union(one, other)

    assert _instants(merged) == _instants(tuple(one)) | _instants(tuple(other))
    assert _is_in_order(merged)


@given(_SPANS, _SPANS)
def test_what_both_of_two_cover_is_common_to_them(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    found = common(union(one), union(other))

    assert _instants(found) == _instants(tuple(one)) & _instants(tuple(other))
    assert _is_in_order(found)


@given(_SPANS, _SPANS)
def test_what_one_covers_without_another_is_its_rest(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    rest = without(union(one), union(other))

    assert _instants(rest) == _instants(tuple(one)) - _instants(tuple(other))
    assert _is_in_order(rest)


@given(_SPANS)
def test_the_length_is_of_every_instant_once(spans: list[tuple[int, int]]) -> None:
    assert length_us(union(spans)) == len(_instants(tuple(spans)))
