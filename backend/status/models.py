"""Status pages: how some sites are, for everybody who has the address."""

from uuid import uuid4

from django.db import models
from django.utils import timezone

from backend.accounts.models import Organisation, User
from backend.sites.models import Site

MAX_TITLE_CHARS = 100
MIN_SLUG_CHARS, MAX_SLUG_CHARS = 3, 50


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
