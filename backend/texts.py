"""What of a person's text is there to be seen. Pure.

Zero width joiners are format characters like those that turn the direction of a line, and yet part of how people write:
Persian and the scripts of India need them (Unicode 23.2), and families of emoji are made of them (UTS 51).
"""

_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"
# The end of Latin and of what looks like it: among these a joiner joins nothing, and would only make two names alike.
_LAST_LATIN = "\u02ff"


def joins(text: str, place: int) -> bool:
    """Whether the character at that place is a joiner between two that can be joined."""
    if text[place] not in _JOINERS:
        return False
    beside = text[max(place - 1, 0) : place] + text[place + 1 : place + 2]
    return len(beside) == 2 and min(beside) > _LAST_LATIN and beside.isprintable()


def is_one_line(text: str) -> bool:
    """Whether all of it can be shown in a line: no control, format or unassigned characters."""
    return text.isprintable() or all(char.isprintable() or joins(text, place) for place, char in enumerate(text))
