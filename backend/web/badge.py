"""A badge for a README or a page of somebody else's: a name and a state as a small SVG. Pure."""

from html import escape

from backend.web.overview import Level

# White on each of them has a contrast of at least 4.5 (WCAG 2.2, 1.4.3).
_COLOURS: dict[Level, str] = {
    "good": "#0b6127",
    "warn": "#754600",
    "bad": "#a50e0e",
    "info": "#0b55d0",
    "quiet": "#57606c",
}
_LEFT = "#333a44"
# Text is stretched to what is reckoned for it, so that it fits in whatever font there is.
_CHAR_PX, _PAD_PX, _HEIGHT_PX = 6.6, 7, 20
_MAX_CHARS = 60


def badge(name: str, state: str, level: Level) -> str:
    """`Acme status | Up`. Both are cut where they are long."""
    left, right = _cut(name), _cut(state)
    left_px, right_px = _width(left), _width(right)
    label = escape(f"{left}: {right}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left_px + right_px}" height="{_HEIGHT_PX}" role="img" '
        f'aria-label="{label}"><title>{label}</title>'
        f'<rect width="{left_px + right_px}" height="{_HEIGHT_PX}" rx="3" fill="{_COLOURS[level]}"/>'
        f'<path d="M3 0h{left_px - 3}v{_HEIGHT_PX}H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="{_LEFT}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{_text(left, 0, left_px)}{_text(right, left_px, right_px)}</g></svg>"
    )


def _text(text: str, at_px: int, width_px: int) -> str:
    length = f'textLength="{width_px - 2 * _PAD_PX}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{at_px + _PAD_PX}" y="14" {length}>{escape(text)}</text>'


def _width(text: str) -> int:
    return round(len(text) * _CHAR_PX) + 2 * _PAD_PX


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_CHARS else f"{text[: _MAX_CHARS - 1]}…"
