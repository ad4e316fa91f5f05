"""Which browsers a seat keeps beside each other."""

import asyncio
from typing import Any, cast

import pytest

from workers.browser.launch import ORDINARY, Launch
from workers.browser.seat import Seat
from workers.browser.session import Session
from workers.tests.browser.conftest import browser_settings


class Warm:
    """A browser that is always in order."""

    is_usable = True

    async def prove_cold_in_time(self) -> None:
        """It is."""

    async def close(self, *, stuck: bool = False) -> None:
        """At once."""


def test_both_browsers_of_an_experiment_stay_warm_beside_the_ordinary_one(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Launch] = []

    async def start(_seat: Seat, launch: Launch, _home: Any = None) -> Session:
        started.append(launch)
        return cast(Session, Warm())

    async def use(*launches: Launch) -> None:
        for launch in launches:
            await seat._ready(launch)

    monkeypatch.setattr(Seat, "_start_sound", start)
    seat = Seat(browser_settings())
    usual, without, other = (Launch(without=(host,)) for host in ("nobody.invalid", "tags.example", "b.example"))
    asyncio.run(use(ORDINARY, *[usual, without, ORDINARY, without, usual, ORDINARY] * 3))
    assert started == [ORDINARY, usual, without]
    asyncio.run(use(other, ORDINARY, usual, without))
    assert started[3:] == [other, without]
