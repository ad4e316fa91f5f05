"""What the browser is started with, as the system shows it."""

from workers.tests.browser import processes
from workers.tests.browser.conftest import Load, measured
from workers.tests.browser.sites import Site

FEATURES, NETWORK_LOG = "--enable-features=", "--log-net-log="


def test_the_browser_asks_the_network_in_its_own_process_and_keeps_what_playwright_switches_on(
    load: Load, site: Site
) -> None:
    measured(load(site.page("/", "<p>page")))
    # Other tests of this process may keep a browser of their own, which writes no network log.
    ours = [pid for pid in processes.browsers() if NETWORK_LOG in processes.command(pid)]
    words = [processes.command(pid).split() for pid in ours]
    switched = [[word.removeprefix(FEATURES) for word in line if word.startswith(FEATURES)] for line in words]
    assert switched
    # Chrome obeys the last one alone.
    assert all(set(playwrights.split(",")) < set(last.split(",")) for playwrights, last in switched)
    helpers = [processes.command(helper) for pid in ours for helper in processes.descendants(pid)]
    assert helpers
    assert not any("network.mojom" in helper for helper in helpers)
