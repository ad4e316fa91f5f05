"""`firstbyte doctor`: can this machine measure, and, where it is set up as an agent, reach its broker and service?"""

import argparse
import os
import platform
import socket
import ssl
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dns.exception
import dns.message
import dns.query
from kombu.exceptions import KombuError
from redis import RedisError

from workers.browser.chromium import inspect_chromium
from workers.browser.faults import BrowserError
from workers.browser.pool import BrowserPool
from workers.browser.settings import BrowserSettings
from workers.commands import EXIT_NOT_MEASURED, EXIT_OK
from workers.commands.output import write, write_json
from workers.config import AgentConfig, ConfigError, load_config
from workers.fitness import browser_fault, unfit_in
from workers.measurement.messages import Kind
from workers.measurement.routes import Lane, queue_name
from workers.probes.bindings import missing_bindings
from workers.probes.names import LocalNames
from workers.probes.quic import missing_parts
from workers.probes.settings import NameSettings
from workers.probes.stamps import receive, stamp_arrivals
from workers.service import Service, ServiceError
from workers.spool import Spool
from workers.tasks import make_app
from workers.turns import missing_parts as missing_turns

SCHEMA = "firstbyte.doctor/1"
_PATIENCE_S = 3
# What OpenSSL says of certificates (x509_vfy.h, X509_V_ERR_…).
_NOT_YET_VALID, _EXPIRED, _OTHER_NAME, _OTHER_ADDRESS = 9, 10, 62, 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check found. Not `ok` means that something cannot be measured; `advice` says what to do."""

    check: str
    ok: bool
    detail: str
    advice: str | None = None


def run(arguments: argparse.Namespace) -> int:
    """Checks, shows, and gives the exit code: 0, or 4 when something does not work."""
    findings = examine()
    if arguments.json:
        write_json({"schema": SCHEMA, "findings": [asdict(finding) for finding in findings]})
    else:
        write("\n".join(map(_line, findings)))
    return EXIT_OK if all(finding.ok for finding in findings) else EXIT_NOT_MEASURED


def examine() -> list[Finding]:
    """Every check that makes sense here: those of an agent only where the environment sets one up."""
    libraries = [_openssl(), _aioquic(), _kombu()]
    machine = [_python(), *libraries, _kernel_stamps(), _resolver(NameSettings()), _chromium(), _coldness()]
    if not os.environ.keys() & {"FIRSTBYTE_REGION", "FIRSTBYTE_BROKER_URL", "FIRSTBYTE_BROKER_URL_FILE"}:
        return machine
    try:
        config = load_config()
    except ConfigError as error:
        return [*machine, Finding(check="configuration", ok=False, detail=str(error), advice="firstbyte agent --help")]
    return [*machine, _spool(config), _fitness(config), _broker(config), _service(config)]


def _line(finding: Finding) -> str:
    mark = "ok  " if finding.ok else "FAIL"
    advice = f"\n     {finding.advice}" if finding.advice else ""
    return f"{mark} {finding.check}: {finding.detail}{advice}"


def _python() -> Finding:
    return Finding(check="python", ok=sys.version_info >= (3, 11), detail=platform.python_version())


def _openssl() -> Finding:
    return _fitting("openssl", "cryptography", missing_bindings())


def _aioquic() -> Finding:
    return _fitting("aioquic", "aioquic", missing_parts())


def _kombu() -> Finding:
    return _fitting("kombu", "kombu", missing_turns())


def _fitting(check: str, library: str, missing: Sequence[str]) -> Finding:
    """Whether the installed library has all that we take from it past its documented calls."""
    detail = "all bindings there" if not missing else f"{library} lacks {', '.join(missing)}"
    return Finding(
        check=check, ok=not missing, detail=detail, advice="install workers/requirements.txt" if missing else None
    )


def _kernel_stamps() -> Finding:
    """Whether the kernel says when a packet came in;
    without, our own clock does, and a busy machine shows in the figures.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        stamp_arrivals(sock)
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(_PATIENCE_S)
        # The kernel begins to stamp a moment after it was asked to.
        stamped = any(_stamped(sock) for _ in range(20))
    detail = "the kernel stamps arrivals" if stamped else "no kernel time stamps: timings include our own delays"
    return Finding(check="clock", ok=True, detail=detail)


def _stamped(sock: socket.socket) -> bool:
    sock.sendto(b"x", sock.getsockname())
    return receive(sock, 16)[1].kernel_ns is not None


