"""The private parts of aioquic: this fails when a new version drops one, before an agent does."""

import pytest
from aioquic.tls import Context

from workers.probes.quic import Quic, missing_parts


def test_the_installed_aioquic_has_what_we_need() -> None:
    assert missing_parts() == ()


def test_an_aioquic_without_a_part_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Context, "_handle_reassembled_message")
    assert missing_parts() == ("Context._handle_reassembled_message",)
    with pytest.raises(RuntimeError, match=r"Context\._handle_reassembled_message.*requirements\.txt"):
        Quic("www.example.test", None)
