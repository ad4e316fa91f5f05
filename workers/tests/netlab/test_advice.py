"""What findings advise is tried on the servers that they name: these take it where it says, and what was told is gone.

A new setting of the catalogue is tried as soon as it is there.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.diagnosis.catalogue import Setting, entry
from workers.measurement.finding import FindingId as Id
from workers.shaping.cable import make_home
from workers.shaping.namespace import Namespace
from workers.tests.netlab.advice import Statement, statements
from workers.tests.netlab.advised import SERVERS, Site, complaint, known, written
from workers.tests.netlab.chains import Recipe, Vault
from workers.tests.netlab.network import NAME
from workers.tests.netlab.nginx import SEARCH_PATH

ADVICE = [(id, one) for id in Id for one in entry(id).settings if one.server in SERVERS and statements(one)]


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return Vault(tmp_path_factory.mktemp("vault"))


@pytest.fixture(scope="module")
def network() -> Iterator[Namespace]:
    """Where all ports are free, also those that only root may take elsewhere."""
    with Namespace("advice") as namespace:
        make_home(namespace)
        namespace.sysctl("net.ipv4.ip_unprivileged_port_start", 0)
        yield namespace


@pytest.mark.parametrize(("id", "setting"), ADVICE, ids=[f"{id}-{one.server}" for id, one in ADVICE])
def test_a_server_takes_its_settings_where_they_say_that_they_stand(
    id: Id, setting: Setting, tmp_path: Path, vault: Vault, network: Namespace
) -> None:
    """What it does not know must say that a later version does; the rest it takes without that."""
    site = Site(folder=tmp_path, chain=vault.chain(Recipe(names=(NAME,))))
    told = statements(setting)

    def refused(found: list[Statement]) -> str | None:
        return network.call(lambda: complaint(setting.server, written(site, found)))

    if (why := refused(told)) is not None:
        assert known(setting) != told, why
        assert refused(known(setting)) is None


def test_linux_takes_its_settings(network: Namespace) -> None:
    """The route is as a DHCP client makes it: with a metric, without which it is not found."""
    route = "default via 192.0.2.1 dev lo proto dhcp src 192.0.2.2 metric 100"
    network.call(lambda: shell("ip address add 192.0.2.2/24 dev lo", f"ip route add {route} initcwnd 4"))
    network.sysctl("net.ipv4.tcp_slow_start_after_idle", 1)

    told = [one for id in (Id.TCP_IW_SMALL, Id.TCP_IDLE_RESTART) for one in entry(id).settings if one.server == "Linux"]
    network.call(lambda: shell(*(statement.text for one in told for statement in statements(one))))

    shown = network.call(lambda: shell("ip route show default", "sysctl -n net.ipv4.tcp_slow_start_after_idle"))
    assert shown.split("\n")[:2] == [f"{route} initcwnd 10 ", "0"]


def shell(*lines: str) -> str:
    """What it answers to these, each of which must do."""
    done = subprocess.run(["sh", "-ec", "\n".join(lines)], env={"PATH": SEARCH_PATH}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
