"""What the browser is started with, as the system shows it."""

from workers.tests.browser import processes
from workers.tests.browser.conftest import Load, measured
from workers.tests.browser.sites import Site

FEATURES = "--enable-features="


def test_the_browser_asks_the_network_in_its_own_process_and_keeps_what_playwright_switches_on(
    load: Load, site: Site
) -> None:
    measured(load(site.page("/", "<p>page")))
    words = [processes.command(pid).split() for pid in processes.browsers()]
    switched = [[word.removeprefix(FEATURES) for word in line if word.startswith(FEATURES)] for line in words]
    # Chrome obeys the last one alone.
    assert all(set(playwrights.split(",")) < set(ours.split(",")) for playwrights, ours in switched)
    assert not any("network.mojom" in processes.command(pid) for pid in processes.descendants())
