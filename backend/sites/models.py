"""What is measured: sites, and the monitors that measure them."""

from uuid import uuid4

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from backend.accounts.models import Organisation, User
from backend.encryption import EncryptedJSONField
from workers.measurement.messages import Kind
from workers.measurement.target import MAX_URL_CHARS

# The order in which people look names up, capitals or not; PostgreSQL brings it with it.
_FOR_PEOPLE = "und-x-icu"
MIN_INTERVAL_S = 30
MAX_INTERVAL_S = 86_400


class SiteStatus(models.TextChoices):
    """A draft is a test before saving: it has no schedule and is removed after a day."""

    DRAFT = "draft"
    ACTIVE = "active"


class MonitorKind(models.TextChoices):
    """`probe`: a TLS probe of a URL. `page`: a page load in Chromium. `pair`: an asset at the CDN and at its origin."""

    PROBE = Kind.PROBE.value, "Probe"
    PAGE = Kind.PAGE.value, "Page load"
    PAIR = Kind.PAIR.value, "CDN against origin"


class HostRole(models.TextChoices):
    """What a host is to a site: `own` are the owner's others, such as an API."""

    ORIGIN = "origin", "Origin"
    CDN = "cdn", "CDN"
    OWN = "own", "Own"
    THIRD_PARTY = "third_party", "Third party"

    @property
    def is_ours(self) -> bool:
        """Whether the owner can mend what is found there: all that the rules about pages ask."""
        return self is not HostRole.THIRD_PARTY


class MonitorManager(models.Manager["Monitor"]):
    """Leaves secrets out until they are looked at: no list must fail over one that cannot be read."""

    def get_queryset(self) -> "models.QuerySet[Monitor]":
        return super().get_queryset().defer("headers", "page")


class Site(models.Model):
    """A name and a URL that an organisation registered.

    `relies_on` are sites that it cannot do without, in no circle: while one of them is down, that explains this one.
    `rejudge_before` is set when the owner has said whose a host is: findings of earlier page runs are made anew.
    """

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="sites")
    name = models.CharField(max_length=100, db_collation=_FOR_PEOPLE)
    url = models.CharField(max_length=MAX_URL_CHARS)
    status = models.CharField(max_length=10, choices=SiteStatus, default=SiteStatus.DRAFT)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True)
    rejudge_before = models.DateTimeField(null=True, editable=False)
    relies_on = models.ManyToManyField("self", symmetrical=False, related_name="relied_on_by", blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["organisation", "status", "name"], name="site_by_organisation"),
            models.Index(fields=["created_at"], condition=Q(status="draft"), name="site_drafts"),
            models.Index(fields=["rejudge_before"], condition=Q(rejudge_before__isnull=False), name="site_to_rejudge"),
        ]

    def __str__(self) -> str:
        return self.name


class Monitor(models.Model):
    """One scheduled measurement of one URL.

    `regions` empty means all regions, also later ones; `accepted_status` empty means 200 to 399. `headers` is a list of
    [name, value] pairs, encrypted at rest. `config_version` grows with each edit that changes what is measured,
    `manner_version` with those that ask the same address in another way (`sites.manners`). `pair` is the other leg of a
    pair ({"url", "address"} of the wire's PairTarget), null for all other kinds. `page` holds the options of a page
    (`sites.page_settings`), encrypted for their passwords and cookies. `due_since` is when it was resumed or changed:
    what was not due before is missed by nobody. `user_timings` are those of a page that are followed
    (`sites.followed`).
    """

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="monitors")
    kind = models.CharField(max_length=10, choices=MonitorKind)
    url = models.CharField(max_length=MAX_URL_CHARS)
    interval_s = models.PositiveIntegerField()
    regions = ArrayField(models.CharField(max_length=20), default=list, blank=True)
    timeout_s = models.PositiveSmallIntegerField()
    profile = models.CharField(max_length=40, default="native")
    headers = EncryptedJSONField(default=list, blank=True)
    accepted_status = ArrayField(models.PositiveSmallIntegerField(), default=list, blank=True)
    body_text = models.CharField(max_length=500, blank=True)
    ignore_certificate_errors = models.BooleanField(default=False)
    pair = models.JSONField(null=True)
    page = EncryptedJSONField(default=dict, blank=True, db_default="")
    paused = models.BooleanField(default=False)
    due_since = models.DateTimeField(null=True)
    config_version = models.PositiveIntegerField(default=1)
    manner_version = models.PositiveIntegerField(default=1, db_default=1)
    user_timings = ArrayField(models.TextField(), default=list, blank=True, db_default=[])

    objects = MonitorManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["site", "kind"], condition=~Q(kind="pair"), name="monitor_once_a_kind"),
            models.CheckConstraint(
                condition=Q(kind="pair", pair__isnull=False) | (~Q(kind="pair") & Q(pair__isnull=True)),
                name="monitor_pair",
            ),
            models.CheckConstraint(
                condition=Q(interval_s__gte=MIN_INTERVAL_S, interval_s__lte=MAX_INTERVAL_S), name="monitor_interval"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.url}"


class MonitorVersion(models.Model):
    """Where and how a version of a monitor asks. Its runs name the version (`config_version`) and keep no address
    themselves.

    `pair`, `profile` and `manner_version` are those of the monitor; the latter two are null where the version had been
    replaced before they were kept, and versions from before this table have no row.
    """

    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="versions", db_index=False)
    config_version = models.PositiveIntegerField()
    url = models.CharField(max_length=MAX_URL_CHARS)
    pair = models.JSONField(null=True)
    profile = models.CharField(max_length=40, null=True)
    manner_version = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["monitor", "config_version"], name="monitor_version_once")]

    def __str__(self) -> str:
        return f"version {self.config_version} of {self.monitor_id}: {self.url}"


class Host(models.Model):
    """A host that a site's pages speak to. What the owner chose stays, whatever is proposed later.

    `evidence` holds the reasons of the proposal, a sentence each. One that was spoken of before any page asked for it
    was seen never.
    """

    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="hosts")
    name = models.CharField(max_length=253)
    proposed = models.CharField(max_length=12, choices=HostRole)
    evidence = models.JSONField(default=list)
    chosen = models.CharField(max_length=12, choices=HostRole, null=True)
    chosen_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True)
    chosen_at = models.DateTimeField(null=True)
    first_seen_at = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["site", "name"], name="host_once_a_site")]

    def __str__(self) -> str:
        return f"{self.name}: {self.role}"

    @property
    def role(self) -> HostRole:
        return HostRole(self.chosen or self.proposed)


class Deploy(models.Model):
    """A release that somebody told us of, from `at` on in force: on one site, or on all of the organisation.

    `external_id` is the pipeline's own name for it; telling the same one again adds nothing.
    """

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="deploys")
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="deploys", null=True)
    external_id = models.CharField(max_length=100, blank=True)
    version = models.CharField(max_length=100, blank=True)
    url = models.CharField(max_length=MAX_URL_CHARS, blank=True)
    note = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField()
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True)
    token_name = models.CharField(max_length=100, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["site", "external_id"],
                condition=Q(site__isnull=False) & ~Q(external_id=""),
                name="deploy_once_a_site",
            ),
            models.UniqueConstraint(
                fields=["organisation", "external_id"],
                condition=Q(site__isnull=True) & ~Q(external_id=""),
                name="deploy_once_everywhere",
            ),
        ]
        indexes = [models.Index(fields=["organisation", "-at"], name="deploy_by_organisation")]

    def __str__(self) -> str:
        return f"{self.version or self.external_id or 'deploy'} at {self.at:%Y-%m-%d %H:%M}"
