"""What the API itself must remember."""

from django.db import models


class KeptAnswer(models.Model):
    """The answer to a POST that came with an Idempotency-Key: whoever repeats the request is told the same.

    It is written in the transaction of the act, so there is never the one without the other. `caller` names the token
    or person, `request_digest` what was asked.
    """

    caller = models.CharField(max_length=50)
    key = models.CharField(max_length=255)
    request_digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    headers = models.JSONField()
    body = models.BinaryField()
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["caller", "key"], name="kept_answer_once")]
        indexes = [models.Index(fields=["expires_at"], name="kept_answer_expires")]

    def __str__(self) -> str:
        return f"{self.status} for {self.key}"
