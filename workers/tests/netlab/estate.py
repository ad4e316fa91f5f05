"""Sites of the lab in one lab: each with a name, an address and a server of its own.

with Lab(rtt_ms=80) as lab:
    estate = Estate(lab, vault, folder, {"slow": Served(…)})
    measured = lab.probe(estate.url("slow"), depth=Depth.DEEP)
"""

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_interface
from pathlib import Path

import workers
from workers.probes.settings import NameServer, NameSettings
from workers.shaping import netlink
from workers.shaping.cable import INTERFACE
from workers.tests.netlab import caddy, haproxy
from workers.tests.netlab.ahead import with_others
from workers.tests.netlab.caddy import CaddyConduct, CaddySite
from workers.tests.netlab.chains import Chain, Recipe, Vault
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.haproxy import HaproxyConduct, HaproxySite
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.names import Entry
from workers.tests.netlab.nginx import SEARCH_PATH, Nginx, NginxConduct, NginxSite, Place
from workers.tests.netlab.served import Served
from workers.tests.netlab.site_process import Listening, Plan
from workers.tests.waiting import wait_for

_NAMES, _AUTHORITY = "10.77.0.9", "10.77.0.10"
_FIRST, _LAST = 20, 254
_AUTHORITY_NAME = "ca.lab.test"


def host_of(name: str) -> str:
    return f"{name}.lab.test"


