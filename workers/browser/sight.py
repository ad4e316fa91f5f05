"""From what was captured of a page's looks to its figures, and its film as one picture. The only place that decodes."""

import io
from collections.abc import Sequence
from dataclasses import replace

from PIL import Image

from workers.browser.own_headers import own_headers
from workers.measurement.captures_page import PageCapture
from workers.measurement.captures_sight import ScreenFrame, SightCapture
from workers.measurement.compute.page.sight import progress_of, with_sight, zero_of
from workers.measurement.messages import PageMeasurement, RunRequest
from workers.measurement.page_options import TypeText
from workers.measurement.page_view import Film

COLUMNS = 10
MAX_FILM_BYTES = 200_000
# JPEG qualities to try until the film is small enough; the last is small enough for any.
_QUALITIES = (60, 40, 25, 10)
# A frame is never larger (see `film`); more would be a fault, and decoding it a risk.
_MAX_PIXELS = 400 * 400
# A shorter secret stands in any text by chance.
_SHORTEST_SECRET = 4


def see(
    page: PageMeasurement, capture: PageCapture, sight: SightCapture | None, request: RunRequest
) -> tuple[PageMeasurement, bytes | None]:
    """The page with its looks, and the picture of its film (JPEG, 200 kB at most) when there is one.

    Where nobody looked (None) the page stays as it is.
    """
    if sight is None:
        return page, None
    zero = zero_of(capture.events, capture.clock_step_us)
    frames = _decoded(sight.frames)
    progress = progress_of([(wall_s, image.histogram()) for wall_s, image in frames], zero)
    seen = with_sight(page, sight, progress, zero=zero, until_us=capture.told_us, secrets=_secrets(request))
    if not progress.frames:
        return seen, None
    images = [frames[number][1] for number in progress.pictures]
    width, height = images[0].size
    film = Film(frames=progress.frames, width=width, height=height, columns=min(COLUMNS, len(images)))
    return replace(seen, film=film), _sprite(images, film)


def _decoded(frames: Sequence[ScreenFrame]) -> list[tuple[float, Image.Image]]:
    """Those that have the size of the last: a page that changes its size in the middle cannot be compared."""
    decoded = [(frame.wall_s, image) for frame in frames if (image := _open(frame.picture)) is not None]
    return [(wall_s, image) for wall_s, image in decoded if image.size == decoded[-1][1].size]


def _open(picture: bytes) -> Image.Image | None:
    try:
        image = Image.open(io.BytesIO(picture), formats=("JPEG",))
        return image.convert("RGB") if image.width * image.height <= _MAX_PIXELS else None
    except OSError:
        return None


def _sprite(images: Sequence[Image.Image], film: Film) -> bytes | None:
    rows = -(-len(images) // film.columns)
    sprite = Image.new("RGB", (film.width * film.columns, film.height * rows), "white")
    for number, image in enumerate(images):
        sprite.paste(image, (number % film.columns * film.width, number // film.columns * film.height))
    for quality in _QUALITIES:
        file = io.BytesIO()
        sprite.save(file, "JPEG", quality=quality)
        if file.tell() <= MAX_FILM_BYTES:
            return file.getvalue()
    return None


def _secrets(request: RunRequest) -> frozenset[str]:
    """What the owner gave us to send, which a page might say aloud in its console."""
    page = request.page
    given = [header.value for header in own_headers(request)]
    given += [cookie.value for cookie in page.cookies]
    given += [] if page.login is None else [page.login.password]
    given += [step.text for step in page.steps if isinstance(step, TypeText) and step.secret]
    return frozenset(secret for secret in given if len(secret) >= _SHORTEST_SECRET)
