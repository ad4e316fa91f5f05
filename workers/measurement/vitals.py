"""What the visitor saw and when: paint, layout and load, as the browser itself reports them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """All from navigation start. `cls` is the session-window score of web-vitals, without unit."""

    fcp_us: int | None = None
    lcp_us: int | None = None
    lcp_element: str | None = None
    lcp_url: str | None = None
    cls: float | None = None
    dom_content_loaded_us: int | None = None
    load_us: int | None = None
    fully_loaded_us: int | None = None
