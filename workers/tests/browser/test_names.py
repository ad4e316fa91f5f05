"""Who delivered a page, where only the name of a host tells."""

import threading

import pytest

from workers.browser.names import Names
from workers.measurement.connection import Header
from workers.measurement.messages import Measured, PageMeasurement
from workers.measurement.page_options import HostMapping, PageOptions
from workers.measurement.timing import Timing
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, ResourceType, TimingSource, Waterfall
from workers.tests.builders import build_request
from workers.tests.waiting import wait_for

SHOP = "www.shop.example"
ALIASES = {SHOP: "www.shop.example.edgekey.net"}


def row(host: str, address: str = "93.184.215.14", **headers: str) -> Request:
    return Request(
        number=1,
        url=f"https://{host}/",
        method="GET",
        resource_type=ResourceType.DOCUMENT,
        timing=Timing(start_us=0),
        timing_source=TimingSource.NETLOG,
        status=200,
        address=address,
        response_headers=tuple(Header(name=name, value=value) for name, value in headers.items()),
    )


def delivered(names: Names, *rows: Request, page: PageOptions | None = None) -> dict[str, str | None]:
    outcome = Measured(measurement=PageMeasurement(waterfall=Waterfall(requests=rows, connections=()), vitals=Vitals()))
    found = names.delivered(outcome, build_request(page=page or PageOptions())).measurement
    assert isinstance(found, PageMeasurement)
    return {one.host: one.cdn for one in found.deliveries}


def test_a_name_is_asked_for_once_an_hour_where_nothing_else_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing here is about answers that come too late for their run.
    monkeypatch.setattr("workers.browser.names._PATIENCE_S", 120.0)
    asked: list[str] = []
    clock = [0.0]

    def ask(host: str) -> str | None:
        asked.append(host)
        return ALIASES.get(host)

    names = Names(ask, lambda: clock[0])
    rows = (row(SHOP), row("api.shop.example"), row("cdn.shop.example", server="cloudflare"))
    expected = {SHOP: "Akamai", "api.shop.example": None, "cdn.shop.example": "Cloudflare"}
    assert delivered(names, *rows) == expected
    assert delivered(names, *rows) == expected
    assert sorted(asked) == ["api.shop.example", SHOP]
    clock[0] = 3600.0
    assert delivered(names, *rows) == expected
    assert len(asked) == 4
    names.close()


def test_nobody_is_asked_of_hosts_inside_or_of_those_that_were_led_elsewhere() -> None:
    asked: list[str] = []
    names = Names(lambda host: asked.append(host))
    led = PageOptions(host_map=(HostMapping(host=SHOP, address="93.184.215.20"),))
    assert delivered(names, row(SHOP, "10.0.0.8"), row("two.example", "127.0.0.1")) == {SHOP: None, "two.example": None}
    assert delivered(names, row(SHOP), page=led) == {SHOP: None}
    assert asked == []
    names.close()


def test_an_answer_that_takes_long_serves_the_next_run() -> None:
    release, learnt = threading.Event(), threading.Event()

    def ask(host: str) -> str | None:
        release.wait(120)
        learnt.set()
        return ALIASES[host]

    names = Names(ask)
    assert delivered(names, row(SHOP)) == {SHOP: None}
    release.set()
    assert learnt.wait(120)
    wait_for(lambda: delivered(names, row(SHOP)) == {SHOP: "Akamai"}, "the answer to be known")
    names.close()
