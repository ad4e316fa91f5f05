"""The form of a page monitor: what every monitor has, and how its page is loaded."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from django import forms

from backend.faults import InvalidError
from backend.sites.monitor_settings import MAX_PAGE_LOADS, MonitorSettings
from backend.web.forms.followed import FollowedField
from backend.web.forms.sites import MonitorChoices, MonitorForm
from workers.measurement.page_options import DEVICES, Cookie, Device, Login, PageOptions, PageState, Protocol, Step
from workers.measurement.page_rules import PageOptionError, parse_cookie, parse_host, parse_mapping, parse_screen
from workers.measurement.script_text import parse_script, script_text

_MAX_LINES_CHARS = 300_000
_MAX_RECORDING_CHARS = 1_048_576
_PROTOCOLS = {Protocol.H1: "HTTP/1.1 only", Protocol.H2: "HTTP/2 only", Protocol.H3: "HTTP/3 only"}
_REPEATS = {
    PageState.WARM_CACHE: "with the cache of the first visit",
    PageState.WARM_CONNECTION: "with its cache and its connections",
}
T = TypeVar("T")


def _lines(label: str, placeholder: str, help_text: str, *, secret: bool = False) -> forms.CharField:
    area = forms.Textarea(attrs={"rows": 3, "placeholder": placeholder, "spellcheck": "false", "data-secret": secret})
    return forms.CharField(label=label, required=False, max_length=_MAX_LINES_CHARS, widget=area, help_text=help_text)


class PageMonitorForm(MonitorForm):
    """Cookies, the password and secrets of steps are written, never shown: what is there stays until it is replaced."""

    device = forms.ChoiceField(label="Device")
    screen = forms.CharField(
        label="Another screen",
        required=False,
        max_length=40,
        help_text="WIDTHxHEIGHT of a desktop, such as 1920x1080, in place of the device.",
    )
    protocol = forms.ChoiceField(
        label="Protocol",
        required=False,
        choices=[("", "As browser and server agree"), *((each.value, text) for each, text in _PROTOCOLS.items())],
        help_text="The same page can be compared with and without multiplexing.",
    )
    loads = forms.IntegerField(
        label="Loads in a run",
        help_text=f"1 to {MAX_PAGE_LOADS}, each cold. The representative one stands for the run.",
        widget=forms.NumberInput(attrs={"min": 1, "max": MAX_PAGE_LOADS}),
    )
    repeat = forms.ChoiceField(
        label="Second visit",
        required=False,
        choices=[("", "None"), *((each.value, text) for each, text in _REPEATS.items())],
        help_text="Told beside the first visit, and never compared with it.",
    )
    locale = forms.CharField(label="Language", required=False, max_length=100, help_text="Such as de or de-CH.")
    user_agent = forms.CharField(
        label="User agent", required=False, max_length=10_000, help_text="Empty says Chromium's own."
    )
    user_timings = FollowedField(
        label="Followed as metrics",
        help_text="What the page measures itself: mark:hero-painted, measure:cart-ready or element:hero. Each is"
        " charted from now on, and its values stay under this name.",
    )
    host_map = _lines("Hosts at other addresses", "cdn.example.com=192.0.2.1", "One HOST=ADDRESS[:PORT] a line.")
    black_holes = _lines("Hosts that never answer", "ads.example.com", "One a line: what is the page without them?")
    remove_cookies = forms.MultipleChoiceField(
        label="Cookies that are set", required=False, widget=forms.CheckboxSelectMultiple
    )
    cookies = _lines(
        "Add or replace cookies",
        "consent=yes",
        "One NAME=VALUE a line, for the page's host. Values are stored encrypted and never shown again.",
        secret=True,
    )
    remove_login = forms.BooleanField(label="Remove user name and password", required=False)
    login_user = forms.CharField(
        label="User name",
        required=False,
        max_length=10_000,
        help_text="For a server that asks by basic authentication.",
    )
    login_password = forms.CharField(
        label="Password",
        required=False,
        max_length=10_000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Stored encrypted and never shown again. Empty keeps the one that is set.",
    )
    steps = forms.CharField(
        label="Steps before the page",
        required=False,
        max_length=_MAX_RECORDING_CHARS,
        widget=forms.Textarea(
            attrs={
                "rows": 6,
                "spellcheck": "false",
                "autocomplete": "off",
                "placeholder": (
                    "visit https://www.example.com/login\ntype me@example.com into #user\n"
                    "secret … into #password\nclick #sign-in\nwait for .account"
                ),
            }
        ),
        help_text=(
            "For a page behind a login, one a line: visit URL, click SELECTOR, type TEXT into SELECTOR, secret TEXT"
            " into SELECTOR, press Enter (or Tab, Escape), wait for SELECTOR. In a frame: FRAME >>> SELECTOR. A secret"
            " is stored encrypted and never shown again; dots keep it. Or put in a recording of Chrome's Recorder,"
            " exported as JSON."
        ),
    )

    def __init__(self, data: Any = None, *, choices: MonitorChoices) -> None:
        super().__init__(data, choices=choices)
        page = choices.settings.page
        self.initial.update(_initial(page), user_timings=choices.settings.user_timings)
        self.timings_told = choices.timings_told
        device = self.fields["device"]
        assert isinstance(device, forms.ChoiceField)
        known = DEVICES | {page.device.name: page.device}
        device.choices = [(name, f"{name}, {one.width} by {one.height}") for name, one in known.items()]
        self._offer("remove_cookies", [(cookie.name, f"Remove {cookie.name}") for cookie in page.cookies])
        if not page.cookies:
            del self.fields["remove_cookies"]
        if page.login is None:
            del self.fields["remove_login"]

    def clean_screen(self) -> Device | None:
        text = self.cleaned_data["screen"]
        return _read(text, parse_screen)[0] if text else None

    def clean_host_map(self) -> tuple[Any, ...]:
        return _read(self.cleaned_data["host_map"], parse_mapping)

    def clean_black_holes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_read(self.cleaned_data["black_holes"], parse_host)))

    def clean_cookies(self) -> tuple[Cookie, ...]:
        return _read(self.cleaned_data["cookies"], parse_cookie)

    def clean_steps(self) -> tuple[Step, ...]:
        """Each line at fault has its sentence."""
        try:
            return parse_script(self.cleaned_data["steps"])
        except PageOptionError as error:
            raise forms.ValidationError(str(error).splitlines()) from error

    def settings(self) -> MonitorSettings:
        settings, before = super().settings(), self._choices.settings.page
        page = self._page(before)
        written = {"page"} if page != before else set()
        unreadable = tuple(name for name in settings.unreadable if name not in written)
        return replace(settings, page=page, user_timings=self.cleaned_data["user_timings"], unreadable=unreadable)

    def add_faults(self, error: InvalidError) -> None:
        """A fault of the login stands at its user name, one of the screen where it was written."""
        places = {"login": "login_user", "device": "screen"}
        faults = {places.get(name, name): text for name, text in error.faults.items()}
        super().add_faults(InvalidError(faults))

    def _page(self, before: PageOptions) -> PageOptions:
        data = self.cleaned_data
        return replace(
            before,
            device=data["screen"] or (DEVICES | {before.device.name: before.device})[data["device"]],
            protocol=Protocol(data["protocol"]) if data["protocol"] else None,
            loads=data["loads"],
            repeat=PageState(data["repeat"]) if data["repeat"] else None,
            locale=data["locale"] or None,
            user_agent=data["user_agent"] or None,
            host_map=data["host_map"],
            black_holes=data["black_holes"],
            cookies=_cookies(before.cookies, data["cookies"], data.get("remove_cookies", ())),
            login=_login(before.login, data),
            steps=data["steps"],
        )


def _initial(page: PageOptions) -> dict[str, Any]:
    mapped = ((one, f"[{one.address}]" if ":" in one.address and one.port else one.address) for one in page.host_map)
    return {
        "device": page.device.name,
        "protocol": page.protocol or "",
        "loads": page.loads,
        "repeat": page.repeat or "",
        "locale": page.locale or "",
        "user_agent": page.user_agent or "",
        "host_map": "\n".join(f"{one.host}={at}{f':{one.port}' if one.port else ''}" for one, at in mapped),
        "black_holes": "\n".join(page.black_holes),
        "login_user": page.login.user if page.login else "",
        "steps": script_text(page.steps),
    }


def _read(text: str, parse: Callable[[str], T]) -> tuple[T, ...]:
    """What the lines say; the sentence of the first that says nothing is the field's."""
    try:
        return tuple(parse(line) for line in text.splitlines() if line.strip())
    except PageOptionError as error:
        raise forms.ValidationError(str(error)) from error


def _cookies(before: Sequence[Cookie], added: Sequence[Cookie], removed: Sequence[str]) -> tuple[Cookie, ...]:
    gone = {*removed, *(cookie.name for cookie in added)}
    return (*(cookie for cookie in before if cookie.name not in gone), *added)


def _login(before: Login | None, data: dict[str, Any]) -> Login | None:
    if data.get("remove_login") or not (data["login_user"] or data["login_password"]):
        return None
    return Login(user=data["login_user"], password=data["login_password"] or (before.password if before else ""))
