from backend.compare.proposals import MAX_BYTES, MAX_PROPOSALS, propose_pairs
from backend.compare.tests.test_seen import request
from backend.sites.models import HostRole
from workers.measurement.waterfall import Request, ResourceType, ServedFrom, Waterfall

ROLES = {
    "cdn.example": HostRole.CDN,
    "www.example": HostRole.ORIGIN,
    "tags.example": HostRole.THIRD_PARTY,
}
DOCUMENT = request(1, "https://www.example:8443/", resource_type=ResourceType.DOCUMENT, status=200)


def asset(number: int, url: str, size: int, **changes: object) -> Request:
    return request(number, url, status=200, transferred_bytes=size, **changes)


def proposed(*rows: Request, known: tuple[str, ...] = (), home: Request = DOCUMENT) -> list[str]:
    waterfall = Waterfall(requests=(home, *rows), connections=())
    return [one.cdn_url for one in propose_pairs([waterfall, waterfall], ROLES, known)]


def test_the_biggest_asset_of_each_kind_comes_first_then_the_rest() -> None:
    rows = (
        asset(2, "https://cdn.example/small.js", 1_000),
        asset(3, "https://cdn.example/big.js", 90_000),
        asset(4, "https://cdn.example/app.css", 20_000, resource_type=ResourceType.STYLESHEET),
        asset(5, "https://cdn.example/hero.jpg", 80_000, resource_type=ResourceType.IMAGE),
        asset(6, "https://cdn.example/other.jpg", 70_000, resource_type=ResourceType.IMAGE),
    )
    assert [url.rpartition("/")[2] for url in proposed(*rows)] == [
        "big.js",
        "hero.jpg",
        "app.css",
        "other.jpg",
        "small.js",
    ]


def test_the_origin_is_where_the_page_itself_comes_from() -> None:
    waterfall = Waterfall(requests=(DOCUMENT, asset(2, "https://cdn.example/a/big.js?v=1", 90_000)), connections=())
    (pair,) = propose_pairs([waterfall], ROLES, ())
    assert (pair.origin, pair.name, pair.bytes) == ("https://www.example:8443", "/a/big.js", 90_000)


def test_without_an_origin_in_sight_it_has_to_be_said() -> None:
    behind = request(1, "https://cdn.example/", resource_type=ResourceType.DOCUMENT, status=200)
    waterfall = Waterfall(requests=(behind, asset(2, "https://cdn.example/big.js", 90_000)), connections=())
    (pair,) = propose_pairs([waterfall], ROLES, ())
    assert pair.origin is None


def test_only_whole_static_answers_of_cdns_are_worth_it() -> None:
    rows = (
        asset(2, "https://tags.example/t.js", 9_000),
        asset(3, "https://www.example/own.js", 9_000),
        asset(4, "https://cdn.example/api.json", 9_000, resource_type=ResourceType.FETCH),
        asset(5, "https://cdn.example/huge.jpg", MAX_BYTES + 1, resource_type=ResourceType.IMAGE),
        asset(6, "https://cdn.example/cached.js", 9_000, served_from=ServedFrom.DISK_CACHE),
        asset(7, "https://cdn.example/form.js", 9_000, method="POST"),
        request(8, "https://cdn.example/gone.js", status=404, transferred_bytes=900),
        asset(9, "https://cdn.example/empty.js", 0),
        asset(10, f"https://cdn.example/{'x' * 3_000}", 9_000),
    )
    assert proposed(*rows) == []


def test_what_is_compared_already_is_not_proposed_and_there_are_not_too_many() -> None:
    rows = [asset(n, f"https://cdn.example/{n}.js", n * 100) for n in range(2, 20)]
    found = proposed(*rows, known=("https://cdn.example/19.js",))
    assert len(found) == MAX_PROPOSALS
    assert found[0] == "https://cdn.example/18.js"
