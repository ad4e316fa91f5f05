"""`firstbyte compare` as people and scripts use it: a process, real servers on loopback."""

import gzip
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from workers.tests.commands.published import must_fit
from workers.tests.commands.test_cli import firstbyte, shown_in_terminal
from workers.tests.nginx import BODY, CDN, ORIGIN, Nginx, running_nginx
from workers.tests.ports import closed_port
from workers.tests.servers import Peer, Server, answering, finish, keeping, redirect, response
from workers.tests.waiting import undisturbed

PHASES = ["dns", "connect", "tls", "wait", "download"]


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[Nginx]:
    with running_nginx(tmp_path) as running:
        yield running


def compare(*arguments: str) -> tuple[int, dict[str, Any], subprocess.CompletedProcess[str]]:
    done = firstbyte("compare", "--json", *arguments)
    assert done.stdout.count("\n") == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "firstbyte.compare/1"
    must_fit(document)
    assert list(document["by_phase_ms"]) == PHASES
    assert set(document["difference_ms"]) == {"estimate", "low", "high", "confidence"}
    if document["pairs"]:
        assert sum(document["by_phase_ms"].values()) == pytest.approx(document["difference_ms"]["estimate"], abs=1e-9)
    return done.returncode, document, done


def joined(texts: list[str]) -> str:
    return " ".join(texts)


@undisturbed
def test_a_slow_origin_is_found_with_its_reason_and_progress_stays_out_of_the_way() -> None:
    headers = ("X-Cache: HIT", "Age: 30", 'ETag: "a"')
    with Server(keeping(response(headers=headers))) as cdn, Server(keeping(response(), after_s=0.03)) as origin:
        code, document, done = compare("--cdn", cdn.url("/a.js"), "--origin", origin.url("/a.js"), "--pairs", "20")
    assert (code, document["verdict"], document["pairs"], document["error"]) == (0, "cdn_faster", 20, None)
    assert (document["findings"], document["not_judged"]) == ([], [])
    difference = document["difference_ms"]
    assert -60 < difference["estimate"] < -25
    assert difference["low"] <= difference["estimate"] <= difference["high"] < 0
    assert difference["confidence"] == 0.95
    assert document["by_phase_ms"]["wait"] < -25
    assert document["difference_is"] == "cdn minus origin"
    assert document["main_reason"] == document["reasons"][0]["id"] == "cache_hit"
    assert document["reasons"][0]["ms"] < -25
    assert document["reused"]["verdict"] == "cdn_faster"
    assert document["reused"]["pairs"] == 20
    assert list(document["legs"]) == ["cdn", "origin"]
    leg = document["legs"]["cdn"]
    assert (leg["address"], leg["status"], leg["cache"], leg["age_s"], leg["etag"]) == (
        "127.0.0.1",
        200,
        {"hit": 20},
        30,
        '"a"',
    )
    assert sum(leg["phases_ms"][phase] for phase in PHASES) == pytest.approx(leg["phases_ms"]["total"])
    assert "pair 20 of 20" in done.stderr


@undisturbed
def test_a_slow_cdn_is_told_as_plainly_and_in_words() -> None:
    with (
        Server(keeping(response(headers=("X-Cache: MISS",)), after_s=0.03)) as cdn,
        Server(keeping(response())) as origin,
    ):
        done = firstbyte("compare", "--cdn", cdn.url(), "--origin", origin.url(), "--pairs", "20")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    # Thirty, less what the origin takes itself, and what a busy machine adds.
    assert re.match(r"The origin is (2[5-9]|[3-9]\d|1\d\d) ms faster than the CDN \(95 %: ", lines[0])
    assert lines[1].startswith("20 of 20 answers of the CDN did not come from its cache")
    assert any(line.startswith("  CDN ") and "━" in line for line in lines)
    assert any(line.startswith("  origin ") for line in lines)
    assert "! None of 20 answers of the CDN came from its cache." in lines
    assert any("The CDN is slower than the origin (127.0.0.1) · costs" in line for line in lines)
    assert all(len(line) <= 100 for line in lines)
    # A terminal of 24 rows shows less of the second round.
    assert len(lines) <= 26
    assert "\x1b" not in done.stdout


@undisturbed
def test_a_slow_cdn_is_a_cause_for_programs_once_there_are_enough_pairs() -> None:
    with Server(keeping(response(), after_s=0.03)) as cdn, Server(keeping(response())) as origin:
        urls = ("--cdn", cdn.url(), "--origin", origin.url())
        _, document, _ = compare(*urls, "--pairs", "20")
        _, early, _ = compare(*urls, "--pairs", "5")
    [found] = document["findings"]
    assert (found["id"], found["severity"], found["host"]) == ("page.cdn_slower_than_origin", "high", "127.0.0.1")
    assert found["saving_ms"] == document["difference_ms"]["estimate"]
    assert found["evidence"]["slower_in"] == "20 of 20"
    assert early["findings"] == []
    assert early["not_judged"] == [
        {"id": "page.cdn_slower_than_origin", "reason": "too_few_samples", "hidden_by": None}
    ]


