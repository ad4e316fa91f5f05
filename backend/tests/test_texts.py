import pytest

from backend.alerts.message import clean
from backend.texts import is_one_line
from backend.web.waterfall.text import printable

JOINED = ["👩\u200d👩\u200d👧\u200d👦 shop", "🏳\ufe0f\u200d🌈", "می\u200cروم", "क्\u200dष"]


@pytest.mark.parametrize("text", JOINED)
def test_what_scripts_and_emoji_are_joined_with_stays(text: str) -> None:
    assert is_one_line(text)
    assert printable(text) == text
    assert clean(text) == text


@pytest.mark.parametrize("text", ["shop\u200d", "\u200dshop", "sh\u200cop", "\u202eevil", "👩\u200d\u200d👩", "a\nb"])
def test_what_joins_nothing_is_not_hidden(text: str) -> None:
    assert not is_one_line(text)
    assert printable(text) != text
    assert clean(text) != text
