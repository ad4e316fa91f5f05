"""One site of the lab, with all that makes it what it is."""

from dataclasses import dataclass, field, replace

from workers.tests.netlab.caddy import CaddyConduct
from workers.tests.netlab.certificates import USUAL_LIFE, KeyKind, Life
from workers.tests.netlab.chains import Extra, Recipe, Signer
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.haproxy import HaproxyConduct
from workers.tests.netlab.names import Naming
from workers.tests.netlab.nginx import NginxConduct


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """What the server's kernel, the path and the client's kernel are like, apart from round trip and loss."""

    server_iw: int = 10
    idle_restart: bool = False
    delayed_ack_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainWish:
    """A `Recipe` whose leaf is for the site's own names, unless `stranger`. URLs are filled in by the estate."""

    key: KeyKind = KeyKind.P256
    life: Life = USUAL_LIFE
    signer: Signer = Signer.TRUSTED
    intermediates: int = 1
    intermediates_sent: bool = True
    size_bytes: int | None = None
    extras: tuple[Extra, ...] = ()
    points_to_issuer: bool = False
    has_responder: bool = False
    must_staple: bool = False
    stapled: bool = False
    stranger: bool = False

    def recipe(self, name: str, authority: str) -> Recipe:
        """For a site of that name, whose issuer and responder are found at the host `authority`."""
        return Recipe(
            names=("stranger.lab.test",) if self.stranger else (name, f"other.{name}"),
            key=self.key,
            life=self.life,
            signer=self.signer,
            intermediates=self.intermediates,
            intermediates_sent=self.intermediates_sent,
            size_bytes=self.size_bytes,
            extras=self.extras,
            issuer_url=f"http://{authority}/issuer.der" if self.points_to_issuer else None,
            ocsp_url=f"http://{authority}/ocsp" if self.has_responder else None,
            must_staple=self.must_staple,
            stapled=self.stapled,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondAddress:
    """The site's IPv6 address. Nobody listens there unless it `answers`; it `hears` when a refusal comes at least."""

    answers: bool = True
    hears: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Sibling:
    """A further IPv4 address of the site, with a server of its own that behaves alike."""

    shares_keys: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A site: who serves it and how. `quic` gives it HTTP/3, which it advertises; `begin` is the path to ask for."""

    conduct: Conduct | NginxConduct | HaproxyConduct | CaddyConduct = field(default_factory=NginxConduct)
    chain: ChainWish = field(default_factory=ChainWish)
    network: Network = field(default_factory=Network)
    naming: Naming = field(default_factory=Naming)
    second: SecondAddress | None = None
    sibling: Sibling | None = None
    quic: bool = False
    scheme: str = "https"
    begin: str = "/"

    def but(self, **changes: object) -> "Served":
        """The same, but for some of its conduct's settings."""
        return replace(self, conduct=replace(self.conduct, **changes))  # type: ignore[arg-type]  # by name
