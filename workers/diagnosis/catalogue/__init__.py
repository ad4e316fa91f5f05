"""How findings are told to people: one definition for the terminal, the pages, the API and messages."""

from collections.abc import Mapping
from dataclasses import replace

from workers.diagnosis.catalogue import answers, certificates, handshake, pages, path
from workers.diagnosis.catalogue.by_severity import ADVICE, TITLES
from workers.diagnosis.catalogue.cases import settings_of
from workers.diagnosis.catalogue.columns import Column, column
from workers.diagnosis.catalogue.entry import Counts, Entry, Setting
from workers.diagnosis.catalogue.fact_words import fact_words, unit_of
from workers.diagnosis.catalogue.reasons import reason_text
from workers.diagnosis.catalogue.servers import answered_by, setting_for
from workers.diagnosis.catalogue.settings import SETTINGS
from workers.measurement.finding import FindingId

__all__ = [
    "Column",
    "Counts",
    "Entry",
    "Setting",
    "advice_of",
    "answered_by",
    "column",
    "entry",
    "fact_words",
    "reason_text",
    "setting_for",
    "settings_of",
    "title_of",
    "unit_of",
]

_WRITTEN: Mapping[FindingId, Entry] = {
    **path.ENTRIES,
    **handshake.ENTRIES,
    **certificates.ENTRIES,
    **answers.ENTRIES,
    **pages.ENTRIES,
}
_ENTRIES = {id: replace(written, settings=SETTINGS.get(id, ())) for id, written in _WRITTEN.items()}


def entry(id: FindingId) -> Entry:
    """What to tell of a cause."""
    return _ENTRIES[id]


def title_of(id: FindingId, severity: str) -> str:
    """What a finding is called, where `entry` has the name of all that its cause may be. `severity` may be a word that
    only a newer agent knows."""
    return TITLES.get(id, {}).get(severity, entry(id).title)


def advice_of(id: FindingId, severity: str) -> str:
    """What to do about a finding, where `entry` has what to do about all that its cause may be."""
    return ADVICE.get(id, {}).get(severity, entry(id).advice)
