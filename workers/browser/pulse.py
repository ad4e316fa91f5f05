"""Whether a browser still lives, and with it the driver through which we speak to it.

Playwright tells that a browser has ended, but not that its own driver has: only calls fail then, with the same words as
those to a page that has closed itself.
"""

import asyncio

from playwright.async_api import Browser, Error

_PATIENCE_S = 2.0


async def is_lost(browser: Browser) -> bool:
    """Whether it can be asked nothing any more. One that is only slow to answer is not lost."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            cdp = await browser.new_browser_cdp_session()
            await cdp.detach()
    except TimeoutError:
        return False
    except Error:
        return True
    return False