@undisturbed
def test_a_terminal_is_told_a_screen_of_it_and_all_of_it_when_that_is_asked_for() -> None:
    headers = ("X-Cache: MISS",)
    with Server(keeping(response(b"x" * 900, headers=headers), after_s=0.02)) as cdn, Server(keeping(response())) as o:
        words = ("compare", "--cdn", cdn.url(), "--origin", o.url(), "--pairs", "20")
        screen, whole = (
            shown_in_terminal(*words, *more, rows=16, columns=60, environment={"NO_COLOR": "1"}).splitlines()
            for more in ((), ("--all",))
        )
    assert len(screen) < 16 < len(whole)
    assert "Over fresh connections" in screen
    assert screen[-1].endswith(": --all shows all")
    assert "Over the same connections again" in whole
    assert not any("--all" in line for line in whole)


def test_a_real_cdn_before_a_real_origin_over_tls(nginx: Nginx) -> None:
    options = ("--cacert", str(nginx.ca_file), "--pairs", "20")
    code, document, _ = compare("--cdn", nginx.url(), "--origin", nginx.url(of=ORIGIN), *options)
    assert code in (0, 3)
    cdn, origin = document["legs"]["cdn"], document["legs"]["origin"]
    assert cdn["cache"].get("hit", 0) >= 18
    assert cdn["tls_version"] == origin["tls_version"] is not None
    assert origin["content_encoding"] == "gzip"
    assert cdn["content_encoding"] is None
    assert cdn["body_bytes"] == len(BODY)
    assert document["reused"]["pairs"] == 20
    assert "The CDN does not compress it." in joined(document["warnings"])


def test_the_origin_can_be_asked_under_the_name_of_the_cdn(nginx: Nginx) -> None:
    options = ("--cacert", str(nginx.ca_file), "--pairs", "2")
    address = f"127.0.0.1:{nginx.origin}"
    code, document, _ = compare("--cdn", nginx.url(), "--origin-address", address, *options)
    assert (code, document["pairs"]) == (3, 2)
    assert document["legs"]["origin"]["url"] == document["legs"]["cdn"]["url"] == nginx.url()
    assert document["legs"]["cdn"]["cache"] != {"unknown": 2}
    assert document["legs"]["origin"]["cache"] == {"unknown": 2}


def test_an_untrusted_certificate_is_refused_unless_that_is_wanted(nginx: Nginx) -> None:
    urls = ("--a", nginx.url(of=CDN), "--b", nginx.url(of=ORIGIN), "--pairs", "1")
    code, document, _ = compare(*urls)
    assert (code, document["error"]["stage"], document["legs"]["a"].get("status")) == (4, "tls", None)
    code, document, _ = compare(*urls, "--insecure")
    assert (code, document["error"], document["pairs"]) == (3, None, 1)


@undisturbed
def test_a_server_that_closes_after_each_answer_is_told_as_a_reason(nginx: Nginx) -> None:
    options = ("--cacert", str(nginx.ca_file), "--pairs", "20")
    _, document, _ = compare("--a", nginx.url(), "--b", nginx.url("/closing.css"), *options)
    reason = next(reason for reason in document["reasons"] if reason["id"] == "connection_not_reused")
    assert reason["ms"] < 0
    assert reason["text"].startswith("b closes its connection after each answer")
    assert document["reused"]["pairs"] == 0
    assert document["reused"]["difference_ms"]["estimate"] is None
    assert "no pair over reused connections" in joined(document["warnings"])


@undisturbed
def test_two_names_of_one_server_are_not_called_different(nginx: Nginx) -> None:
    urls = ("--a", nginx.url(of=ORIGIN), "--b", f"https://{CDN}:{nginx.origin}/a.css")
    _, document, _ = compare(*urls, "--pairs", "20", "--cacert", str(nginx.ca_file))
    assert document["verdict"] in ("no_difference", "inconclusive")
    assert "Both legs were served by the same address, 127.0.0.1." in document["warnings"]


def test_bytes_that_differ_are_told() -> None:
    packed = response(gzip.compress(b"x" * 90_000), headers=("Content-Encoding: gzip",))
    with Server(keeping(response(b"x" * 90_000))) as cdn, Server(keeping(packed)) as origin:
        _, document, _ = compare("--cdn", cdn.url(), "--origin", origin.url(), "--pairs", "2")
    assert document["warnings"][0].startswith("The bodies differ by 100 %: 90.0 kB (not compressed) from the CDN, ")
    assert (document["legs"]["cdn"]["body_bytes"], document["legs"]["origin"]["content_encoding"]) == (90_000, "gzip")


def test_a_redirect_is_told_and_answers_of_other_status_are_no_pair() -> None:
    with Server(keeping(redirect("/else"))) as moved, Server(keeping(response())) as origin:
        code, document, _ = compare("--cdn", moved.url(), "--origin", moved.url("/b"), "--pairs", "2")
        assert "answers with a redirect (302)" in joined(document["warnings"])
        code, document, _ = compare("--cdn", moved.url(), "--origin", origin.url(), "--pairs", "2")
    assert (code, document["verdict"], document["pairs"]) == (3, "inconclusive", 0)
    assert "2 pairs had answers of different status" in joined(document["warnings"])


