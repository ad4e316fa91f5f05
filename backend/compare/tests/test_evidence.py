from typing import Any

import pytest

from backend.compare.evidence import HostSeen, propose
from backend.sites.hosts import ProposedRole
from backend.sites.models import HostRole
from workers.measurement.domains import registrable


def host(name: str, address: str = "192.0.2.1", documents: int = 0, **headers: str) -> HostSeen:
    named = tuple((key.replace("_", "-"), value) for key, value in headers.items())
    return HostSeen(name=name, requests=5, documents=documents, addresses=frozenset({address}), headers=named)


def proposal(seen: HostSeen, *others: HostSeen, site: str = "www.shop.example") -> ProposedRole:
    return propose(site, [seen, *others])[0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("www.shop.example", "shop.example"),
        ("shop.example", "shop.example"),
        ("cdn.shop.co.uk", "shop.co.uk"),
        ("co.uk", "co.uk"),
        ("t.co", "t.co"),
        ("d111.cloudfront.net", "d111.cloudfront.net"),
        ("someone.github.io", "someone.github.io"),
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8::1", "2001:db8::1"),
        ("localhost", "localhost"),
    ],
)
def test_what_somebody_registered_is_the_part_below_the_suffix(name: str, expected: str) -> None:
    assert registrable(name) == expected


def test_the_sites_own_host_is_the_origin() -> None:
    found = proposal(host("www.shop.example", documents=1, server="nginx"))
    assert found.role is HostRole.ORIGIN
    assert found.evidence == ("The site's own address leads here.",)


def test_a_site_that_is_wholly_behind_a_cdn_has_no_origin_to_be_seen() -> None:
    found = proposal(host("www.shop.example", documents=1, server="cloudflare", cf_ray="8f2a-FRA"))
    assert found.role is HostRole.CDN
    assert found.evidence[0] == "Cloudflare answers there (server: cloudflare)."
    assert "cannot be seen" in found.evidence[-1]


def test_a_cache_of_its_own_makes_no_cdn_of_an_origin() -> None:
    found = proposal(host("www.shop.example", documents=1, x_varnish="12 7", age="30"))
    assert found.role is HostRole.ORIGIN
    assert found.evidence[1] == "A cache answers there (x-varnish: 12 7)."


@pytest.mark.parametrize(
    ("headers", "provider"),
    [
        ({"x_amz_cf_pop": "FRA56-P4"}, "Amazon CloudFront"),
        ({"via": "1.1 0f.cloudfront.net (CloudFront)"}, "Amazon CloudFront"),
        ({"x_served_by": "cache-fra-etou8220161-FRA"}, "Fastly"),
        ({"server": "AkamaiGHost"}, "Akamai"),
        ({"server": "BunnyCDN-DE1"}, "bunny.net"),
        ({"x_azure_ref": "2026"}, "Azure Front Door"),
    ],
)
def test_headers_name_the_cdn_of_a_host_of_the_sites_domain(headers: dict[str, Any], provider: str) -> None:
    found = proposal(host("static.shop.example", **headers), host("www.shop.example"))
    assert found.role is HostRole.CDN
    assert found.evidence[0].startswith(f"{provider} answers there (")
    assert "Its name belongs to the site's domain shop.example." in found.evidence


def test_a_cache_at_a_host_of_the_site_is_its_cdn() -> None:
    found = proposal(host("static.shop.example", x_cache="HIT"), host("www.shop.example"))
    assert (found.role, found.evidence[0]) == (HostRole.CDN, "A cache answers there (x-cache: HIT).")


def test_a_name_alone_is_weak_evidence_and_says_so() -> None:
    found = proposal(host("cdn.shop.example"), host("www.shop.example"))
    assert (found.role, found.evidence[0]) == (HostRole.CDN, "“cdn” in its name is usual for a CDN (weak).")
    assert proposal(host("static.shop.example"), host("www.shop.example")).role is HostRole.OWN
    assert proposal(host("api.shop.example"), host("www.shop.example")).role is HostRole.OWN
    assert proposal(host("origin.shop.example"), host("www.shop.example")).role is HostRole.ORIGIN


def test_a_host_at_the_sites_own_address_is_the_sites() -> None:
    found = proposal(host("cdn.localhost", x_cache="HIT"), host("shop.localhost"), site="shop.localhost")
    assert found.role is HostRole.CDN
    assert "It answers from the same address as shop.localhost." in found.evidence
    assert "192.0.2.1" not in " ".join(found.evidence)


def test_strangers_share_addresses_at_a_cdn() -> None:
    home = host("www.shop.example", cf_ray="1-FRA")
    assert proposal(host("tags.vendor.example", cf_ray="2-FRA"), home).role is HostRole.THIRD_PARTY


def test_who_is_not_of_the_site_is_a_third_party_whatever_cdn_it_uses() -> None:
    found = proposal(host("tags.vendor.example", address="192.0.2.9", cf_ray="1"), host("www.shop.example"))
    assert found.role is HostRole.THIRD_PARTY
    assert found.evidence[0] == "Its name does not belong to the site's domain shop.example."
    assert found.evidence[1] == "Cloudflare answers there (cf-ray: 1)."


def test_a_customers_name_at_a_cdn_may_be_the_sites_unless_it_sends_documents() -> None:
    found = proposal(host("d111.cloudfront.net", address="192.0.2.9"), host("www.shop.example"))
    assert found.role is HostRole.CDN
    assert "(weak)" in found.evidence[0]
    framed = proposal(host("d111.cloudfront.net", address="192.0.2.9", documents=1), host("www.shop.example"))
    assert framed.role is HostRole.THIRD_PARTY


def test_long_header_values_are_cut() -> None:
    found = proposal(host("www.shop.example", cf_ray="x" * 500))
    assert len(found.evidence[0]) < 120
