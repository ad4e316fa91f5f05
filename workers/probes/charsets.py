"""Which charset a body is read in, decided as browsers decide it (WHATWG, Encoding and HTML 13.2.3.2)."""

import codecs
import re

# How far browsers look into a body for what it says of itself.
START_BYTES = 1024
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_IN_TYPE = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE | re.ASCII)
_COMMENT = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)
_IN_BODY = re.compile(
    r"<(?:meta\s[^>]*?charset|\?xml\s[^>]*?encoding)\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE | re.ASCII
)
# Labels that Python's codecs do not know, less their "x-".
_LABELS = {
    "iso-8859-8-i": "iso8859-8",
    "windows-31j": "cp932",
    "windows-874": "cp874",
    "windows-949": "cp949",
}
# What browsers read instead of what the label means to Python (WHATWG Encoding 4.2).
_ON_THE_WEB = {
    "ascii": "cp1252",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-11": "cp874",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "tis-620": "cp874",
    "utf-16": "utf-16-le",
}
_UNNAMED = "cp1252"


def charset_of(content_type: str, start: bytes) -> str:
    """Python's codec for a body of this Content-Type that begins so; windows-1252 where nothing names another.

    `start` is what has come of it, of which the first START_BYTES count.
    """
    for mark, codec in _MARKS:
        if start.startswith(mark):
            return codec
    return _codec(_IN_TYPE.search(content_type)) or _codec_in(start[:START_BYTES]) or _UNNAMED


def _codec_in(start: bytes) -> str | None:
    codec = _codec(_IN_BODY.search(_COMMENT.sub("", start.decode("latin-1"))))
    # It was read as ASCII, which UTF-16 cannot be.
    return "utf-8" if codec is not None and codec.startswith("utf-16") else codec


def _codec(named: re.Match[str] | None) -> str | None:
    if named is None:
        return None
    label = named[1].lower().removeprefix("x-")
    try:
        codec = codecs.lookup(_LABELS.get(label, label)).name
    except LookupError:
        return None
    return _ON_THE_WEB.get(codec, codec)
