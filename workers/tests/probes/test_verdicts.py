"""Verdicts on chains: remembered for a while, for that host alone, and never when anything is wrong."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from OpenSSL import SSL

from workers.measurement.failure import FailureKind
from workers.probes.openssl import Contexts, Party
from workers.probes.verdicts import Verdicts, key_of
from workers.tests.netlab.certificates import Life
from workers.tests.netlab.chains import Chain, Recipe, Vault
from workers.tests.probes.conftest import Lab
from workers.tests.servers import Server, answering, response

NAME, OTHER = "www.example.test", "other.example.test"
HALF_AN_HOUR_S = 1800


class Clock:
    def __init__(self) -> None:
        self.now_s = datetime.now(UTC).timestamp()

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return Vault(tmp_path_factory.mktemp("vault"))


@pytest.fixture(scope="module")
def chain(vault: Vault) -> Chain:
    return vault.chain(Recipe(names=(NAME,)))


def shake_hands(contexts: Contexts, chain: Chain, host: str) -> Party:
    """A handshake in memory, and its verdict kept."""
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.use_certificate_chain_file(str(chain.chain_file))
    context.use_privatekey_file(str(chain.key_file))
    theirs, party = SSL.Connection(context, None), contexts.party(host)
    theirs.set_accept_state()
    party.listen()
    for one, other in ((party.connection, theirs), (theirs, party.connection), (party.connection, theirs)):
        with suppress(SSL.WantReadError):
            one.do_handshake()
        other.bio_write(one.bio_read(65536))
    theirs.do_handshake()
    party.keep_verdict(chain.sent)
    return party


def test_a_chain_that_was_in_order_is_not_verified_again(vault: Vault, chain: Chain) -> None:
    contexts = Contexts(vault.ca_file)
    first, second = (shake_hands(contexts, chain, NAME).notes for _ in range(2))
    assert (first.spared, first.faults) == (False, [])
    assert (second.spared, second.faults) == (True, [])


def test_a_verdict_is_about_one_host(vault: Vault, chain: Chain) -> None:
    contexts = Contexts(vault.ca_file)
    for _ in range(2):
        assert not shake_hands(contexts, chain, NAME).notes.faults
        other = shake_hands(contexts, chain, OTHER).notes
        assert not other.spared
        assert [fault.text for fault in other.faults] == ["hostname mismatch"]


def test_what_is_wrong_is_found_each_time(vault: Vault) -> None:
    contexts = Contexts(vault.ca_file)
    chain = vault.chain(Recipe(names=(NAME,), intermediates_sent=False))
    first, second = (shake_hands(contexts, chain, NAME).notes for _ in range(2))
    assert first.faults
    assert first.faults == second.faults


def test_no_messages_before_it_hide_a_certificate(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.probes.bindings._MAX_MESSAGES", 0)
    chain = vault.chain(Recipe(names=(NAME,), intermediates_sent=False))
    assert shake_hands(Contexts(vault.ca_file), chain, NAME).notes.faults


def test_a_verdict_lasts_half_an_hour(chain: Chain) -> None:
    clock = Clock()
    verdicts, key = Verdicts(clock), key_of(NAME, b"its certificates")
    verdicts.keep(key, chain.sent)
    clock.now_s += HALF_AN_HOUR_S - 1
    assert verdicts.hold(key)
    assert not verdicts.hold(key_of(NAME, b"others"))
    clock.now_s += 2
    assert not verdicts.hold(key)


def test_a_verdict_ends_with_the_first_certificate(vault: Vault) -> None:
    clock = Clock()
    verdicts, key = Verdicts(clock), key_of(NAME, b"its certificates")
    brief = vault.chain(Recipe(names=(NAME,), life=Life(begins=-1, ends=0.01)))
    verdicts.keep(key, brief.sent)
    clock.now_s += 600
    assert verdicts.hold(key)
    clock.now_s += 600
    assert not verdicts.hold(key)


def test_a_site_that_lets_its_certificate_change_is_verified_anew(lab: Lab) -> None:
    lab.zone.a[NAME] = ["127.0.0.1"]
    good, wrong = lab.authority.context(NAME), lab.authority.context(OTHER)
    for _ in range(2):
        with Server(answering(response()), context=good) as server:
            assert lab.measure(server.url(host=NAME)).connections[0].certificate_error is None
        with Server(answering(response()), context=wrong) as server:
            failed, _ = lab.fail(server.url(host=NAME))
            assert failed.failure.kind is FailureKind.CERTIFICATE_WRONG_HOST


def test_the_oldest_verdict_makes_room(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.probes.verdicts._MOST", 2)
    verdicts = Verdicts()
    keys = [key_of(NAME, bytes((number,))) for number in range(3)]
    for key in keys:
        verdicts.keep(key, chain.sent)
    assert [verdicts.hold(key) for key in keys] == [False, True, True]


def test_a_chain_that_cannot_be_read_is_not_remembered(chain: Chain) -> None:
    verdicts, key = Verdicts(), key_of(NAME, b"")
    verdicts.keep(key, (*chain.sent, b"no certificate"))
    assert not verdicts.hold(key)


def test_many_probes_of_one_site_say_the_same(lab: Lab) -> None:
    lab.zone.a[NAME] = ["127.0.0.1"]
    with Server(answering(response()), context=lab.authority.context(NAME)) as server:
        seen = [lab.measure(server.url(host=NAME)) for _ in range(3)]
    shaken = [one.evidence.trials[0].handshake for one in seen if one.evidence is not None]
    assert len({(one.faults, one.chain, one.stapled, one.version) for one in shaken if one is not None}) == 1
