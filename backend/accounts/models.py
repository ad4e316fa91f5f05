"""People, their organisations, and who did what."""

from typing import ClassVar
from uuid import uuid4

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone

from backend.accounts.managers import UserManager
from backend.accounts.permissions import Role


class Theme(models.TextChoices):
    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class User(AbstractBaseUser, PermissionsMixin):
    """A person; the e-mail address is the login, kept in lower case.

    `proved_at` is when the password was last set by a link in a mail to the address. While it is null, whoever made
    the account may know the password, and the address be somebody else's.
    """

    email = models.EmailField(max_length=254, unique=True)
    name = models.CharField(max_length=100, blank=True)
    time_zone = models.CharField(max_length=64, default="UTC")
    theme = models.CharField(max_length=10, choices=Theme, default=Theme.SYSTEM)
    is_staff = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    date_joined = models.DateTimeField(default=timezone.now)
    proved_at = models.DateTimeField(null=True, editable=False)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(email=Lower("email")), name="user_email_lower_case")]

    def __str__(self) -> str:
        return self.email

    def clean(self) -> None:
        self.email = self.email.lower()


class Organisation(models.Model):
    """The tenant: every query starts here."""

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    name = models.CharField(max_length=100)
    slug = models.SlugField(max_length=60, unique=True)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A user's role in an organisation."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "organisation"], name="membership_unique")]

    def __str__(self) -> str:
        return f"{self.user} in {self.organisation} as {self.role}"


class ApiToken(models.Model):
    """The key of a program: it acts in one organisation, at most as its role may, and only for its scopes.

    A token that was revoked or has expired is kept: the audit log names it. Its acts are put down to `created_by`.
    """

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=60)
    prefix = models.CharField(max_length=20, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    role = models.CharField(max_length=10, choices=Role)
    scopes = ArrayField(models.CharField(max_length=10))
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    last_used_ip = models.GenericIPAddressField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(role=Role.OWNER), name="api_token_never_owns"),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}… {self.name}"


class AuditEntry(models.Model):
    """One act, written in the transaction of the act itself. `actor` is null for the system."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="audit", null=True)
    actor = models.ForeignKey(User, on_delete=models.SET_NULL, null=True)
    action = models.CharField(max_length=60)
    object_type = models.CharField(max_length=40)
    object_id = models.CharField(max_length=64)
    detail = models.JSONField(default=dict)
    at = models.DateTimeField(default=timezone.now)
    # Where the request of the act came from; null for what no request made.
    address = models.GenericIPAddressField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["organisation", "-at"], name="audit_by_organisation"),
            models.Index(fields=["organisation", "actor", "-at"], name="audit_by_actor"),
            models.Index(fields=["organisation", "object_type", "-at"], name="audit_by_kind"),
            # What is forgotten is the oldest of all organisations.
            models.Index(fields=["at"], name="audit_by_age"),
        ]
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.action} {self.object_type} {self.object_id}"
