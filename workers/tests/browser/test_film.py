"""A film is asked once more how the page looks at its end, unless its last frame must be how it looks."""

import asyncio
import base64
from collections.abc import Callable
from typing import Any, cast

from playwright.async_api import CDPSession

from workers.browser.film import Film
from workers.measurement.captures_sight import ScreenFrame

Listener = Callable[[dict[str, Any]], None]
LAST = b"last"


class Screen:
    """DevTools with a screen: it sends what is shown when a cast begins, and nothing any more when it has ended."""

    def __init__(self) -> None:
        self.shown = b"first"
        self.begun = 0
        self.now_s = 100.0
        self._casting = False
        self._listener: Listener | None = None

    def on(self, _event: str, listener: Listener) -> None:
        self._listener = listener

    def remove_listener(self, _event: str, _listener: Listener) -> None:
        self._listener = None

    async def send(self, method: str, _params: object = None) -> None:
        if method == "Page.startScreencast":
            self.begun += 1
            self._casting = True
            self.show(self.shown)
        elif method == "Page.stopScreencast":
            self._casting = False

    def show(self, picture: bytes) -> None:
        self.shown = picture
        if not self._casting or self._listener is None:
            return
        data = base64.b64encode(picture).decode()
        self._listener({"data": data, "sessionId": 1, "metadata": {"timestamp": self.now_s}})


def filmed(play: Callable[[Screen], Any]) -> tuple[Screen, tuple[ScreenFrame, ...]]:
    async def run() -> tuple[Screen, tuple[ScreenFrame, ...]]:
        screen = Screen()
        film = Film(cast(CDPSession, screen), lambda: screen.now_s)
        await film.start()
        await play(screen)
        return screen, await film.finish()

    return asyncio.run(run())


async def acknowledged() -> None:
    """What the film has to say has been said."""
    for _ in range(3):
        await asyncio.sleep(0)


def test_a_frame_made_after_all_others_were_acknowledged_is_the_last() -> None:
    async def play(screen: Screen) -> None:
        await acknowledged()
        screen.now_s += 0.1
        screen.show(LAST)

    screen, frames = filmed(play)
    assert screen.begun == 1
    assert [frame.picture for frame in frames] == [b"first", LAST]


def test_a_frame_made_before_the_one_ahead_of_it_was_acknowledged_may_not_be_the_last() -> None:
    async def play(screen: Screen) -> None:
        screen.now_s += 0.1
        screen.show(b"second")
        screen.shown = LAST

    screen, frames = filmed(play)
    assert screen.begun == 2
    assert [frame.picture for frame in frames] == [b"first", b"second", LAST]


def test_a_frame_made_at_the_instant_of_an_acknowledgement_may_not_be_the_last() -> None:
    async def play(screen: Screen) -> None:
        await acknowledged()
        screen.show(b"second")
        screen.shown = LAST

    screen, frames = filmed(play)
    assert screen.begun == 2
    assert frames[-1].picture == LAST


def test_a_frame_still_on_its_way_at_the_end_is_waited_for_where_there_is_no_other_and_keeps_its_instant() -> None:
    async def play(screen: Screen) -> None:
        await acknowledged()
        screen.now_s += 0.1
        asyncio.get_running_loop().call_later(0.05, screen.show, LAST)

    _screen, frames = filmed(play)
    assert [(frame.picture, frame.wall_s) for frame in frames] == [(b"first", 100.0), (LAST, 100.1)]


def test_a_page_that_shows_nothing_has_a_film_of_what_was_there_before_it() -> None:
    screen, frames = filmed(lambda _screen: acknowledged())
    assert screen.begun == 1
    assert [frame.picture for frame in frames] == [b"first"]
