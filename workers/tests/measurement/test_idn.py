"""Names as people write them, and those that could be taken for others."""

import pytest

from workers.measurement.idn import readable, readable_host
from workers.measurement.target import parse_target

MISTAKABLE = {
    "\u0430\u0440\u0440\u04cf\u0435": "all of it looks like Latin, and is Cyrillic",
    "g\u043e\u043egle": "two letters are Cyrillic",
    "οικος-a": "Greek beside Latin",
    "漢字abc": "Latin beside Han",
    "\u0251pple": "a phonetic sign that looks like an a",
    "p\u0430ypal": "one letter is Cyrillic",
    "\u0131stanbul": "an i without its dot",
    "مثال": "from right to left",
    "ακ": "Greek that looks like Latin",
}


@pytest.mark.parametrize(
    "name",
    [
        "bücher.example",
        "www.straße.example",
        "łódź.example",
        "пример.испытание",
        "παράδειγμα.δοκιμή",
        "例え.テスト",
        "中国.example",
        "한국.example",
        "ตัวอย่าง.example",
        "quán-ăn.example",
        "shop-24.bücher.example",
    ],
)
def test_a_name_is_shown_as_it_is_written(name: str) -> None:
    host = parse_target(f"https://{name}/").host
    assert host.isascii()
    assert readable_host(host) == name


@pytest.mark.parametrize(("label", "why"), MISTAKABLE.items())
def test_what_may_be_taken_for_another_name_stays_in_the_letters_of_the_dns(label: str, why: str) -> None:
    host = parse_target(f"https://{label}.example/").host
    assert host.startswith("xn--"), why
    assert readable_host(host) == host, why


@pytest.mark.parametrize(
    "host", ["xn--.example", "xn--zzzz99999999.example", "xn--a-.example", "xn--bcher-kv.example", "xn--ls8h.example"]
)
def test_what_is_no_encoded_name_is_left_alone(host: str) -> None:
    assert readable_host(host) == host


def test_each_label_stands_for_itself() -> None:
    mixed = parse_target("https://\u0430\u0440\u0440\u04cf\u0435.bücher.example/").host
    assert readable_host(mixed) == f"{mixed.partition('.')[0]}.bücher.example"


def test_names_within_a_text_are_found() -> None:
    text = "The certificate of www.xn--bcher-kva.example ends. See https://xn--bcher-kva.example:8443/xn?a=1, now."
    assert readable(text) == "The certificate of www.bücher.example ends. See https://bücher.example:8443/xn?a=1, now."
    assert readable("no name xn at all") == "no name xn at all"
    assert readable("XN--BCHER-KVA.EXAMPLE") == "bücher.EXAMPLE"
