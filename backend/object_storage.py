"""Files in an S3-compatible storage, behind Django's interface: five calls of botocore, none of them public.

One client serves all threads, as botocore's may. A file is written whole and read whole: pictures have 1 MiB at most.
"""

from typing import Any

from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import Session
from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage

# Who deletes what is listed asks again. A file is deleted by a request, and other work waits meanwhile.
LISTED = 100
_CONFIG = Config(
    # An agent waits 20 s for its answer, and sends a picture again that was not taken.
    connect_timeout=3,
    read_timeout=5,
    retries={"mode": "standard", "total_max_attempts": 2},
    # Every server knows buckets by path; not all have a name for each bucket, or know the checksums of AWS.
    s3={"addressing_style": "path"},
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
)


class ObjectStorage(Storage):
    """What begins with `prefix` in a bucket. No file has an address of its own: who may see it gets it from us.

    Without `key` and `secret` botocore looks for credentials where AWS's own tools do.
    """

    def __init__(self, *, endpoint: str, bucket: str, prefix: str, region: str, key: str, secret: str) -> None:
        self._bucket, self._prefix = bucket, f"{prefix}/" if prefix else ""
        self._client: Any = Session().create_client(
            "s3",
            region_name=region,
            endpoint_url=endpoint,
            aws_access_key_id=key or None,
            aws_secret_access_key=secret or None,
            config=_CONFIG,
        )

    def _open(self, name: str, mode: str = "rb") -> "File[bytes]":
        """Raises FileNotFoundError, botocore's ClientError and BotoCoreError."""
        try:
            answer = self._client.get_object(**self._object(name))
        except ClientError as error:
            if error.response["Error"]["Code"] == "NoSuchKey":
                raise FileNotFoundError(name) from error
            raise
        with answer["Body"] as body:
            return ContentFile(body.read(), name)

    def _save(self, name: str, content: "File[bytes]") -> str:
        self._client.put_object(**self._object(name), Body=content.read())
        return name

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """The name as it is: what had it is replaced."""
        return name

    def exists(self, name: str) -> bool:
        """Raises botocore's ClientError and BotoCoreError."""
        try:
            self._client.head_object(**self._object(name))
        except ClientError as error:
            # An answer without a body has no other code.
            if error.response["Error"]["Code"] == "404":
                return False
            raise
        return True

    def delete(self, name: str) -> None:
        """What is not there stays so; a folder is gone with its last file."""
        self._client.delete_object(**self._object(name))

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        """Folders and files, a hundred together at most: the first by name."""
        within = f"{self._prefix}{path}/"
        found = self._client.list_objects_v2(Bucket=self._bucket, Prefix=within, Delimiter="/", MaxKeys=LISTED)
        folders = [one["Prefix"][len(within) : -1] for one in found.get("CommonPrefixes", ())]
        return folders, [one["Key"][len(within) :] for one in found.get("Contents", ())]

    def _object(self, name: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": f"{self._prefix}{name}"}
