"""Status pages: how some sites are, for everybody who has the address."""

from uuid import uuid4

from django.db import models
from django.utils import timezone

from backend.accounts.models import Organisation, User
from backend.sites.models import Site

MAX_TITLE_CHARS = 100
MIN_SLUG_CHARS, MAX_SLUG_CHARS = 3, 50
MAX_ANNOUNCEMENT_CHARS, MAX_UPDATE_CHARS = 150, 2_000


class StatusPage(models.Model):
    """What guests see without an account: the names and the uptime of these sites, and nothing else of them.

    `slug` is its place in the address, one of the whole installation.
    """

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="status_pages")
    slug = models.CharField(max_length=MAX_SLUG_CHARS, unique=True)
    title = models.CharField(max_length=MAX_TITLE_CHARS)
    sites = models.ManyToManyField(Site, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")

    def __str__(self) -> str:
        return self.title


class AnnouncementStage(models.TextChoices):
    """How far people are with what they announced."""

    INVESTIGATING = "investigating", "Investigating"
    IDENTIFIED = "identified", "Identified"
    MONITORING = "monitoring", "Monitoring"
    RESOLVED = "resolved", "Resolved"


class Announcement(models.Model):
    """What people tell the visitors of a page beside what is measured. `ended_at` is null until it is resolved."""

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    page = models.ForeignKey(StatusPage, on_delete=models.CASCADE, related_name="announcements")
    title = models.CharField(max_length=MAX_ANNOUNCEMENT_CHARS)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["page", "-created_at"], name="announcement_by_page")]

    def __str__(self) -> str:
        return self.title


class Update(models.Model):
    """One thing that was said about it, in the order of `at`."""

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    announcement = models.ForeignKey(Announcement, on_delete=models.CASCADE, related_name="updates")
    stage = models.CharField(max_length=15, choices=AnnouncementStage)
    text = models.CharField(max_length=MAX_UPDATE_CHARS)
    at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ("at", "pk")

    def __str__(self) -> str:
        return f"{self.stage}: {self.text}"


class Wall(models.Model):
    """That whoever has the link sees all sites of an organisation on one screen, until it expires (see `walls`)."""

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    organisation = models.OneToOneField(Organisation, on_delete=models.CASCADE, related_name="+")
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"wall of {self.organisation}, until {self.expires_at:%Y-%m-%d %H:%M}"
