"""The declaration: sites as a file says that they shall be, so that they live in a repository like all other code."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

from django.db import transaction
from ninja import Query, Router

from backend.accounts.permissions import Permission, Scope
from backend.api.v1.access import CHANGE_ALERTS, ApiRequest, needs
from backend.api.v1.channels import CHANGE_CHANNELS
from backend.api.v1.declaration_shapes import Declaration, DeclaredSite, wanted_of
from backend.api.v1.limits import Policy
from backend.api.v1.shapes import Out
from backend.declared import actions
from backend.declared.changes import Act, Change, What
from backend.declared.exporting import export

router = Router(tags=["Declaration"])

# Each reads and locks all that is named.
DECLARATIONS = Policy(name="declarations", quota=30, window_s=60, of_organisation=True)

READ = needs(Scope.READ)
WRITE = needs(Scope.WRITE, permission=Permission.EDIT_SITES, policy=DECLARATIONS)
MayDelete = Annotated[
    bool, Query(False, description="Whether what a written list does not name is deleted. Sites never are.")
]
# As the field of a file: a list of texts, numbers or, of a page's steps and cookies, objects.
Value = bool | int | float | str | list[str | int | dict[str, Any]] | dict[str, Any] | None


class ChangedField(Out):
    """A field and what becomes of it, null for as usual. The text of a secret is told to nobody."""

    name: str
    before: Value
    after: Value
    is_secret: bool


class DeclaredChange(Out):
    """`keep` is what would be deleted, had `delete` been said. `site` is null for what is for all sites."""

    act: Act
    what: What
    site: str | None
    name: str
    fields: list[ChangedField]


class Declared(Out):
    """What was changed, or would be; empty when all is as declared."""

    changes: list[DeclaredChange]


class Exported(Out):
    """What there is, as a declaration that changes nothing. `remarks` say what could not be told in it."""

    sites: list[dict[str, Any]]
    rules: list[dict[str, Any]]
    maintenance: list[dict[str, Any]]
    status_pages: list[dict[str, Any]]
    channels: list[dict[str, Any]]
    remarks: list[str]


@router.get("/declaration", auth=READ, response=Exported)
def get_declaration(request: ApiRequest) -> Exported:
    """All sites that are measured, with what is not as usual of their monitors and all else. No secret is told."""
    return Exported(**asdict(export(request.caller.organisation)))


@router.post("/declaration/plan", auth=WRITE, response=Declared)
def plan_declaration(request: ApiRequest, declaration: Declaration, delete: MayDelete = False) -> Declared:
    """What carrying out a declaration would change. Nothing is changed; what cannot be is refused as it would be."""
    return _outcome(actions.plan, request, declaration, delete)


@router.post("/declaration/apply", auth=WRITE, response=Declared)
def apply_declaration(request: ApiRequest, declaration: Declaration, delete: MayDelete = False) -> Declared:
    """Makes everything as declared: all of it, or nothing."""
    return _outcome(actions.carry_out, request, declaration, delete)


def _outcome(
    act: Callable[..., tuple[Change, ...]], request: ApiRequest, declaration: Declaration, delete: bool
) -> Declared:
    caller = request.caller
    if _is_of_alerts(declaration):
        CHANGE_ALERTS(request)
    if any(channel.tells_secrets for channel in declaration.channels or ()):
        CHANGE_CHANNELS(request)
    wanted = wanted_of(declaration)
    with transaction.atomic():
        changes = act(actor=caller.actor, organisation=caller.organisation, wanted=wanted, may_delete=delete)
        # Who may not change channels may still carry out a file in which they are as they are.
        if any(change.what is What.CHANNEL and change.act is not Act.KEEP for change in changes):
            CHANGE_CHANNELS(request)
    return Declared(changes=[_shape(change) for change in changes])


def _is_of_alerts(declaration: Declaration) -> bool:
    parts: tuple[Declaration | DeclaredSite, ...] = (declaration, *declaration.sites)
    return any(part.rules is not None or part.maintenance is not None for part in parts)


def _shape(change: Change) -> DeclaredChange:
    return DeclaredChange(
        act=change.act,
        what=change.what,
        site=change.site,
        name=change.name,
        fields=[ChangedField(**asdict(field)) for field in change.fields],
    )
