"""Where other work of agents' machines disturbed so many page loads that rules see little."""

# One or two are chance, such as those of a start.
_ENOUGH = 3


def disturbed_text(disturbed: int, loads: int, *, whose: str, where: str = "") -> str:
    """A sentence where it was half of these loads or more; else empty."""
    if disturbed < max(_ENOUGH, loads / 2):
        return ""
    return (
        f"Other work of {whose} machines disturbed {disturbed} of the last {loads} page loads{where}: "
        "these enter no baseline and no rule."
    )
