"""Numbers in sentences."""


def ms(us: float) -> str:
    """ "0.42 ms", "8.3 ms", "54 ms": without a sign."""
    value = abs(us) / 1000
    if value < 0.995:
        return f"{value:.2f} ms"
    return f"{value:.1f} ms" if value < 9.95 else f"{value:,.0f} ms"


def signed_ms(us: float) -> str:
    """The same with the sign that it has; what is told as nought has none."""
    return f"\N{MINUS SIGN}{ms(us)}" if us <= -5 else ms(us)


def size(count: float) -> str:
    """Decimal units: "412 B", "17.0 kB", "1.2 MB"."""
    if round(count) < 1000:
        return f"{count:.0f} B"
    return f"{count / 1000:.1f} kB" if round(count / 1000, 1) < 1000 else f"{count / 1_000_000:.1f} MB"


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def span(seconds: int) -> str:
    """In whole units of which there is one at least: "365 days", "1 hour", "30 seconds"."""
    for noun, length_s in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length_s:
            return counted(seconds // length_s, noun)
    return counted(seconds, "second")


def lasting(seconds: float) -> str:
    """In the largest unit of which there are two at least, in a narrow line: "40 s", "90 min", "4 h", "12 days"."""
    for name, length_s in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length_s:
            return f"{seconds // length_s:,.0f} {name}"
    return f"{seconds:.0f} s"


def begin(name: str) -> str:
    """A name as a sentence begins with it: "The CDN", but "a" as it is."""
    return name[0].upper() + name[1:] if name.startswith("the ") else name
