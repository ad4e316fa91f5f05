"""Who is told, what they are told, and what became of it."""

from uuid import uuid4

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from backend.accounts.models import Organisation, User
from backend.alerts.hours import Hours
from backend.encryption import EncryptedJSONField

MAX_NAME_CHARS = 80
MAX_ANSWER_CHARS = 500
MAX_PLACE_CHARS = 40


class ChannelKind(models.TextChoices):
    SLACK = "slack", "Slack"
    SLACK_APP = "slack_app", "Slack app"
    EMAIL = "email", "E-mail"
    WEBHOOK = "webhook", "Webhook"


class DeliveryState(models.TextChoices):
    """`waiting` is the only state that ends. `digested`: told inside the message of another delivery."""

    WAITING = "waiting", "Waiting"
    DELIVERED = "delivered", "Delivered"
    DIGESTED = "digested", "In a digest"
    FAILED = "failed", "Failed"
    DROPPED = "dropped", "Not sent"


# What the delay or the hours of its channel hold.
HELD = Q(state=DeliveryState.WAITING, next_try_at=F("held_until"))


class ChannelManager(models.Manager["Channel"]):
    """Leaves the secrets out until somebody sends: no list must fail over one that cannot be read."""

    def get_queryset(self) -> "models.QuerySet[Channel]":
        return super().get_queryset().defer("config")


class Channel(models.Model):
    """A way to tell people. `config` is its secret; `target` is what of it may be shown ("hooks.slack.com", a host).

    `disabled_reason` is empty when a person switched it off. `not_before` spaces messages out: nothing is sent earlier.
    An incident reaches it `after_s` seconds after it was told first, if it still calls by then. `hours` are those of
    the week in which it is told at all (`Hours.to_json`); null for all of them. `weekly` channels are told of
    each week.
    """

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="channels")
    kind = models.CharField(max_length=10, choices=ChannelKind)
    name = models.CharField(max_length=MAX_NAME_CHARS)
    config = EncryptedJSONField(default=dict, blank=True)
    target = models.CharField(max_length=254)
    enabled = models.BooleanField(default=True)
    disabled_reason = models.CharField(max_length=MAX_ANSWER_CHARS, blank=True)
    not_before = models.DateTimeField(default=timezone.now)
    after_s = models.PositiveIntegerField(default=0, db_default=0)
    hours = models.JSONField(null=True)
    weekly = models.BooleanField(default=False, db_default=False)
    secret_set_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True)

    objects = ChannelManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "name"], name="channel_name_unique")]

    def __str__(self) -> str:
        return self.name

    @property
    def its_hours(self) -> Hours | None:
        """Those of the week in which it is told; None where it is told at any time."""
        return Hours.from_json(self.hours) if self.hours else None


class Conversation(models.Model):
    """Where a Slack app was told first of an object: what is said about that next is a reply there.

    `place` is the ID of the conversation in Slack, `ts` names the message in it.
    """

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="conversations")
    about = models.UUIDField()
    place = models.CharField(max_length=MAX_PLACE_CHARS)
    ts = models.CharField(max_length=MAX_PLACE_CHARS)
    begun_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["channel", "about"], name="conversation_once_a_channel")]
        indexes = [models.Index(fields=["begun_at"], name="conversation_by_age")]

    def __str__(self) -> str:
        return f"{self.place} {self.ts}"


class Notice(models.Model):
    """One thing that was said about one object (an incident), in the order of `sequence`. Written once, never changed.

    `message` is `Message.to_json`.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="notices")
    about = models.UUIDField()
    sequence = models.PositiveIntegerField()
    message = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["about", "sequence"], name="notice_order")]
        indexes = [models.Index(fields=["organisation", "-created_at"], name="notice_by_organisation")]

    def __str__(self) -> str:
        return f"{self.about} {self.sequence}"


class Delivery(models.Model):
    """A notice on its way to one channel: the outbox, then the log.

    `public_id` stays the same through all tries, so that the other side can know a message that comes twice.
    `channel_name` outlives the channel. `answer` is what the other side said at the last try, cleaned and cut. What the
    channel's delay or hours held has `held_until`; while it is held, that is when it is tried next.
    """

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    notice = models.ForeignKey(Notice, on_delete=models.CASCADE, related_name="deliveries")
    channel = models.ForeignKey(Channel, on_delete=models.SET_NULL, null=True, related_name="deliveries")
    channel_name = models.CharField(max_length=MAX_NAME_CHARS)
    state = models.CharField(max_length=10, choices=DeliveryState, default=DeliveryState.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField(default=timezone.now)
    held_until = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.CharField(max_length=MAX_ANSWER_CHARS, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["notice", "channel"], name="delivery_once_a_channel")]
        indexes = [
            models.Index(fields=["channel", "next_try_at"], condition=Q(state="waiting"), name="delivery_waiting"),
            models.Index(fields=["channel", "-created_at"], name="delivery_by_channel"),
        ]
        verbose_name_plural = "deliveries"

    def __str__(self) -> str:
        return f"{self.public_id} to {self.channel_name}"

    @property
    def is_held(self) -> bool:
        """Whether it is one of `HELD`."""
        return self.state == DeliveryState.WAITING and self.next_try_at == self.held_until
