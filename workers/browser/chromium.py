"""Which Chromium runs, whether its sandbox works here, and with which flags it is started."""

import functools
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from workers.browser.context import user_agent
from workers.browser.faults import BrowserError
from workers.measurement.page_options import DESKTOP

# Debian's packages chromium-headless-shell and chromium. /usr/bin/chromium is a shell script that loads extensions and
# sets keys: what it starts is not the browser that we would say we measured with.
_CANDIDATES = (Path("/usr/lib/chromium/chromium-headless-shell"), Path("/usr/lib/chromium/chromium"))
_SMALL_SHM_BYTES = 512 * 1024 * 1024
_NO_SHM = "--disable-dev-shm-usage"
# The network's service as threads of the browser's process, as Chrome has it on small devices: each byte and each event
# crosses one wall less, and lookups are noted half a millisecond nearer to their packets. The others are those of
# Playwright's own switch, which this one takes the place of.
_FEATURES = ("NetworkServiceInProcess2", "CDPScreenshotNewSurface", "SkipListAccountsWithoutGaiaCookies")
_PROBE_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Chromium:
    """The browser of this machine; `sandbox` tells whether its sandbox works for this user here."""

    path: Path
    version: str
    sandbox: bool


def inspect_chromium(chosen: Path | None = None) -> Chromium:
    """Finds the browser and tries its sandbox, once per process. Raises BrowserError when there is none that runs."""
    path = find_chromium(chosen)
    return Chromium(path=path, version=_version(path), sandbox=_sandbox_works(path))


def find_chromium(chosen: Path | None = None) -> Path:
    """The binary: the one chosen, else Debian's headless shell, else Debian's Chromium.

    Raises BrowserError without one.
    """
    candidates = _CANDIDATES if chosen is None else (chosen,)
    found = next((path for path in candidates if os.access(path, os.X_OK) and path.is_file()), None)
    if found is None:
        places = " or ".join(map(str, candidates))
        raise BrowserError(f"no Chromium at {places}: install chromium-headless-shell or set FIRSTBYTE_CHROMIUM")
    return found


def _why(error: OSError | subprocess.SubprocessError) -> str:
    match error:
        case subprocess.CalledProcessError():
            return f"it ends at once with {error.returncode}; FIRSTBYTE_CHROMIUM says which program is started"
        case subprocess.TimeoutExpired():
            return f"it has not said its version in {_PROBE_S} s"
        case OSError():
            return error.strerror or str(error)
    return str(error)


@functools.cache
def _version(path: Path) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_PROBE_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise BrowserError(f"{path} does not start: {_why(error)}") from error
    return next((word for word in done.stdout.split() if word[0].isdigit()), "unknown")


@functools.cache
def _sandbox_works(path: Path) -> bool:
    """Whether a page renders inside the sandbox: only trying tells, since kernels, containers and AppArmor all have a
    say.
    """
    if os.geteuid() == 0:
        return False
    profile = tempfile.mkdtemp(prefix="firstbyte-sandbox-")
    command = [
        str(path),
        "--headless",
        "--disable-gpu",
        f"--user-data-dir={profile}",
        "--dump-dom",
        "data:text/html,<p>sound",
    ]
    environment = {"HOME": profile, "PATH": os.defpath, "TMPDIR": profile}
    try:
        done = subprocess.run(command, capture_output=True, env=environment, timeout=_PROBE_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        shutil.rmtree(profile, ignore_errors=True)
    return done.returncode == 0 and b"sound" in done.stdout


def flags(chromium: Chromium, netlog: Path, *, trusted_key: str) -> list[str]:
    """The switches added to Playwright's own (which already silence updates, first runs and background traffic).

    Frames of other sites stay in the page's process (no site isolation): one DevTools session then sees every
    request, and a run costs a process less for each third party. What isolation protects, one site's data from
    another, a fresh context that holds nothing does not have; pages of different runs never share a process.
    `trusted_key` is that of our own page's certificate, which nobody has but this process.
    """
    chosen = [
        f"--log-net-log={netlog}",
        f"--enable-features={','.join(_FEATURES)}",
        # A context's own goes everywhere but into the request for a service worker's script.
        f"--user-agent={user_agent(chromium.version, DESKTOP)}",
        "--net-log-capture-mode=Default",
        f"--ignore-certificate-errors-spki-list={trusted_key}",
        "--disable-site-isolation-trials",
        "--block-new-web-contents",
        "--deny-permission-prompts",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--disable-webrtc-hw-encoding",
        "--no-pings",
        "--disable-domain-reliability",
        "--disable-client-side-phishing-detection",
        "--disable-speech-api",
        "--no-proxy-server",
    ]
    return chosen if "headless-shell" in chromium.path.name else [*chosen, "--headless=new"]


def unwanted_flags() -> list[str]:
    """Playwright's own switches that are not for us."""
    # Nobody clicks here: what Chrome's own blocker lets through would be a page that we did not ask for.
    unwanted = ["--disable-popup-blocking"]
    return unwanted if _is_shared_memory_small() else [*unwanted, _NO_SHM]


def _is_shared_memory_small() -> bool:
    """Whether Chrome must keep what its processes share in files, which costs more."""
    try:
        status = os.statvfs("/dev/shm")
    except OSError:
        return True
    return status.f_frsize * status.f_blocks < _SMALL_SHM_BYTES
