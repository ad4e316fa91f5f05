"""What came of runs.

Partitioned by week on `scheduled_for` and, but for missed runs whose result still comes, only ever inserted into (see
`partitions`), so they hold ids instead of foreign keys.
"""

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import CompositePrimaryKey, Q

from backend.runs.models.words import Outcome, Trigger


class Run(models.Model):
    """A run that has ended: one narrow row, all that a chart reads.

    For a page the phases are those of the final document's request, for a probe those of the last hop. `late` says that
    the result came after its slot had been given up or given to another attempt. A second attempt has `first_run_id`.
    `depth` is how deep a probe looked, by its evidence: null for what has none. A page whose rules were asked is deep.

    `profile_verified` tells of a shaped run whether its network kept the profile's numbers; null for all others. Where
    it did not, the run says that the site answers and nothing of its speed: durations and `depth` are null here, so
    that it enters no chart, baseline, rule or gate, and what was seen is in its document alone.

    `contended` tells whether other work of its agent's machine kept the browser, or a probe that has to look when an
    answer begins, waiting so long that its times are not the target's (`workers.measurement.contention`); null where
    nobody knows. They are shown, and enter no baseline and no rule.

    `timings` are the user timings that its monitor followed when the result came: microseconds by what is followed
    (`sites.followed`), null of one that the page did not tell. The column is null where none was followed, or nobody
    knows what the page told.
    """

    pk = CompositePrimaryKey("run_id", "scheduled_for")
    scheduled_for = models.DateTimeField()
    run_id = models.UUIDField()
    monitor_id = models.BigIntegerField()
    region_id = models.BigIntegerField()
    attempt = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=8)
    trigger = models.CharField(max_length=8, choices=Trigger.choices)
    outcome = models.CharField(max_length=8, choices=Outcome.choices)
    late = models.BooleanField(default=False)
    received_at = models.DateTimeField()
    missed_reason = models.TextField(null=True)
    failure_stage = models.TextField(null=True)
    failure_kind = models.TextField(null=True)
    failure_blame = models.TextField(null=True)
    failure_detail = models.TextField(null=True)
    agent = models.TextField(null=True)
    agent_version = models.TextField(null=True)
    config_version = models.IntegerField(null=True)
    started_at = models.DateTimeField(null=True)
    duration_us = models.BigIntegerField(null=True)
    clock = models.TextField(null=True)
    dns_us = models.BigIntegerField(null=True)
    connect_us = models.BigIntegerField(null=True)
    tls_us = models.BigIntegerField(null=True)
    send_us = models.BigIntegerField(null=True)
    wait_us = models.BigIntegerField(null=True)
    download_us = models.BigIntegerField(null=True)
    ttfb_us = models.BigIntegerField(null=True)
    total_us = models.BigIntegerField(null=True)
    rtt_us = models.BigIntegerField(null=True)
    tls_round_trips = models.SmallIntegerField(null=True)
    status_code = models.SmallIntegerField(null=True)
    protocol = models.TextField(null=True)
    fcp_us = models.BigIntegerField(null=True)
    lcp_us = models.BigIntegerField(null=True)
    cls = models.FloatField(null=True)
    load_us = models.BigIntegerField(null=True)
    fully_loaded_us = models.BigIntegerField(null=True)
    start_render_us = models.BigIntegerField(null=True)
    speed_index_us = models.BigIntegerField(null=True)
    visually_complete_us = models.BigIntegerField(null=True)
    tbt_us = models.BigIntegerField(null=True)
    requests = models.IntegerField(null=True)
    connections = models.IntegerField(null=True)
    bytes = models.BigIntegerField(null=True)
    browser_version = models.TextField(null=True)
    has_screenshot = models.BooleanField(default=False)
    has_film = models.BooleanField(default=False, db_default=False)
    first_run_id = models.UUIDField(null=True)
    depth = models.TextField(null=True)
    contended = models.BooleanField(null=True)
    profile_verified = models.BooleanField(null=True)
    timings = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["monitor_id", "region_id", "scheduled_for", "attempt"], name="run_once"),
        ]
        indexes = [
            models.Index(fields=["first_run_id"], condition=Q(first_run_id__isnull=False), name="run_second_attempt"),
            BrinIndex(fields=["scheduled_for"], name="run_by_time"),
            # One in a thousand runs is in it.
            models.Index(
                fields=["monitor_id", "region_id", "scheduled_for"], condition=Q(depth="deep"), name="run_deep"
            ),
            # One in a hundred: all that a list of failures, of gates or of tests by hand is made of.
            models.Index(
                fields=["monitor_id", "scheduled_for"],
                condition=~Q(outcome="measured") | ~Q(trigger="schedule"),
                name="run_unusual",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}: {self.outcome}"


class Connection(models.Model):
    """One connection that a run opened."""

    pk = CompositePrimaryKey("run_id", "scheduled_for", "number")
    scheduled_for = models.DateTimeField()
    run_id = models.UUIDField()
    number = models.IntegerField()
    monitor_id = models.BigIntegerField()
    region_id = models.BigIntegerField()
    host = models.TextField()
    port = models.IntegerField()
    address = models.GenericIPAddressField(null=True)
    protocol = models.TextField(null=True)
    dns_us = models.BigIntegerField(null=True)
    connect_us = models.BigIntegerField(null=True)
    tls_us = models.BigIntegerField(null=True)
    rtt_us = models.BigIntegerField(null=True)
    tls_round_trips = models.SmallIntegerField(null=True)
    tls_version = models.TextField(null=True)
    cipher = models.TextField(null=True)
    resumed = models.BooleanField(null=True)
    certificate_sha256 = models.TextField(null=True)
    certificate_issuer = models.TextField(null=True)
    certificate_not_before = models.DateTimeField(null=True)
    certificate_not_after = models.DateTimeField(null=True)
    certificate_error = models.TextField(null=True)
    received_bytes = models.BigIntegerField(null=True)
    requests = models.IntegerField(default=0)
    preconnected = models.BooleanField(default=False)

    class Meta:
        indexes = [
            models.Index(
                fields=["host", "region_id", "scheduled_for"],
                include=["monitor_id", "tls_us"],
                name="connection_by_host",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} connection {self.number} to {self.host}"


class Leg(models.Model):
    """One exchange of a pair: leg `a` is the CDN, `b` the origin; first both cold, then both reused.

    Of a run that failed those before its fault are here. `kept` is false where the server closed its connection.
    """

    pk = CompositePrimaryKey("run_id", "scheduled_for", "position")
    scheduled_for = models.DateTimeField()
    run_id = models.UUIDField()
    position = models.SmallIntegerField()
    monitor_id = models.BigIntegerField()
    region_id = models.BigIntegerField()
    leg = models.CharField(max_length=1)
    reused = models.BooleanField()
    kept = models.BooleanField()
    connection = models.IntegerField()
    dns_us = models.BigIntegerField(null=True)
    connect_us = models.BigIntegerField(null=True)
    tls_us = models.BigIntegerField(null=True)
    send_us = models.BigIntegerField(null=True)
    wait_us = models.BigIntegerField(null=True)
    download_us = models.BigIntegerField(null=True)
    ttfb_us = models.BigIntegerField(null=True)
    total_us = models.BigIntegerField(null=True)
    status_code = models.SmallIntegerField(null=True)
    protocol = models.TextField(null=True)
    encoding = models.TextField(null=True)
    head_bytes = models.BigIntegerField(null=True)
    body_bytes = models.BigIntegerField(null=True)
    cache = models.TextField()
    cache_evidence = models.TextField(null=True)
    age_s = models.BigIntegerField(null=True)
    etag = models.TextField(null=True)

    def __str__(self) -> str:
        return f"{self.run_id} leg {self.leg}, {'reused' if self.reused else 'cold'}"


class Finding(models.Model):
    """A cause that a run found, in the order in which to mend them, or one that a deep run could not judge.

    Of the latter only `not_judged` is set, the reason. A light run, of which there is one a minute, brings what it
    found and what is more than information.
    """

    pk = CompositePrimaryKey("run_id", "scheduled_for", "position")
    scheduled_for = models.DateTimeField()
    run_id = models.UUIDField()
    position = models.SmallIntegerField()
    monitor_id = models.BigIntegerField()
    region_id = models.BigIntegerField()
    finding = models.TextField()
    severity = models.TextField(null=True)
    confidence = models.TextField(null=True)
    saving_us = models.BigIntegerField(null=True)
    host = models.TextField(null=True)
    not_judged = models.TextField(null=True)

    class Meta:
        indexes = [models.Index(fields=["monitor_id", "scheduled_for"], name="finding_by_monitor")]

    def __str__(self) -> str:
        return f"{self.run_id}: {self.finding}, {self.severity or self.not_judged}"


class RunDocument(models.Model):
    """The whole measurement of a run, compressed (see `documents`); read only when one run is looked at."""

    pk = CompositePrimaryKey("run_id", "scheduled_for")
    scheduled_for = models.DateTimeField()
    run_id = models.UUIDField()
    document = models.BinaryField()

    def __str__(self) -> str:
        return f"measurement of {self.run_id}"
