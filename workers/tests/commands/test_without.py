"""`firstbyte without` as people and scripts use it: a process, real servers on loopback."""

import json
from collections.abc import Iterator
from subprocess import CompletedProcess

import pytest

from workers.commands.parser import parse
from workers.tests.browser.sites import SCRIPT, Site, serving
from workers.tests.commands.published import must_fit
from workers.tests.commands.test_cli import firstbyte
from workers.tests.ports import closed_port

_TRIES = 5


@pytest.fixture
def site() -> Iterator[Site]:
    """A page that asks another name of its machine for a script."""
    with serving({"/s.js": SCRIPT}, secure=False) as site:
        site.page("/", f"<script src={site.url('/s.js', host='127.0.0.1')}></script><h1>Hello</h1>")
        yield site


def a_pair(site: Site) -> CompletedProcess[str]:
    return firstbyte("without", "127.0.0.1", "--json", "--pairs", "1", site.url())


def is_compared(done: CompletedProcess[str]) -> bool:
    """Whether other work of the machine held up neither load: what it did is in no pair."""
    return bool(json.loads(done.stdout)["pairs"])


def test_a_few_pairs_are_compared_and_no_verdict_is_made_of_them(site: Site) -> None:
    done = next(filter(is_compared, (a_pair(site) for _ in range(_TRIES))))
    document = json.loads(done.stdout)
    must_fit(document)
    assert (done.returncode, document["schema"], document["verdict"]) == (3, "firstbyte.without/1", "inconclusive")
    assert document["url"] == site.url()
    assert document["metrics"]["requests"]["difference"]["estimate"] == -1
    assert document["loads"][0]["with"]["fcp_ms"] > 0
    assert done.stdout.count("\n") == 1
    assert "pair 1 of 1: LCP " in done.stderr


def test_a_host_that_the_page_does_not_ask_is_told_as_such(site: Site) -> None:
    done = firstbyte("without", "tags.example", site.url())
    assert done.returncode == 3
    told = "The page asked nothing of tags.example: there is no verdict. It asked 127.0.0.1 and localhost."
    assert " ".join(done.stdout.split()) == told


def test_what_cannot_be_loaded_is_told_with_its_reason(site: Site) -> None:
    done = firstbyte("without", "tags.example", f"http://127.0.0.1:{closed_port()}/")
    assert done.returncode == 4
    assert "no verdict" in done.stdout
    assert "Failed (connect): The server refused the connection" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("www.example.org", "https://www.example.org/a"), "www.example.org is the page's own host: without it there"),
        (("WWW.example.org.", "https://www.example.org/a"), "the page's own host"),
        (("https://tags.example/", "https://www.example.org/"), "is no host name"),
        (("tags.example,", "https://www.example.org/"), "HOST"),
        (
            ("--block", "tags.example", "tags.example", "https://www.example.org/"),
            "left out and mapped or blocked",
        ),
        (("--pairs", "0", "tags.example", "https://www.example.org/"), "must be from 1 to 100 pairs"),
        (("tags.example",), "URL"),
    ],
)
def test_what_cannot_be_obeyed_is_said_before_anything_is_loaded(words: tuple[str, ...], told: str) -> None:
    done = firstbyte("without", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_hosts_are_read_as_browsers_write_them_each_once() -> None:
    asked = parse(["without", "Tags.example,bücher.example,tags.example", "https://www.example.org/"])
    assert asked.hosts == ("tags.example", "xn--bcher-kva.example")
    assert (asked.url, asked.pairs) == ("https://www.example.org/", 10)
