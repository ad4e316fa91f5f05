"""What of a page's options is a matter of the browser's context: whom the page takes its visitor for.

The user agent is Chrome's own for the device that is emulated, with our name behind it and without "Headless". A
monitor that hid itself would be an arms race with the site's own defences, lost on the day of the incident; one with a
name can be let in by a rule. "Headless" alone is left out, since some sites turn it away by that word.
"""

from typing import Any

from playwright.async_api import CDPSession

from workers.measurement.messages import RunRequest
from workers.measurement.page_options import Device
from workers.version import VERSION

# Android's own border between phones and tablets (sw600dp); Chrome on a tablet does not say "Mobile".
_TABLET_WIDTH = 600


def context_options(request: RunRequest, browser_version: str) -> dict[str, Any]:
    """For Playwright's `new_context` and `launch_persistent_context` alike."""
    page = request.page
    screen = {"width": page.device.width, "height": page.device.height}
    options: dict[str, Any] = {
        "accept_downloads": False,
        "ignore_https_errors": request.ignore_certificate_errors,
        "user_agent": page.user_agent or user_agent(browser_version, page.device),
        "viewport": screen,
        "screen": screen,
        "device_scale_factor": page.device.scale,
        "is_mobile": page.device.mobile,
        "has_touch": page.device.mobile,
    }
    return options if page.locale is None else options | {"locale": page.locale}


async def introduce(cdp: CDPSession, request: RunRequest, browser_version: str) -> None:
    """Says the same in client hints as in the user agent: Chrome's own would say "HeadlessChrome" there.

    A user agent of a person's own goes without hints, as from a browser that knows none.
    """
    page, major = request.page, browser_version.partition(".")[0]
    whole: dict[str, Any] = {"userAgent": page.user_agent or user_agent(browser_version, page.device)}
    if page.locale is not None:
        whole["acceptLanguage"] = page.locale
    if page.user_agent is None:
        whole |= _hints(page.device, major, browser_version)
    await cdp.send("Emulation.setUserAgentOverride", whole)


def _hints(device: Device, major: str, version: str) -> dict[str, Any]:
    brands = (("Not:A-Brand", "8"), ("Chromium", major))
    full = (("Not:A-Brand", "8.0.0.0"), ("Chromium", version))
    return {
        "platform": "Linux armv81" if device.mobile else "Linux x86_64",
        "userAgentMetadata": {
            "brands": [{"brand": name, "version": number} for name, number in brands],
            "fullVersionList": [{"brand": name, "version": number} for name, number in full],
            "platform": "Android" if device.mobile else "Linux",
            "platformVersion": "10" if device.mobile else "",
            "architecture": "" if device.mobile else "x86",
            "model": "K" if device.mobile else "",
            "mobile": device.mobile,
        },
    }


def cookies_of(request: RunRequest) -> list[Any]:
    """For Playwright's `add_cookies`: those of a domain hold for its subdomains too."""
    return [
        {"name": cookie.name, "value": cookie.value}
        | ({"url": request.url} if cookie.domain is None else {"domain": _domain(cookie.domain), "path": "/"})
        for cookie in request.page.cookies
    ]


def user_agent(version: str, device: Device) -> str:
    """Chrome's own name on such a device, with ours, so that nobody is deceived."""
    major = version.partition(".")[0]
    machine = "Linux; Android 10; K" if device.mobile else "X11; Linux x86_64"
    hand = " Mobile" if device.mobile and min(device.width, device.height) < _TABLET_WIDTH else ""
    return (
        f"Mozilla/5.0 ({machine}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{major}.0.0.0{hand} Safari/537.36 "
        f"Firstbyte/{VERSION}"
    )


def _domain(domain: str) -> str:
    return f".{domain.lstrip('.')}"