def _resolver(settings: NameSettings) -> Finding:
    servers = LocalNames(settings).servers()
    if not servers:
        advice = "name servers must be in /etc/resolv.conf; only addresses and /etc/hosts can be measured without"
        return Finding(check="resolver", ok=False, detail="no name server known", advice=advice)
    query = dns.message.make_query(".", "NS")
    try:
        dns.query.udp(query, servers[0].address, port=servers[0].port, timeout=_PATIENCE_S)
    except (OSError, dns.exception.DNSException) as error:
        detail = f"{servers[0].address} does not answer: {error}"
        return Finding(check="resolver", ok=False, detail=detail, advice="names cannot be looked up from here")
    return Finding(check="resolver", ok=True, detail=f"{servers[0].address} answers")


def _chromium() -> Finding:
    chosen = os.environ.get("FIRSTBYTE_CHROMIUM")
    try:
        chromium = inspect_chromium(Path(chosen) if chosen else None)
    except BrowserError as error:
        return Finding(check="browser", ok=False, detail=str(error), advice="only raw probes can be measured without")
    if chromium.sandbox:
        return Finding(check="browser", ok=True, detail=f"{chromium.path} {chromium.version}, sandbox on")
    why = "root" if os.geteuid() == 0 else "this machine"
    return Finding(
        check="browser",
        ok=True,
        detail=f"{chromium.path} {chromium.version}, no sandbox for {why}",
        advice="an agent then loads private targets only; run as another user, or allow user namespaces",
    )


def _coldness() -> Finding:
    """Whether a browser here visits our own page as a stranger, the first time and the second."""
    chosen = os.environ.get("FIRSTBYTE_CHROMIUM")
    try:
        with BrowserPool(BrowserSettings(chromium=Path(chosen) if chosen else None)) as pool:
            pool.prove_cold()
    except BrowserError as error:
        return Finding(check="canary", ok=False, detail=str(error), advice="page loads are refused until this works")
    return Finding(check="canary", ok=True, detail="each view is cold: one lookup, one connection, nothing taken up")


def _fitness(config: AgentConfig) -> Finding:
    """What the agent that runs here says of its browsers."""
    fault = browser_fault(unfit_in(config.spool_dir))
    if fault is None:
        return Finding(check="browsers", ok=True, detail="none is out of service")
    return Finding(check="browsers", ok=False, detail=fault, advice="each page run tries again with a new browser")


def _spool(config: AgentConfig) -> Finding:
    try:
        spool = Spool(config.spool_dir)
        waiting, fault = spool.count(), spool.fault()
    except OSError as error:
        return Finding(check="spool", ok=False, detail=str(error), advice="FIRSTBYTE_SPOOL_DIR must be writable")
    detail = f"{config.spool_dir}, {waiting} results wait"
    if fault:
        return Finding(check="spool", ok=False, detail=f"{detail}: {fault}", advice="make room there, or runs are lost")
    return Finding(check="spool", ok=True, detail=detail)


def _broker(config: AgentConfig) -> Finding:
    advice = "is the region's account in Redis? does a firewall stand between?"
    return _attempt("broker", advice, "FIRSTBYTE_BROKER_URL", lambda: _ask_broker(config))


def _ask_broker(config: AgentConfig) -> str:
    with make_app(config).connection_for_read() as connection:
        connection.ensure_connection(max_retries=1, interval_start=0, interval_max=0, timeout=_PATIENCE_S)
        channel: Any = connection.default_channel
        waiting = channel.client.llen(queue_name(Kind.PROBE, Lane.SCHEDULE))
        return f"{connection.as_uri()}, {waiting} probes wait"


def _service(config: AgentConfig) -> Finding:
    service = Service(config.service_url, config.agent_token.get_secret_value(), ca_file=config.ca_file)

    def ask() -> str:
        service.post_results([])
        return f"{config.service_url} takes our token"

    return _attempt("service", "is FIRSTBYTE_SERVICE_URL right, and the token valid?", "FIRSTBYTE_SERVICE_URL", ask)


def _attempt(check: str, advice: str, setting: str, ask: Callable[[], str]) -> Finding:
    """`advice` is for what is no fault of a certificate; `setting` has the address that was asked."""
    try:
        return Finding(check=check, ok=True, detail=ask())
    except (ServiceError, RedisError, KombuError, OSError) as error:
        refused = _certificate_refused(error)
        if refused is not None:
            advice = _advice_on_certificate(refused.verify_code, setting)
        return Finding(check=check, ok=False, detail=str(error), advice=advice)


def _certificate_refused(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """What is behind an error of redis, kombu or urllib3."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error


def _advice_on_certificate(code: int, setting: str) -> str:
    clock = f"it says {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    if code == _EXPIRED:
        return f"renew the certificate there, unless this machine's clock is wrong: {clock}"
    if code == _NOT_YET_VALID:
        return f"is this machine's clock right? {clock}"
    if code in (_OTHER_NAME, _OTHER_ADDRESS):
        return f"{setting} must have a name that the certificate there is for"
    return "where an authority of your own signed it, FIRSTBYTE_CA_FILE names that authority's certificate"
