"""The real instruments of an agent, made in the process that uses them."""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from workers.browser.chromium import inspect_chromium
from workers.browser.faults import BrowserError
from workers.browser.pool import BrowserPool
from workers.browser.settings import BrowserSettings
from workers.config import AgentConfig
from workers.fitness import teller, unfit_in
from workers.pairs import PairEngine
from workers.probes.settings import ProbeSettings
from workers.pulse import About
from workers.shaped import ShapedProber
from workers.shaped_pages import ShapedLoader

log = logging.getLogger(__name__)


class Toolbox:
    """What `workers.agent` measures with outside its tests."""

    @contextmanager
    def prober(self, config: AgentConfig) -> Iterator[PairEngine]:
        with PairEngine(_probe_settings(config)) as engine:
            yield engine

    @contextmanager
    def shaped(self, config: AgentConfig) -> Iterator[ShapedProber]:
        with ShapedProber(_probe_settings(config)) as prober:
            yield prober

    @contextmanager
    def loader(self, config: AgentConfig, *, browsers: int) -> Iterator[BrowserPool]:
        with closing(BrowserPool(_browser_settings(config, browsers), tell_fault=_teller(config))) as pool:
            yield pool

    @contextmanager
    def shaped_loader(self, config: AgentConfig, *, browsers: int) -> Iterator[ShapedLoader]:
        with ShapedLoader(_browser_settings(config, browsers), tell_fault=_teller(config)) as loader:
            yield loader

    def about(self, config: AgentConfig) -> About:
        try:
            chromium = inspect_chromium(config.chromium)
        except BrowserError as error:
            log.warning("pages cannot be measured here: %s", error)
            return About(agent=config.agent_name)
        return About(agent=config.agent_name, browser_version=chromium.version, browser_sandbox=chromium.sandbox)


def _teller(config: AgentConfig) -> Callable[[str | None], None]:
    return teller(unfit_in(config.spool_dir))


def _browser_settings(config: AgentConfig, browsers: int) -> BrowserSettings:
    return BrowserSettings(
        size=browsers,
        chromium=config.chromium,
        allow_unsandboxed=config.allow_unsandboxed,
        allowed=config.private_targets,
        extra_ports=config.extra_ports,
        ca_file=config.ca_file,
    )


def _probe_settings(config: AgentConfig) -> ProbeSettings:
    return ProbeSettings(
        in_flight=config.probes_in_flight,
        allowed=config.private_targets,
        extra_ports=config.extra_ports,
        ca_file=config.ca_file,
    )
