"""Settings of the catalogue as lines for a server's configuration, each at the spot that its remark names."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from workers.diagnosis.catalogue import Setting


class Spot(StrEnum):
    """Where a line stands, or who else is told it."""

    MAIN = "main"
    HTTP = "http"
    SECURE = "secure"
    PLAIN = "plain"
    FILES = "files"
    FRONTEND = "frontend"
    BIND = "bind"
    SECTION = "section"
    HEAD = "head"
    SHELL = "shell"


# What the remark of a line says of its spot, and the spot of lines that have no such words.
_SPOTS: Mapping[str, Mapping[str, Spot]] = {
    "nginx": {"in http": Spot.HTTP, "port 80": Spot.PLAIN, "in the location": Spot.FILES, "": Spot.SECURE},
    "Apache": {"outside of each <VirtualHost>": Spot.MAIN, "port 80": Spot.PLAIN, "": Spot.SECURE},
    "HAProxy": {
        "in global": Spot.MAIN,
        "on the bind line": Spot.BIND,
        "in the frontend": Spot.FRONTEND,
        "a section of its own": Spot.SECTION,
    },
    "Caddy": {"at the head of the Caddyfile": Spot.HEAD, "": Spot.SECURE},
    "Linux": {"": Spot.SHELL},
}
# What a line may end with: two spaces, then words in brackets about it.
_REMARK = re.compile(r"  \((?P<words>.+)\)$")
# No line to write, but what a server does or which one is needed.
_TOLD = re.compile(r"by itself|^version ")
_OF_SHELL = re.compile(r"^(openssl|for|cat|certbot|systemctl) ")
# Since when a line is known, and not what is said of others.
_VERSION = re.compile(r"(?<!since )\b(?P<of>OpenSSL )?(?P<number>\d+(?:\.\d+)+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Lines that stand together, and what is said of them."""

    spot: Spot
    text: str
    remark: str

    def is_newer(self, server: tuple[int, ...], openssl: tuple[int, ...]) -> bool:
        """Than these versions, by its own remark."""
        found = ((openssl if one["of"] else server, one["number"]) for one in _VERSION.finditer(self.remark))
        return any(installed < version(number) for installed, number in found)


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def statements(setting: Setting) -> list[Statement]:
    """None where the setting is no lines to write. KeyError where one does not say where it stands, and must."""
    if _TOLD.search(setting.setting):
        return []
    return [_statement(setting.server, lines) for lines in _blocks(setting.setting)]


def _statement(server: str, lines: Sequence[str]) -> Statement:
    remark = "; ".join(found["words"] for line in lines if (found := _REMARK.search(line)))
    text = "\n".join(_REMARK.sub("", line) for line in lines)
    spots = _SPOTS[server]
    words = next((one for one in spots if one and one in remark), "")
    spot = Spot.SHELL if _OF_SHELL.match(text) else spots[words]
    return Statement(spot=spot, text=text, remark=remark)


def _blocks(text: str) -> Iterator[list[str]]:
    """A line with those that are indented below it, and the one that closes them."""
    block: list[str] = []
    for line in text.split("\n"):
        if block and not line.startswith((" ", "}", "</")):
            yield block
            block = []
        block.append(line)
    yield block