class Estate:
    """Serves all of them from now until the lab ends, and tells the lab's engine whom to ask and whom to trust."""

    def __init__(self, lab: Lab, vault: Vault, folder: Path, sites: Mapping[str, Served]) -> None:
        self._lab = lab
        self._sites = dict(sites)
        self._vault = vault
        self._folder = folder
        self._addresses = {name: f"10.77.0.{_FIRST + number}" for number, name in enumerate(sites)}
        lab.configure(
            ca_file=vault.ca_file,
            names=NameSettings(servers=(NameServer(address=_NAMES),), patience_s=3.0, rounds=2),
        )
        self._give_addresses()
        self._start_nginx()
        self._start_haproxy()
        self._start_caddy()
        # Its imports are not ahead of anybody.
        with with_others() as priority:
            self._start_process(priority)
        for name, site in self._sites.items():
            lab.wait_for_port(443 if site.scheme == "https" else 80, self._addresses[name])

    def url(self, name: str) -> str:
        site = self._sites[name]
        return f"{site.scheme}://{host_of(name)}{site.begin}"

    def address(self, name: str) -> str:
        return self._addresses[name]

    def _give_addresses(self) -> None:
        for address in (_NAMES, _AUTHORITY, *self._addresses.values()):
            self._give(f"{address}/24")
        for name, site in self._sites.items():
            if site.second is not None and site.second.hears:
                self._give(f"{self.second(name)}/64")
            if site.sibling is not None:
                self._give(f"{self._sibling(name)}/24")

    def _give(self, interface: str) -> None:
        self._lab.server.call(lambda: netlink.add_address(INTERFACE, ip_interface(interface)))

    def second(self, name: str) -> str:
        """The site's IPv6 address, which ends with the number of the other: to a link they are one server."""
        return f"fd77::{int(self._addresses[name].rpartition('.')[2]):x}"

    def _sibling(self, name: str) -> str:
        """The site's other IPv4 address: these are counted from the end of the network."""
        return f"10.77.0.{_LAST - [one for one, site in self._sites.items() if site.sibling is not None].index(name)}"

    def _chain(self, name: str) -> Chain:
        return self._vault.chain(self._sites[name].chain.recipe(host_of(name), _AUTHORITY_NAME))

    def _start_nginx(self) -> None:
        sites = []
        for name, site in self._sites.items():
            if isinstance(site.conduct, NginxConduct):
                seconds = (self.second(name),) if site.second is not None and site.second.answers else ()
                place = Place(address=self._addresses[name], also=seconds)
                sites.append(NginxSite(conduct=_advertised(site), place=place, chain=self._chain(name)))
        if sites:
            self._run(Nginx(self._own_folder("nginx"), sites).argv)

    def _start_haproxy(self) -> None:
        sites = [
            HaproxySite(conduct=site.conduct, address=self._addresses[name], chain=self._chain(name))
            for name, site in self._sites.items()
            if isinstance(site.conduct, HaproxyConduct)
        ]
        for command in haproxy.commands(self._own_folder("haproxy"), sites):
            self._run(command)

    def _start_caddy(self) -> None:
        sites = [
            CaddySite(conduct=site.conduct, address=self._addresses[name], chain=self._chain(name), quic=site.quic)
            for name, site in self._sites.items()
            if isinstance(site.conduct, CaddyConduct)
        ]
        for command in caddy.commands(self._own_folder("caddy"), sites):
            self._run(command)

    def _own_folder(self, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir()
        return folder

    def _run(self, command: Sequence[str]) -> None:
        self._lab.run_server(located(command))

    def _start_process(self, priority: int) -> None:
        plan = Plan(
            ready_file=self._folder / "ready",
            names_address=_NAMES,
            authority=_AUTHORITY,
            issuer=self._vault.chain(Recipe(names=("any.lab.test",))).issuer,
            priority=priority,
            names=self._entries() | {_AUTHORITY_NAME: Entry(a=_AUTHORITY)},
            servers=tuple(one for name in self._sites for one in self._listening(name)),
            quic=tuple(
                (self._addresses[name], self._chain(name)) for name, site in self._sites.items() if _lacks_quic(site)
            ),
        )
        plan_file = self._folder / "plan"
        plan.write(plan_file)
        root = str(Path(workers.__path__[0]).parent)
        program = [sys.executable, "-m", "workers.tests.netlab.site_process", str(plan_file)]
        process = self._lab.run_server(["env", f"PYTHONPATH={root}", *program])
        wait_for(lambda: plan.ready_file.exists() or process.poll() is not None, "the site process to serve")
        assert process.poll() is None, "the site process has ended"

    def _entries(self) -> dict[str, Entry]:
        """Each site's name, and its other one below that, to which `/away` leads."""
        own = {host_of(name): self._entry(name) for name in self._sites}
        return own | {f"other.{host}": entry for host, entry in own.items()}

    def _entry(self, name: str) -> Entry:
        site = self._sites[name]
        second = "" if site.second is None else self.second(name)
        four = self._addresses[name] if site.sibling is None else f"{self._addresses[name]} {self._sibling(name)}"
        https = '1 . alpn="h3,h2"' if site.quic else ""
        return Entry(naming=site.naming, a=four, aaaa=second, https=https)

    def _listening(self, name: str) -> list[Listening]:
        """The misbehaving server and, at port 80, one that sends visitors there."""
        site, address = self._sites[name], self._addresses[name]
        if isinstance(site.conduct, HaproxyConduct):
            return [Listening(address=address, port=haproxy.ORIGIN_PORT, conduct=site.conduct.origin)]
        if not isinstance(site.conduct, Conduct):
            return []
        if site.scheme == "http":
            return [Listening(address=address, port=80, conduct=site.conduct)]
        moved = Conduct(redirect_to=f"https://{host_of(name)}/", headers=())
        secure = Listening(address=address, port=443, conduct=site.conduct, chain=self._chain(name))
        siblings = []
        if site.sibling is not None:
            siblings = [replace(secure, address=self._sibling(name), same_keys=site.sibling.shares_keys)]
        return [secure, *siblings, Listening(address=address, port=80, conduct=moved)]


def located(command: Sequence[str]) -> list[str]:
    """The command with the path of its program."""
    program = shutil.which(command[0], path=SEARCH_PATH)
    assert program is not None, f"{command[0]} is not installed"
    return [program, *command[1:]]


def _lacks_quic(site: Served) -> bool:
    """Whether HTTP/3 needs a server of its own beside the site's."""
    return site.quic and not isinstance(site.conduct, CaddyConduct)


def _advertised(site: Served) -> NginxConduct:
    """What serves HTTP/3 says so."""
    conduct = site.conduct
    assert isinstance(conduct, NginxConduct)
    if not site.quic:
        return conduct
    return replace(conduct, headers=(*conduct.headers, ("Alt-Svc", 'h3=":443"; ma=86400')))
