"""When a page load is at rest, from what DevTools tells of its requests."""

from typing import Any

from workers.browser.recorder import WORKER_BEGAN, Recorder

_SCRIPT = "https://shop.test/worker.js"


def recorder_of(*events: tuple[str, dict[str, Any]]) -> Recorder:
    recorder = Recorder(lambda: 0.0)
    for method, params in events:
        recorder.take(method, params)
    return recorder


def asked(request_id: str, url: str) -> tuple[str, dict[str, Any]]:
    return "Network.requestWillBeSent", {"requestId": request_id, "type": "Script", "request": {"url": url}}


def test_a_worker_that_began_has_its_script_although_nobody_heard_of_its_end() -> None:
    """Its end is told to who was attached to the worker in time."""
    began = (WORKER_BEGAN, {"targetInfo": {"type": "worker", "url": _SCRIPT}})
    assert not recorder_of(asked("1", _SCRIPT)).is_idle
    assert recorder_of(asked("1", _SCRIPT), began).is_idle
    assert not recorder_of(asked("1", _SCRIPT), asked("2", "https://shop.test/slow.js"), began).is_idle
    assert recorder_of(asked("1", _SCRIPT), began, ("Network.loadingFinished", {"requestId": "1"})).is_idle