@undisturbed
def test_too_few_pairs_are_not_conclusive_and_end_with_3() -> None:
    with Server(keeping(response())) as cdn, Server(keeping(response(), after_s=0.02)) as origin:
        code, document, _ = compare("--a", cdn.url(), "--b", origin.url(), "--pairs", "12")
    assert (code, document["verdict"], document["sentence"]) == (3, "inconclusive", "12 of 20 pairs: no verdict yet.")
    assert document["difference_ms"]["estimate"] < -15
    assert list(document["legs"]) == ["a", "b"]


def test_a_broken_leg_ends_with_4_and_a_sentence() -> None:
    with Server(keeping(response())) as cdn:
        urls = ("--cdn", cdn.url(), "--origin", f"http://127.0.0.1:{closed_port()}/")
        code, document, _ = compare(*urls)
        done = firstbyte("compare", *urls)
    assert (code, document["pairs"], document["failed"]) == (4, 0, 3)
    assert (document["error"]["kind"], document["error"]["blame"]) == ("connect_refused", "target")
    assert document["by_phase_ms"] == dict.fromkeys(PHASES)
    assert done.returncode == 4
    assert done.stdout.splitlines()[0] == "No pair could be measured."
    told = " ".join(done.stdout.splitlines())
    assert " Failed (connect): The origin (127.0.0.1): The server refused the connection" in told
    assert " → Look whether the web server runs and listens on this address and port" in told
    assert "pair 0 of 30: The origin (127.0.0.1): The server refused" in done.stderr


def test_a_leg_that_breaks_now_and_then_is_asked_again() -> None:
    answered: list[bytes] = []

    def script(peer: Peer) -> None:
        while request := peer.read_request():
            answered.append(request)
            peer.send(response(status="503 Busy") if len(answered) % 9 == 0 else response())

    with Server(script) as cdn, Server(keeping(response())) as origin:
        code, document, _ = compare("--cdn", cdn.url(), "--origin", origin.url(), "--pairs", "20")
    # Whether one is faster is another matter, and a busy machine may leave it open.
    assert code == (3 if document["verdict"] == "inconclusive" else 0)
    assert (document["pairs"], document["error"]) == (20, None)
    assert document["failed"] >= 1
    assert "could not be measured on both legs" in joined(document["warnings"])


def test_a_page_that_is_missing_is_not_compared() -> None:
    with Server(keeping(response(status="404 Not Found"))) as cdn, Server(keeping(response())) as origin:
        code, document, _ = compare("--cdn", cdn.url(), "--origin", origin.url())
    assert (code, document["error"]["kind"]) == (4, "status_unexpected")
    assert document["error"]["detail"].startswith("The CDN (127.0.0.1): ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "two addresses are needed"),
        (["--cdn", "http://127.0.0.1/"], "two addresses are needed"),
        (["--a", "http://127.0.0.1/", "--origin", "http://127.0.0.1/"], "either --cdn and --origin, or --a and --b"),
        (["--a", "http://127.0.0.1/", "--b", "ftp://127.0.0.1/"], "must begin with http:// or https://"),
        (["--cdn", "http://127.0.0.1/", "--origin-address", "origin.example"], "is not an IP address"),
        (["--a", "http://127.0.0.1/", "--b", "http://127.0.0.1/", "--origin-address", "::1"], "goes with --cdn"),
        (["--cdn", "http://127.0.0.1/", "--origin", "http://127.0.0.1/", "--pairs", "0"], "from 1 to 400 pairs"),
        (["--cdn", "http://127.0.0.1/", "--origin", "http://127.0.0.1/", "--pairs", "x"], "a whole number from 1"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_is_wrong(arguments: list[str], said: str) -> None:
    done = firstbyte("compare", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_server_that_closes_silently_is_asked_cold_only() -> None:
    with Server(answering(response())) as cdn, Server(keeping(response())) as origin:
        _, document, _ = compare("--cdn", cdn.url(), "--origin", origin.url(), "--pairs", "3")
    assert (document["pairs"], document["reused"]["pairs"]) == (3, 0)


def test_private_addresses_can_be_refused_as_an_agent_does() -> None:
    with Server(keeping(response())) as server:
        code, document, _ = compare("--a", server.url(), "--b", server.url(), "--allow-private", "10.0.0.0/8")
        assert server.connections == 0
    assert (code, document["error"]["kind"]) == (4, "blocked_destination")


def test_an_answer_that_breaks_off_is_told_with_its_leg() -> None:
    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        finish(peer)

    with Server(script) as broken, Server(keeping(response())) as good:
        code, document, _ = compare("--a", good.url(), "--b", broken.url())
    assert (code, document["error"]["kind"]) == (4, "download_incomplete")
    assert document["error"]["detail"].startswith("B (127.0.0.1): ")
