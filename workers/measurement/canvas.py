"""What drawings for a terminal have in common: a canvas, numbers, and text that fits. Pure: no terminal is asked."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

from workers.measurement.idn import readable

MIN_WIDTH = 48
MAX_ROWS = 60
# Without colour phases differ by their shade.
SHADES = {"dns": "░", "connect": "▒", "tls": "▓", "send": "╴", "wait": "━", "download": "█"}
# What was still open when it was left, and what is in no phase: the browser's own time, or ours.
OPEN, GAP = "┄", "·"
LABELS = {"dns": "DNS", "connect": "Connect", "tls": "TLS", "send": "Send", "wait": "Wait", "download": "Download"}
# Terminal colours (SGR) in the spirit of the dashboard's palette.
COLOURS = {"dns": "36", "connect": "33", "tls": "35", "send": "90", "wait": "32", "download": "34"}
# Accents and vowels of many scripts, and what chooses between forms of the character before it.
_MARKS = frozenset({"Mn", "Me"})
RED, GREEN, DIM, BOLD = "31", "32", "2", "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Canvas:
    """How wide to draw, in columns (at least `MIN_WIDTH` are used), how many rows of bars at most (None for all of
    them), and whether in colour; `letters` says whether letters beyond ASCII can be shown, and `remedy` is what to add
    to the command to see what did not fit.
    """

    width: int = 100
    rows: int | None = MAX_ROWS
    colour: bool = False
    remedy: str | None = None
    letters: bool = True

    @property
    def columns(self) -> int:
        return max(MIN_WIDTH, self.width)

    def named(self, text: str) -> str:
        """The text with the names of hosts as people write them, where that can be shown."""
        return readable(text) if self.letters else text

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text

    def left_out(self, names: Sequence[str]) -> str:
        """The line that stands for what did not fit: as many of its names as it holds, and how to see all."""
        end = "" if self.remedy is None else f": {self.remedy} shows all"
        told = [", ".join(names[:count]) for count in range(len(names), 0, -1)]
        room = self.columns - columns_of(f"… and {end}")
        return self.paint(f"… and {next((text for text in told if columns_of(text) <= room), told[-1])}{end}", DIM)


def legend(canvas: Canvas, before: str = "") -> str:
    """Which shade is which phase, and what a dot is where there is room for that, behind what stands `before`."""
    phases = [f"{canvas.paint(shade, COLOURS[phase])} {LABELS[phase].lower()}" for phase, shade in SHADES.items()]
    gap = f"{GAP} in no phase"
    width = columns_of(" ".join([before, *(f"{shade} {LABELS[phase]}" for phase, shade in SHADES.items()), gap])) - 1
    return before + " ".join([*phases, canvas.paint(gap, DIM)] if width <= canvas.columns else phases)


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def format_duration(us: int | None) -> str:
    """Three significant digits or whole milliseconds: "0.25 ms", "12.5 ms", "480 ms", "1.24 s"; "-" for None."""
    if us is None:
        return "-"
    if us < 10_000:
        return f"{us / 1000:.2f} ms"
    if us < 100_000:
        return f"{us / 1000:.1f} ms"
    return f"{us / 1000:.0f} ms" if us < 1_000_000 else f"{us / 1_000_000:.2f} s"


def format_bytes(size: int | None) -> str:
    """Decimal units, as browsers show them: "412 B", "17.0 kB", "1.2 MB"; "-" for None."""
    if size is None:
        return "-"
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def pad(text: str, columns: int) -> str:
    fitted = fit(text, columns)
    return fitted + " " * (columns - columns_of(fitted))


def fit(text: str, columns: int) -> str:
    """The text without control characters, cut in its middle where it is too wide: both ends of a URL say something."""
    plain = "".join(char if char.isprintable() else "?" for char in text)
    if columns_of(plain) <= columns:
        return plain
    tail = _take(reversed(plain), (columns - 1) // 2)
    head = _take(plain, columns - 1 - columns_of(tail))
    return f"{''.join(head)}…{''.join(reversed(tail))}"


def hanging(begin: str, text: str, canvas: Canvas, code: str = "") -> list[str]:
    """The text behind its beginning, in as many lines as it needs, all of them aligned."""
    plain = "".join(" " if char.isspace() else char if char.isprintable() else "?" for char in text)
    # Settings are copied from here, and names of headers have hyphens.
    lines = wrap(plain, max(20, canvas.columns - len(begin)), break_on_hyphens=False)
    drawn = [f"{begin if number == 0 else ' ' * len(begin)}{line}" for number, line in enumerate(lines)]
    return [canvas.paint(line, code) for line in drawn] if code else drawn


def _take(chars: Iterable[str], columns: int) -> Sequence[str]:
    taken: list[str] = []
    for char in chars:
        columns -= columns_of(char)
        if columns < 0:
            break
        taken.append(char)
    return taken


def columns_of(text: Iterable[str]) -> int:
    """What a terminal needs for it: wide East Asian characters take two columns, marks on the one before them none."""
    return sum(_char_columns(char) for char in text)


def _char_columns(char: str) -> int:
    if unicodedata.category(char) in _MARKS:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
