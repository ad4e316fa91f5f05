"""What the judge remembers of each monitor between two looks. `memory` is JSON of whoever looks."""

from django.db import models

from backend.sites.models import Monitor


class Watch(models.Model):
    """How far a monitor's runs are judged in each region, and what every rule makes of them."""

    monitor = models.OneToOneField(Monitor, on_delete=models.CASCADE, primary_key=True, related_name="+")
    due_at = models.DateTimeField()
    memory = models.TextField(default="{}")

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="watch_due")]
        verbose_name_plural = "watches"

    def __str__(self) -> str:
        return f"watch of {self.pk}"


class Scrutiny(models.Model):
    """The same for what deep probes and page loads find."""

    monitor = models.OneToOneField(Monitor, on_delete=models.CASCADE, primary_key=True, related_name="+")
    due_at = models.DateTimeField()
    memory = models.TextField(default="{}")

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="scrutiny_due")]
        verbose_name_plural = "scrutinies"

    def __str__(self) -> str:
        return f"scrutiny of {self.pk}"


class Trend(models.Model):
    """The same for the slower question whether a monitor's metrics have changed; its memory is larger."""

    monitor = models.OneToOneField(Monitor, on_delete=models.CASCADE, primary_key=True, related_name="+")
    due_at = models.DateTimeField()
    memory = models.TextField(default="{}")

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="trend_due")]

    def __str__(self) -> str:
        return f"trend of {self.pk}"
