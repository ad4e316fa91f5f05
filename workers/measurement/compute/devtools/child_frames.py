"""Which frames of a saved log of DevTools lie in a page: nobody says which one is the page itself."""

from collections.abc import Collection, Iterable

from workers.measurement.compute.devtools.exchange import Exchange

# Who asks for the document of a frame in a page. What a person or a program opens has another initiator.
_PAGES_OWN = ("parser", "script")


def child_frames(exchanges: Iterable[Exchange], attached: Collection[str]) -> frozenset[str]:
    """Those that DevTools told of as `attached`, and those whose first document a page asked for after another one."""
    found, seen = set(attached), set[str]()
    for exchange in exchanges:
        if exchange.kind != "Document" or exchange.frame is None or exchange.frame in seen:
            continue
        if seen and exchange.initiator.get("type") in _PAGES_OWN:
            found.add(exchange.frame)
        seen.add(exchange.frame)
    return frozenset(found)
