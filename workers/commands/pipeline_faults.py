"""Where the service found a fault, as people say it: a JSON pointer is for programs. Standard library only."""

# What was asked as it is written on the command line.
_OPTIONS = {
    "#/site": "--site",
    "?site": "--site",
    "#/monitors": "--monitor",
    "#/runs/per_region": "--runs",
    "#/runs/max_per_region": "--max-runs",
    "#/runs/regions": "--region",
    "#/baseline/window": "--window",
    "#/baseline/min_samples": "--min-samples",
    "#/baseline/gate": "--against",
    "#/baseline/url": "--against-url",
    "#/baseline/urls": "--against-url",
    "#/release/url": "--release-url",
    "#/release/urls": "--release-url",
    "#/deploy/id": "--deploy-id",
    "#/deploy/version": "--deploy-version",
    "#/deploy/url": "--deploy-url",
    "#/deploy/note": "--note",
    "#/confidence": "--confidence",
    "#/on_inconclusive": "--on-inconclusive",
    "#/timeout_s": "--timeout",
}
_WORDS = {
    "max_change_pct": "limit",
    "max_value": "greatest value",
    "max_value_ms": "greatest value",
    "min_change": "least change",
    "min_change_ms": "least change",
}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def place_of(pointer: str) -> str:
    """`#/rules/0/metric` is the metric of the first rule; what is an option is called by its name. Empty for the
    whole of what was asked.
    """
    path = pointer.removeprefix("#").removeprefix("/")
    option = next((name for known, name in _OPTIONS.items() if pointer == known or pointer.startswith(f"{known}/")), "")
    if option or not pointer.startswith("#") or not path:
        return option or path
    return " of ".join(reversed(_names(path.split("/"))))


def _names(parts: list[str]) -> list[str]:
    """Each level of a path in words: `rules`, `0` are the first rule."""
    names: list[str] = []
    for part in parts:
        if part.isdigit() and names:
            names[-1] = _numbered(names[-1].removeprefix("the ").removesuffix("s"), int(part))
        else:
            unescaped = part.replace("~1", "/").replace("~0", "~")
            names.append(f"the {_WORDS.get(unescaped, unescaped.replace('_', ' '))}")
    return names


def _numbered(name: str, place: int) -> str:
    return f"the {_ORDINALS[place]} {name}" if place < len(_ORDINALS) else f"{name} {place + 1}"
