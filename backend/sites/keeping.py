"""Secrets of a monitor, which stay with the server they were given for.

Who edits a monitor has KEPT in the place of each secret, and what he leaves so keeps its text. That holds only while it
goes where it went: whoever may edit a monitor and does not know its secrets cannot have them sent to another server.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from backend.sites.models import Monitor
from backend.sites.monitor_settings import UNREADABLE, InvalidMonitorError, MonitorSettings, stored_settings
from workers.measurement.connection import Header
from workers.measurement.page_options import Cookie, Login, PageOptions, Step, TypeText
from workers.measurement.page_rules import PageOptionError
from workers.measurement.script_text import KEPT
from workers.measurement.script_text import with_kept as with_kept_secrets
from workers.measurement.target import origin_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """To whom something is sent. `text` is for people."""

    ends: tuple[tuple[str, str], ...]
    text: str


def settings_of(monitor: Monitor) -> MonitorSettings:
    """The settings as they may be shown, changed and given back."""
    return masked(stored_settings(monitor))


def header_names(monitor: Monitor) -> list[str]:
    """The request headers that are set; of such as cannot be read one name for all."""
    settings = stored_settings(monitor)
    lost = [UNREADABLE["headers"]] if "headers" in settings.unreadable else []
    return list(dict.fromkeys([*lost, *(header.name for header in settings.headers)]))


def masked(settings: MonitorSettings) -> MonitorSettings:
    """The settings as they may be told: KEPT in place of each secret."""
    page = settings.page
    return replace(
        settings,
        headers=tuple(Header(name=header.name, value=KEPT) for header in settings.headers),
        page=replace(
            page,
            cookies=tuple(replace(cookie, value=KEPT) for cookie in page.cookies),
            login=page.login and replace(page.login, password=KEPT),
            steps=tuple(
                replace(step, text=KEPT) if isinstance(step, TypeText) and step.secret else step for step in page.steps
            ),
        ),
    )


def with_kept(settings: MonitorSettings, before: MonitorSettings) -> MonitorSettings:
    """The settings with what is to be kept of those before. Raises InvalidMonitorError for what cannot be."""
    keeping = _Keeping(settings, before)
    kept = replace(
        settings,
        headers=keeping.headers(),
        page=replace(settings.page, cookies=keeping.cookies(), login=keeping.login(), steps=keeping.steps()),
    )
    keeping.unreadable()
    if keeping.faults:
        raise InvalidMonitorError(keeping.faults)
    return kept


def without_headers(settings: MonitorSettings) -> MonitorSettings:
    """The settings with no request headers, not even such as cannot be read."""
    return replace(settings, headers=(), unreadable=tuple(name for name in settings.unreadable if name != "headers"))


def account(given: MonitorSettings, before: MonitorSettings) -> dict[str, object]:
    """For the audit log: what became of the secrets of a monitor that measures another place now. Names, no values.

    `given` are the settings as they came, with KEPT where something is kept. Empty when nothing moved.
    """
    old, new = _way(before), _way(given)
    secrets = dict(_secrets(before))
    if not secrets or old.ends == new.ends:
        return {}
    kept = {name for name, text in _secrets(given) if text == KEPT}
    written = {name for name, text in _secrets(given) if text != KEPT}
    return {
        "from": old.text,
        "to": new.text,
        "secrets_kept": sorted(kept),
        "secrets_written": sorted(written),
        "secrets_dropped": sorted(secrets.keys() - kept - written),
    }


class _Keeping:
    """One edit: the settings as they come, and those before; `faults` holds a sentence by field."""

    def __init__(self, settings: MonitorSettings, before: MonitorSettings) -> None:
        self._settings, self._before = settings, before
        self.faults: dict[str, str] = {}

    def headers(self) -> tuple[Header, ...]:
        known: dict[str, list[str]] = defaultdict(list)
        for header in self._before.headers:
            known[header.name.lower()].append(header.value)
        kept = dict.fromkeys(header.name for header in self._settings.headers if header.value == KEPT)
        self._must_stay("headers", list(kept))
        return tuple(
            replace(header, value=self._known("headers", header.name, known[header.name.lower()]))
            if header.value == KEPT
            else header
            for header in self._settings.headers
        )

    def cookies(self) -> tuple[Cookie, ...]:
        known = {(cookie.name, cookie.domain): [cookie.value] for cookie in self._before.page.cookies}
        cookies = self._settings.page.cookies
        self._must_stay("cookies", [f"cookie {cookie.name}" for cookie in cookies if cookie.value == KEPT])
        return tuple(
            replace(cookie, value=self._known("cookies", cookie.name, known.get((cookie.name, cookie.domain), [])))
            if cookie.value == KEPT
            else cookie
            for cookie in cookies
        )

    def login(self) -> Login | None:
        login, before = self._settings.page.login, self._before.page.login
        if login is None or login.password != KEPT:
            return login
        self._must_stay("login", ["the password"])
        return replace(login, password=self._known("login", "the password", [before.password] if before else []))

    def steps(self) -> tuple[Step, ...]:
        page, before = self._settings.page, self._before.page
        try:
            return with_kept_secrets(page.steps, before.steps, moved=_mapped(page) != _mapped(before))
        except PageOptionError as error:
            self.faults["steps"] = str(error)
            return ()

    def unreadable(self) -> None:
        """What nobody can read may be open again tomorrow, so it is bound as well."""
        for field in self._settings.unreadable:
            self._must_stay(field, [UNREADABLE[field]])

    def _known(self, field: str, name: str, values: list[str]) -> str:
        if not values:
            self.faults.setdefault(field, f"Nothing is stored for {name[:100]} that could be kept; write it.")
            return ""
        return values.pop(0)

    def _must_stay(self, field: str, names: Sequence[str]) -> None:
        """Adds a sentence where something would go to another server than before."""
        old, new = _way(self._before), _way(self._settings)
        if names and old.ends != new.ends:
            text = ", ".join(names)
            was, it, each = ("was", "it", "it") if len(names) == 1 else ("were", "them", "each")
            self.faults.setdefault(
                field,
                f"{text[0].upper()}{text[1:]} {was} given for {old.text}, and this change would send {it} to"
                f" {new.text}. Write {each} again, or remove {it}.",
            )


def _way(settings: MonitorSettings) -> _Way:
    """Where secrets go. Every host that is mapped counts: whose script a page runs may read what is typed into it."""
    ends = [(origin_of(settings.url)[0], "")]
    if settings.other is not None:
        ends.append((origin_of(settings.other.url)[0], settings.other.address or ""))
    ends += _mapped(settings.page)
    return _Way(ends=tuple(ends), text=" and ".join(f"{end} at {at}" if at else end for end, at in ends))


def _mapped(page: PageOptions) -> list[tuple[str, str]]:
    """Hosts with the addresses that they are reached at."""
    return sorted((one.host, f"{one.address} port {one.port}" if one.port else one.address) for one in page.host_map)


def _secrets(settings: MonitorSettings) -> Iterator[tuple[str, str]]:
    """Names for people, with texts."""
    yield from ((UNREADABLE[field], KEPT) for field in settings.unreadable)
    yield from ((f"header {header.name}", header.value) for header in settings.headers)
    yield from ((f"cookie {cookie.name}", cookie.value) for cookie in settings.page.cookies)
    if settings.page.login is not None:
        yield "password", settings.page.login.password
    for step in settings.page.steps:
        if isinstance(step, TypeText) and step.secret:
            yield f"secret into {step.selector}", step.text
