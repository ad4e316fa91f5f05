"""The files that `firstbyte page` writes besides what it shows."""

import argparse
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from workers.browser.seen import PageRun
from workers.commands import UsageError
from workers.commands.output import OutputError
from workers.measurement.captures_page import NetlogCapture
from workers.measurement.har import browser_of
from workers.measurement.messages import PageMeasurement
from workers.measurement.routes import PictureKind


def must_be_writable(arguments: argparse.Namespace) -> None:
    """Before anything is measured: raises UsageError for a file that could not be written afterwards. Makes nothing."""
    try:
        _must_be_writable(arguments)
    except PermissionError as error:
        raise UsageError(
            f"{error.filename} cannot be reached with the rights of this user; choose another place"
        ) from error


def _must_be_writable(arguments: argparse.Namespace) -> None:
    files = {"--har": "page.har", "--netlog": "netlog.json", "--screenshot": "page.jpg"}
    for option, example in files.items():
        path: Path | None = getattr(arguments, option.removeprefix("--"))
        if path is None:
            continue
        if path.is_dir():
            raise UsageError(f"{option}: {path} is a folder; name a file in it, such as {path / example}")
        if not path.parent.is_dir():
            raise UsageError(f"{option}: there is no folder {path.parent}; make it first, or name another")
        _must_let_write(option, path if path.exists() else path.parent)
    if arguments.filmstrip is not None:
        folder = next(one for one in (arguments.filmstrip, *arguments.filmstrip.absolute().parents) if one.exists())
        if not folder.is_dir():
            raise UsageError(f"--filmstrip: {folder} is a file; name a folder, which is made where it is missing")
        _must_let_write("--filmstrip", folder)


def _must_let_write(option: str, path: Path) -> None:
    if not os.access(path, os.W_OK):
        raise UsageError(f"{option}: {path} may not be written; choose another place, or change its rights")


def write_file(option: str, path: Path, content: bytes) -> None:
    """Raises OutputError, which names the option, where it cannot be written."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise OutputError(f"{option}: {path} cannot be written ({error.strerror or error})") from error


def write_filmstrip(folder: Path, loaded: PageRun) -> None:
    """One picture for each change of the screen, named for its instant, such as `00480-ms.jpg`. Raises OutputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"--filmstrip: {folder} cannot be made ({error.strerror or error})") from error
    for name, picture in _frames(loaded):
        write_file("--filmstrip", folder / name, picture)


def netlog_file(log: NetlogCapture, browser: str | None) -> bytes:
    """The log as Chromium writes one, complete in itself. It names the browser, which a headless one does not do."""
    constants = dict(log.constants)
    if browser is not None and not constants.get("clientInfo"):
        constants["clientInfo"] = browser_of(browser)
    events = b",\n".join(line.rstrip(b",\r\n") for line in log.lines if line.startswith(b"{"))
    return b'{"constants":' + json.dumps(constants).encode() + b',\n"events": [\n' + events + b"]}\n"


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
