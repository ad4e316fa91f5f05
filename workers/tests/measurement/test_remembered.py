"""What is remembered of hostile chains is bounded by its bytes."""

import os
import threading
from collections.abc import Callable

import pytest

from workers.measurement.compute import certificate, chain, staple
from workers.measurement.compute.remembered import MOST_BYTES, remembered
from workers.probes import openssl

_LARGE_BYTES = 256 * 1024


def counting(calls: list[object]) -> Callable[[tuple[bytes, ...]], int | None]:
    @remembered
    def ask(chain: tuple[bytes, ...]) -> int | None:
        calls.append(chain)
        return len(chain[0]) or None

    return ask


@pytest.mark.parametrize("size", [0, 10])
def test_the_same_bytes_are_worked_on_once_whatever_comes_of_them(size: int) -> None:
    calls: list[object] = []
    ask = counting(calls)
    assert [ask((bytes(size),)) for _ in range(3)] == [size or None] * 3
    assert len(calls) == 1


def test_the_oldest_make_room_and_the_newest_stay() -> None:
    calls: list[object] = []
    ask = counting(calls)
    sent = [(number.to_bytes(4) * (_LARGE_BYTES // 4),) for number in range(MOST_BYTES // _LARGE_BYTES + 5)]
    for one in sent:
        ask(one)
    calls.clear()
    ask(sent[-1])
    assert calls == []
    ask(sent[0])
    assert calls == [sent[0]]


def test_what_is_larger_than_all_that_is_kept_is_answered_and_forgotten() -> None:
    calls: list[object] = []
    ask = counting(calls)
    for _ in range(2):
        assert ask((bytes(MOST_BYTES),)) == MOST_BYTES
    assert len(calls) == 2


def test_short_questions_are_not_kept_without_end() -> None:
    calls: list[object] = []
    ask = counting(calls)
    for number in range(MOST_BYTES // 1024 + 1):
        ask((number.to_bytes(4),))
    ask((bytes(4),))
    assert len(calls) == MOST_BYTES // 1024 + 2


def test_threads_that_ask_at_once_keep_the_count() -> None:
    calls: list[object] = []
    ask = counting(calls)
    sent = [(os.urandom(_LARGE_BYTES),) for _ in range(60)]
    threads = [threading.Thread(target=lambda: [ask(one) for one in sent]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ask(sent[-1])
    before = len(calls)
    ask(sent[-1])
    assert len(calls) == before


@pytest.mark.parametrize(
    "function",
    [
        certificate.certificate_of,
        chain.chain_certificates,
        chain.is_signed_by,
        chain.zlib_bytes,
        staple.read_staple,
        openssl.certificates_of,
    ],
)
def test_all_that_remembers_certificates_is_bounded_so(function: Callable[..., object]) -> None:
    assert function.__code__ is remembered(len).__code__
