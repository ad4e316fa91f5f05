"""What a page run tells besides its rows: the film, the strips under the waterfall, every view's figures."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from workers.measurement.page_options import PageState
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Waterfall

MAX_FRAMES = 60
MAX_CONSOLE_MESSAGES = 50
MAX_PICTURES = 50
MAX_TEXTS = 10
MAX_HINTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class FilmFrame:
    """One change of the screen. `complete_ppm` is how much of the last picture is there, in millionths."""

    at_us: int
    complete_ppm: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Film:
    """The frames of a load in the order of time. Their pictures, `width` by `height` pixels each, travel as one
    picture side by side, with at most `columns` in a row.
    """

    frames: tuple[FilmFrame, ...]
    width: int
    height: int
    columns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What the machine did, in steps of `step_us` from the run's beginning.

    `received_bytes` came over the network in a step; the other lists are microseconds of the main thread, and of all
    the browser's processes together.
    """

    step_us: int
    received_bytes: tuple[int, ...] = ()
    script_us: tuple[int, ...] = ()
    style_us: tuple[int, ...] = ()
    layout_us: tuple[int, ...] = ()
    other_us: tuple[int, ...] = ()
    cpu_us: tuple[int, ...] = ()

    @property
    def end_us(self) -> int:
        """Where the last step ends."""
        lists = (self.received_bytes, self.script_us, self.style_us, self.layout_us, self.other_us, self.cpu_us)
        return self.step_us * max(map(len, lists))


class ConsoleLevel(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleMessage:
    """An error or warning of the page or of the browser about it; `url` is the script's that it came from."""

    at_us: int | None
    level: ConsoleLevel
    text: str
    url: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPicture:
    """A picture that has more pixels than the page shows of it: `request` is its row's number.

    `width` and `height` are its own, in pixels. `shown_ppm` is how wide the largest place is where the page shows it,
    in millionths of its own width: a pixel of it for each pixel of CSS.
    """

    request: int
    width: int
    height: int
    shown_ppm: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainText:
    """A text that came uncompressed: `request` is its row's number, `gzip_bytes` what gzip makes of the same body."""

    request: int
    body_bytes: int
    gzip_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDelivery:
    """Who delivered a host's answers in this run. `evidence` names what shows it: "header server: cloudflare"."""

    host: str
    cdn: str | None
    evidence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewSample:
    """The figures of one view of a run: the `load`th (from 1), in its state. `failure` is a word of FailureKind."""

    load: int
    state: PageState
    vitals: Vitals
    ttfb_us: int | None = None
    requests: int | None = None
    received_bytes: int | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatView:
    """The second view of the representative load. `began_at` is as the page's."""

    state: PageState
    waterfall: Waterfall
    vitals: Vitals
    document: int | None = None
    began_at: datetime | None = None
