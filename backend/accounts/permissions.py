"""Who may do what. Pure: a role in, yes or no out."""

from django.core.exceptions import PermissionDenied
from django.db.models import TextChoices


class Role(TextChoices):
    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


class Permission(TextChoices):
    """The verbs that are guarded. Reading needs membership alone."""

    READ = "read"
    EDIT_SITES = "edit_sites"
    EDIT_ALERTS = "edit_alerts"
    MANAGE_CHANNELS = "manage_channels"
    MANAGE_REGIONS = "manage_regions"
    MANAGE_MEMBERS = "manage_members"
    MANAGE_TOKENS = "manage_tokens"
    READ_AUDIT = "read_audit"
    MANAGE_ORGANISATION = "manage_organisation"


class Scope(TextChoices):
    """What a token is for. It narrows the token's role, and never widens it."""

    READ = "read", "Read sites, runs and all that was measured"
    WRITE = "write", "Register, change and delete sites, monitors, hosts and pairings"
    TEST = "test", "Start measurements now"
    GATES = "gates", "Tell of deploys, and gate them"
    ALERTS = "alerts", "Change rules, incidents, channels and maintenance windows"


_VIEWER = frozenset({Permission.READ})
_MEMBER = _VIEWER | {Permission.EDIT_SITES, Permission.EDIT_ALERTS}
_ADMIN = _MEMBER | {
    Permission.MANAGE_CHANNELS,
    Permission.MANAGE_REGIONS,
    Permission.MANAGE_MEMBERS,
    Permission.MANAGE_TOKENS,
    Permission.READ_AUDIT,
}
_OWNER = _ADMIN | {Permission.MANAGE_ORGANISATION}
_MATRIX = {Role.VIEWER: _VIEWER, Role.MEMBER: _MEMBER, Role.ADMIN: _ADMIN, Role.OWNER: _OWNER}


def allows(role: str, permission: Permission) -> bool:
    """Whether a role includes a permission. Raises ValueError for a role that does not exist."""
    return permission in _MATRIX[Role(role)]


def check(role: str, permission: Permission, *, whose: str = "Your role") -> None:
    """Raises PermissionDenied, with a sentence for people about `whose` role, unless it includes the permission."""
    if not allows(role, permission):
        needed = next(name.value for name in reversed(Role) if permission in _MATRIX[name])
        raise PermissionDenied(f"{whose} is {role}; this needs the role {needed}. Ask an owner or admin.")
