"""The files that `firstbyte page` writes besides what it shows."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from workers.browser.seen import PageRun
from workers.commands import UsageError
from workers.measurement.captures_page import NetlogCapture
from workers.measurement.messages import PageMeasurement
from workers.measurement.routes import PictureKind


def write_file(option: str, path: Path, content: bytes) -> None:
    """Raises UsageError, which names the option, where it cannot be written."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{option}: {error}") from error


def write_filmstrip(folder: Path, loaded: PageRun) -> None:
    """One picture for each change of the screen, named for its instant, such as `00480-ms.jpg`. Raises UsageError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--filmstrip: {error}") from error
    for name, picture in _frames(loaded):
        write_file("--filmstrip", folder / name, picture)


def netlog_file(log: NetlogCapture) -> bytes:
    """The log as Chromium writes one, complete in itself."""
    events = b",\n".join(line.rstrip(b",\r\n") for line in log.lines if line.startswith(b"{"))
    return b'{"constants":' + json.dumps(log.constants).encode() + b',\n"events": [\n' + events + b"]}\n"


def _frames(loaded: PageRun) -> Iterator[tuple[str, bytes]]:
    """Cut out of the one picture that they travel as."""
    page, sprite = loaded.outcome.measurement, loaded.pictures.get(PictureKind.FILM)
    if not isinstance(page, PageMeasurement) or page.film is None or sprite is None:
        return
    film = page.film
    with Image.open(io.BytesIO(sprite)) as whole:
        for number, frame in enumerate(film.frames):
            left, top = number % film.columns * film.width, number // film.columns * film.height
            file = io.BytesIO()
            whole.crop((left, top, left + film.width, top + film.height)).save(file, "JPEG", quality=90)
            yield f"{frame.at_us // 1000:05d}-ms.jpg", file.getvalue()
