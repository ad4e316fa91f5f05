"""What all that is carried out has in common: on whose behalf, what it may, what it changed and what cannot be."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from django.utils import timezone

from backend.accounts.models import Organisation, User
from backend.alerts.models import Channel
from backend.declared.changes import Act, Change, FieldChange, What
from backend.faults import FieldFaultError, InvalidError
from backend.fleet.models import Region
from backend.fleet.queries import unknown_among, usable_regions
from backend.sites.actions import SiteLimitError
from workers.measurement.target import TargetError


class DeclarationError(ValueError):
    """It cannot be so. `faults` holds a sentence by its place, such as `sites/0/probe/interval_s`."""

    def __init__(self, faults: dict[str, str]) -> None:
        super().__init__(" ".join(faults.values()))
        self.faults = faults


@dataclass(kw_only=True)
class Carrying:
    """One declaration on its way, at the instant `now`."""

    actor: User | None
    organisation: Organisation
    may_delete: bool
    now: datetime = field(default_factory=timezone.now)
    changes: list[Change] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)

    @cached_property
    def _regions(self) -> Sequence[Region]:
        return usable_regions(self.organisation)

    @cached_property
    def channels(self) -> dict[str, Channel]:
        """Those of the organisation by their names."""
        return {channel.name: channel for channel in Channel.objects.filter(organisation=self.organisation)}

    @contextmanager
    def at(self, path: str) -> Iterator[None]:
        """Carries out one thing. Where it cannot be, the fault is noted for its place, and nothing will have been done
        at the end.
        """
        try:
            yield
        except InvalidError as error:
            self.faults |= {f"{path}/{name.replace('.', '/')}": text for name, text in error.faults.items()}
        except TargetError as error:
            self.faults[f"{path}/url"] = str(error)
        except FieldFaultError as error:
            self.faults[f"{path}/{error.field}"] = str(error)
        except SiteLimitError as error:
            self.faults[path] = str(error)

    def refuse_twice(self, path: str, names: Sequence[str], *, field: str = "name") -> None:
        """Notes a fault for each that is known by a name that another one before it has in the same field."""
        for index, name in enumerate(names):
            if name in names[:index]:
                self.faults[f"{path}/{index}/{field}"] = f"{name[:80]} is named twice."

    def refuse_unknown_regions(self, codes: Iterable[str], *, kept: Sequence[str] = ()) -> None:
        """What is kept may be gone since. Raises InvalidError."""
        if fault := unknown_among(codes, self._regions, kept=kept):
            raise InvalidError({"regions": fault})

    def note(
        self, act: Act, what: What, *, site: str | None, name: str = "", fields: tuple[FieldChange, ...] = ()
    ) -> None:
        self.changes.append(Change(act=act, what=what, site=site, name=name, fields=fields))

    def deletes(self, what: What, *, site: str | None, name: str) -> bool:
        """Whether what nobody named is to go; noted either way."""
        self.note(Act.DELETE if self.may_delete else Act.KEEP, what, site=site, name=name)
        return self.may_delete
