"""Page options as they are kept: what was once taken is measured as before, also where it would be refused today."""

import pytest

from backend.sites.page_settings import read, stored
from workers.measurement.page_options import HostMapping, PageOptions
from workers.measurement.page_rules import page_faults


@pytest.mark.parametrize(
    ("kept", "blocked"),
    [
        ("ads.example", "ads.example"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("ads.example:8443", "ads.example"),
        ("ads.example/pixel?a", "ads.example"),
        # The scheme passed for a host, and nothing else was blocked.
        ("https://ads.example/", "https"),
    ],
)
def test_a_host_that_was_kept_as_an_address_does_not_end_what_is_measured(kept: str, blocked: str) -> None:
    mapping = HostMapping(host=kept, address="192.0.2.1")
    assert read(stored(PageOptions(black_holes=(kept,)))) == PageOptions(black_holes=(blocked,))
    options = read(stored(PageOptions(host_map=(mapping,))))
    assert options == PageOptions(host_map=(HostMapping(host=blocked, address="192.0.2.1"),))
    assert page_faults(options) == {}


def test_a_host_that_no_rule_ever_took_is_read_as_it_is() -> None:
    options = PageOptions(black_holes=("a b",))
    assert read(stored(options)) == options
