"""What this machine knows about names."""

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from workers.probes.names import LocalNames, parse_hosts, parse_resolv_conf, parse_search
from workers.probes.settings import NameServer, NameSettings


def addresses(text: str) -> list[str]:
    return [server.address for server in parse_resolv_conf(text)]


def test_three_name_servers_are_taken_from_the_file() -> None:
    text = "# nameserver 9.9.9.9\nsearch example.test\nnameserver 192.0.2.1\nnameserver\t2001:db8::1\nnameserver bad\n"
    assert addresses(text) == ["192.0.2.1", "2001:db8::1"]
    assert len(addresses("nameserver 192.0.2.1\n" * 5)) == 3


def test_without_any_the_machine_itself_is_asked() -> None:
    assert addresses("") == ["127.0.0.1"]


def test_the_last_line_says_where_else_names_are_looked_for() -> None:
    assert parse_search("domain a.test\nsearch B.test c.test.\nsearch\noptions ndots:5\n") == ("b.test", "c.test")
    assert parse_search("search a.test\ndomain b.test\n") == ("b.test",)
    assert parse_search("search .\n") == parse_search("") == ()


def test_the_hosts_file_gives_names_to_addresses() -> None:
    hosts = parse_hosts("127.0.0.1 localhost\n192.0.2.1 A.test. a # x\n2001:db8::1 a.test\nnonsense b.test\n\n#\n")
    assert hosts["a.test"] == ("192.0.2.1", "2001:db8::1")
    assert hosts["a"] == ("192.0.2.1",)
    assert "b.test" not in hosts


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    conf = tmp_path / "resolv.conf"
    local = LocalNames(NameSettings(resolv_conf=conf))
    assert local.servers() == (NameServer(address="127.0.0.1"),)
    conf.write_text("nameserver 192.0.2.1\n")
    assert local.servers() == (NameServer(address="192.0.2.1"),)
    conf.write_text("nameserver 192.0.2.2\n")
    os.utime(conf, (1, 1))
    assert local.servers() == (NameServer(address="192.0.2.2"),)
    conf.unlink()
    assert local.servers() == (NameServer(address="127.0.0.1"),)


def test_servers_that_are_set_come_before_the_file() -> None:
    own = (NameServer(address="192.0.2.9", port=5353),)
    assert LocalNames(NameSettings(servers=own)).servers() == own


@given(st.text())
def test_no_text_breaks_the_readers(text: str) -> None:
    assert 1 <= len(parse_resolv_conf(text)) <= 3
    parse_hosts(text)
    assert len(parse_search(text)) <= 6
