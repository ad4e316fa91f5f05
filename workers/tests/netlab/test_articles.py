"""The figures of the articles behind this product, and the round trips of each way to a first byte, on the lab's link.

Round trips are counted from nothing to the first byte that can be read, the name's lookup included.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from statistics import median
from tempfile import mkdtemp

import pytest

from workers.measurement.evidence import Depth, EarlyData, ProbeEvidence, Trial, TrialEvidence
from workers.measurement.messages import ProbeMeasurement
from workers.tests.netlab.chains import Vault
from workers.tests.netlab.column import measure, open_lab, probe
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.estate import Estate
from workers.tests.netlab.nginx import NginxConduct, Plain
from workers.tests.netlab.served import ChainWish, Network, Served
from workers.tests.second_tries import measured_again
from workers.tests.waiting import undisturbed

pytestmark = pytest.mark.usefixtures("ahead")

RTT_MS = 380
# What a figure of an article may differ by.
TOLERANCE = 0.03
_MOST_PROBES = 60
_MOST_ROUNDS = 6

# Grigorik's page and chain: 20 KB behind 5 KB of certificates. Clients of 2013 told of small segments after 200 ms.
_PAGE, _CHAIN, _CLIENT = 20_000, ChainWish(size_bytes=5000), Network(delayed_ack_ms=200)
_NGINX_1_4_4 = Conduct(
    newest="TLSv1.2",
    handshake_write_bytes=4096,
    handshake_nodelay=False,
    record_bytes=16_384,
    body_bytes=_PAGE,
)
_NGINX_1_5_7 = Conduct(newest="TLSv1.2", record_bytes=16_384, body_bytes=_PAGE)
_SMALL_RECORDS = Conduct(newest="TLSv1.2", record_bytes=1400, body_bytes=_PAGE)
_HTTP = Served(conduct=NginxConduct(secure=False, plain=Plain.PAGE, body_bytes=_PAGE), scheme="http", network=_CLIENT)
ARTICLE_MS: Mapping[Served, int] = {
    _HTTP: 1140,
    Served(conduct=_NGINX_1_4_4, chain=_CHAIN, network=_CLIENT): 2900,
    Served(conduct=_NGINX_1_5_7, chain=_CHAIN, network=_CLIENT): 2300,
    Served(conduct=_SMALL_RECORDS, chain=_CHAIN, network=_CLIENT): 1900,
}

# The small resource behind SPDY: near, a server that takes 9 ms in all (8.5 by its clock, the rest, half of one at
# least, for waking up here and there), and sends a small message of its own before the answer, here a session ticket.
# Nagle's algorithm holds the answer until the client has told of that.
NEAR_MS, _SMALL = 6, Conduct(body_bytes=700, think_s=(0.0085,))
NAGLE_MS: Mapping[Served, int] = {
    Served(conduct=replace(_SMALL, nodelay=False), network=_CLIENT): 212,
    Served(conduct=_SMALL, network=_CLIENT): 15,
}

# Which connection of a deep probe shows it, and how many round trips it takes.
_NEW, _OLD = Served(), Served(conduct=NginxConduct(protocols="TLSv1.2"))
_PLAIN = Served(conduct=NginxConduct(secure=False, plain=Plain.PAGE), scheme="http")
_RETRIED = Served(conduct=NginxConduct(curves="secp384r1"))
_FORGETFUL = Served(conduct=NginxConduct(protocols="TLSv1.2", session_cache=False, tickets=False))
TABLE: tuple[tuple[Served, Trial, float], ...] = (
    (_PLAIN, Trial.FULL, 3.01),
    (_OLD, Trial.FULL, 5.02),
    (_OLD, Trial.TLS12_TICKET, 4.01),
    (_OLD, Trial.TLS12_SESSION_ID, 4.02),
    (_FORGETFUL, Trial.TLS12_TICKET, 5.02),
    (_NEW, Trial.FULL, 4.02),
    (_NEW, Trial.CLASSICAL, 4.02),
    (_NEW, Trial.RESUMED, 4.01),
    (_NEW, Trial.EARLY_DATA, 3.01),
    (_RETRIED, Trial.FULL, 5.1),
    (Served(quic=True), Trial.HTTP3, 3.1),
)


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return Vault(tmp_path_factory.mktemp("vault"))


def test_each_way_to_a_first_byte_takes_its_round_trips(vault: Vault, tmp_path: Path) -> None:
    left = list(TABLE)
    # A busy machine adds what nobody can tell from a server's: those who took longer are measured again.
    for number in range(_MOST_ROUNDS):
        folder = tmp_path / f"round{number}"
        folder.mkdir()
        sites = dict.fromkeys(site for site, _, _ in left)
        measured = measure(sites, rtt_ms=RTT_MS, vault=vault, folder=folder)
        seen = [(row, first_byte_ms(measured[row[0]], row[1]) / RTT_MS) for row in left]
        left = [row for row, round_trips in seen if round_trips != pytest.approx(row[2], rel=TOLERANCE)]
        if not left:
            break
        measured_again([(kind, round(trips, 3)) for (_, kind, _), trips in seen])
    assert not left, seen


@undisturbed
def test_the_times_to_first_byte_of_nginx_are_those_of_2013(vault: Vault, tmp_path: Path) -> None:
    folder = Path(mkdtemp(dir=tmp_path))
    measured = measure(ARTICLE_MS, rtt_ms=RTT_MS, vault=vault, folder=folder, depth=Depth.LIGHT)
    seen = {site: first_byte_ms(measured[site], Trial.FULL) for site in ARTICLE_MS}
    assert seen == {site: pytest.approx(ms, rel=TOLERANCE) for site, ms in ARTICLE_MS.items()}


def test_a_small_answer_waits_for_the_acknowledgement_of_a_smaller_one(vault: Vault, tmp_path: Path) -> None:
    names = dict(zip(("held", "free"), NAGLE_MS, strict=True))
    with open_lab(_CLIENT, NEAR_MS) as lab:
        estate = Estate(lab, vault, tmp_path, names)
        for name, site in names.items():
            expected, waits = pytest.approx(NAGLE_MS[site], rel=TOLERANCE), [inf]
            # The least of them: what else the machine does only adds, and 3 % of 15 ms are not much.
            for _ in range(_MOST_PROBES):
                if min(waits) != expected:
                    if len(waits) > 1:
                        measured_again(f"{name}: {min(waits)} ms")
                    waits += waits_ms(probe(lab, estate.url(name)))
            assert min(waits) == expected, (name, waits)


def evidence_of(measurement: ProbeMeasurement) -> ProbeEvidence:
    assert measurement.evidence is not None
    return measurement.evidence


def first_byte_ms(measurement: ProbeMeasurement, kind: Trial) -> float:
    """The lookup, and from the SYN of the first connection of that kind to the first byte that could be read. Infinite
    where none was read, or no early data taken."""
    evidence = evidence_of(measurement)
    lookup_us = evidence.names[-1].took_us
    trials = [trial for trial in evidence.of(kind) if kind is not Trial.EARLY_DATA or _is_early(trial)]
    firsts = (trial.exchanges[0].first_readable_us for trial in trials if trial.exchanges)
    known_us = [first_us for first_us in firsts if first_us is not None]
    return inf if lookup_us is None or not known_us else (lookup_us + median(known_us)) / 1000


def _is_early(trial: TrialEvidence) -> bool:
    return trial.handshake is not None and trial.handshake.early_data is EarlyData.ACCEPTED


def waits_ms(measurement: ProbeMeasurement) -> list[float]:
    """From the first request of a connection to its answer; where the end of the connection does not hasten that."""
    kept = [trial for trial in evidence_of(measurement).of(Trial.FULL) if len(trial.exchanges) > 1]
    first = [trial.exchanges[0] for trial in kept]
    known = [(one.first_readable_us, one.sent_us) for one in first]
    return [(read_us - sent_us) / 1000 for read_us, sent_us in known if read_us is not None and sent_us is not None]
