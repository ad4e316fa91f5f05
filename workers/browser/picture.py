"""What a page looks like, as a JPEG that is small enough to send."""

import base64

from workers.browser.asking import Ask

MAX_SCREENSHOT_BYTES = 1_000_000
# JPEG qualities to try until the picture is small enough.
_QUALITIES = (75, 40, 15)


async def picture_of(ask: Ask) -> bytes | None:
    """The page as it stands; None where it does not answer or is too large."""
    for quality in _QUALITIES:
        options = {"format": "jpeg", "quality": quality, "optimizeForSpeed": True}
        shot = await ask("Page.captureScreenshot", options)
        if shot is None:
            break
        picture = base64.b64decode(shot["data"])
        if len(picture) <= MAX_SCREENSHOT_BYTES:
            return picture
    return None
