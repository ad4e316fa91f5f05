"""Rules as they shall be. They have no name that is theirs alone: those of one kind, place and name are told apart by
what they say, so that what is written as it is stays, and of the rest one takes the place of the other.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from backend.alerts.actions import rules as actions
from backend.alerts.actions.rules import RuleSettings
from backend.alerts.models import Channel, Rule
from backend.alerts.parameters import KINDS, checked
from backend.declared.carrying import Carrying
from backend.declared.changes import Act, Document, What, differences
from backend.declared.documents import rule_document
from backend.declared.wanted import WantedRule
from backend.faults import InvalidError
from backend.sites.models import Monitor, Site

# The kind, the monitor's key or None, and the name.
_Key = tuple[str, int | None, str]
# Monitors by what the file calls them: ("probe", None), ("page", None), (None, a pair's name).
Monitors = Mapping[tuple[str | None, str | None], Monitor]


def carry_out_rules(
    carrying: Carrying,
    path: str,
    known: Sequence[Rule],
    wanted: Sequence[WantedRule],
    *,
    site: Site | None = None,
    monitors: Monitors | None = None,
) -> None:
    """Makes, changes and deletes rules of a site, or of all, until they are as wanted."""
    one = _Rules(carrying, known, site, monitors or {})
    others = []
    for index, rule in enumerate(wanted):
        place = f"{path}/{index}"
        with carrying.at(place):
            if not one.is_there(rule):
                others.append((place, rule))
    for place, rule in others:
        with carrying.at(place):
            one.make_so(rule)
    one.delete_left()


class _Rules:
    """The rules of one place: what nobody asked for yet is left."""

    def __init__(self, carrying: Carrying, known: Sequence[Rule], site: Site | None, monitors: Monitors) -> None:
        self._carrying, self._site, self._monitors = carrying, site, monitors
        self._left: dict[_Key, list[Rule]] = defaultdict(list)
        for rule in known:
            self._left[(rule.kind, rule.monitor_id, rule.name)].append(rule)

    def is_there(self, wanted: WantedRule) -> bool:
        """Whether a rule is just so; it is left no longer. Raises InvalidError."""
        left, document = self._left[self._key(wanted)], self._document(wanted)
        same = next((rule for rule in left if rule_document(rule) == document), None)
        if same is not None:
            left.remove(same)
        return same is not None

    def make_so(self, wanted: WantedRule) -> None:
        """Changes a rule that is left, or makes one. Raises InvalidError."""
        settings, left = self._settings(wanted), self._left[self._key(wanted)]
        carrying, site = self._carrying, self._site
        if not left:
            monitor = self._monitor(wanted)
            made = actions.create_rule(
                actor=carrying.actor, organisation=carrying.organisation, settings=settings, site=site, monitor=monitor
            )
            carrying.note(Act.CREATE, What.RULE, site=self._name, name=made.title)
            return
        rule = left.pop(0)
        before = rule_document(rule)
        actions.change_rule(actor=carrying.actor, rule=rule, settings=settings)
        fields = differences(before, self._document(wanted))
        carrying.note(Act.CHANGE, What.RULE, site=self._name, name=rule.title, fields=fields)

    def delete_left(self) -> None:
        for rule in (rule for rules in self._left.values() for rule in rules):
            if self._carrying.deletes(What.RULE, site=self._name, name=rule.title):
                actions.delete_rule(actor=self._carrying.actor, rule=rule)

    @property
    def _name(self) -> str | None:
        return None if self._site is None else self._site.name

    def _key(self, wanted: WantedRule) -> _Key:
        monitor = self._monitor(wanted)
        return wanted.kind, monitor.pk if monitor else None, wanted.name.strip()

    def _monitor(self, wanted: WantedRule) -> Monitor | None:
        if wanted.monitor is None and wanted.pair is None:
            return None
        found = self._monitors.get((wanted.monitor, wanted.pair))
        if found is None:
            field = "monitor" if wanted.pair is None else "pair"
            raise InvalidError({field: "There is no such monitor here."})
        return found

    def _settings(self, wanted: WantedRule) -> RuleSettings:
        return RuleSettings(
            kind=wanted.kind,
            params=wanted.params,
            name=wanted.name,
            severity=wanted.severity,
            channels=self._channels(wanted),
            notify=wanted.notify,
            enabled=wanted.enabled,
            delay_s=wanted.delay_s,
            remind_every_s=wanted.remind_every_s,
        )

    def _channels(self, wanted: WantedRule) -> list[Channel]:
        known = self._carrying.channels
        unknown = [name for name in wanted.channels if name not in known]
        if unknown:
            choice = ", ".join(sorted(known)) or "none yet"
            raise InvalidError({"channels": f"There is no channel {unknown[0][:80]!r}; there are {choice}."})
        return [known[name] for name in dict.fromkeys(wanted.channels)]

    def _document(self, wanted: WantedRule) -> Document:
        """The rule as it will be told. Raises InvalidError."""
        params = checked(wanted.kind, wanted.params)
        return {
            "kind": wanted.kind,
            "name": wanted.name.strip(),
            "params": params,
            "severity": wanted.severity or KINDS[wanted.kind].severity,
            "channels": sorted(set(wanted.channels)),
            "notify": wanted.notify,
            "enabled": wanted.enabled,
            "delay_s": wanted.delay_s,
            "remind_every_s": wanted.remind_every_s,
        }
