"""Strategies for any evidence that the types allow, plausible or not: for rules that must never raise."""

from collections.abc import Hashable
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from workers.measurement.connection import Header
from workers.measurement.evidence import ProbeEvidence, TrialEvidence
from workers.measurement.messages import Hop
from workers.measurement.timing import Span, Timing
from workers.tests.diagnosis.sites import ALT_SVC, HOST, HSTS, deep_site, light_site

T = TypeVar("T")
# Words that rules look for, and some that they do not.
_WORDS = (
    HOST,
    "TLSv1.2",
    "TLSv1.3",
    "h2",
    "h3",
    "http/1.1",
    "X25519",
    "X25519MLKEM768",
    "RSA",
    "EC",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "AES128-SHA",
    f"CN={HOST}",
    "CN=Issuing CA",
    "NOERROR",
    "HTTPS",
    "",
    "\u2028\ud7ff",
)
_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
_INSTANTS = st.integers(0, 50 * 365 * 86_400).map(lambda seconds: _BEGINNING + timedelta(seconds=seconds))
_NUMBERS = st.sampled_from((0, 1, 200, 301, 443, 1_500, 8_000, 20_000, 80_000, 16_384)) | st.integers(0, 10**9)
_URLS = st.sampled_from(("https://www.example.org/", "http://www.example.org/", "http://[::1", "//x:99999/", "", "?"))
_LOCATION = Header(name="Location", value="https://www.example.org/")
# Headers that rules read, and what only a hostile server says in them.
READ = ("Age", "Alt-Svc", "Cache-Control", "Connection", "Date", "Keep-Alive", "Location", "Server", "Server-Timing")
SAID = (
    "Sat, 21 Nov 2026 12:00:00 GMT",
    "Sat, 21 Nov 99999999999999999999 12:00:00 GMT",
    "Fri, 31 Dec 9999 23:59:59 -1200",
    "-1",
    "\u00b2",
    "9" * 2_000,
    "max-age=\u00b2",
    'h3=":\u00b2"',
    "db;dur=1e999",
    "timeout=" + "9" * 500,
)
_HEADERS = (
    st.sampled_from((HSTS, ALT_SVC, _LOCATION))
    | st.builds(Header, name=st.text(max_size=9), value=_URLS)
    | st.builds(Header, name=st.sampled_from(READ), value=st.sampled_from(SAID) | _URLS)
)


def evidence() -> st.SearchStrategy[ProbeEvidence]:
    """Anything at all, and faultless sites in which some connections are anything."""
    return of(ProbeEvidence) | st.builds(_spoiled, st.sampled_from((deep_site(), light_site())), st.lists(_TRIALS))


def hops() -> st.SearchStrategy[tuple[Hop, ...]]:
    return st.lists(
        st.builds(
            Hop,
            url=_URLS,
            connection=st.integers(1, 3),
            timing=st.builds(_timing, st.lists(st.integers(0, 10**6), min_size=8, max_size=8)),
            status=st.none() | st.sampled_from((200, 204, 301, 308, 404, 503)),
            response_headers=st.lists(_HEADERS, max_size=3).map(tuple),
        ),
        max_size=4,
    ).map(tuple)


def of(kind: type[T]) -> st.SearchStrategy[T]:
    """Any value of that dataclass, its numbers not negative, its lists short."""
    strategy: st.SearchStrategy[T] = _of(cast(Hashable, kind))
    return strategy


@cache
def _of(kind: Any) -> st.SearchStrategy[Any]:
    known: dict[Any, st.SearchStrategy[Any]] = {
        bool: st.booleans(),
        int: _NUMBERS,
        str: st.sampled_from(_WORDS),
        datetime: _INSTANTS,
        NoneType: st.none(),
        Header: _HEADERS,
    }
    if kind in known:
        return known[kind]
    if get_origin(kind) in (Union, UnionType):
        return st.one_of([_of(one) for one in get_args(kind)])
    if get_origin(kind) is tuple:
        return st.lists(_of(get_args(kind)[0]), max_size=4).map(tuple)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    assert isinstance(kind, type), f"no strategy for {kind}"
    assert is_dataclass(kind), f"no strategy for {kind}"
    hints = get_type_hints(kind)
    return st.builds(kind, **{field.name: _of(hints[field.name]) for field in fields(kind)})


def _timing(lengths_us: list[int]) -> Timing:
    names = ("dns", "connect", "tls", "send", "wait", "download")
    at_us, spans = lengths_us[0], {}
    for name, length_us in zip(names, lengths_us[1:], strict=False):
        if length_us % 3:
            spans[name] = Span(start_us=at_us, end_us=at_us + length_us)
            at_us += length_us
    return Timing(start_us=lengths_us[0], end_us=at_us if lengths_us[7] % 3 else None, **spans)


_TRIALS = of(TrialEvidence)


def _spoiled(site: ProbeEvidence, trials: list[TrialEvidence]) -> ProbeEvidence:
    return replace(site, trials=(*site.trials[len(trials) :], *trials))
