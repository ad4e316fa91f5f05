"""Files that forms bring, bounded before it is known who sends them: Django reads a form to check its token."""

from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import SkipFile, TemporaryFileUploadHandler

from backend.runs.uploads import MAX_FILE_BYTES

# Beyond this not even the sentence about it is worth the reading.
_MAX_BODY_BYTES = 8 * MAX_FILE_BYTES


class BoundedFileHandler(TemporaryFileUploadHandler):
    """Keeps a file on disk while the request lasts. One that is too large is not there for the view."""

    _received_bytes = 0

    def handle_raw_input(
        self, input_data: Any, meta: Any, content_length: int, boundary: Any, encoding: Any = None
    ) -> None:
        if content_length > _MAX_BODY_BYTES:
            raise RequestDataTooBig(f"A form may have at most {_MAX_BODY_BYTES} bytes.")

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        self._received_bytes = 0
        super().new_file(*args, **kwargs)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self._received_bytes += len(raw_data)
        if self._received_bytes > MAX_FILE_BYTES:
            raise SkipFile
        super().receive_data_chunk(raw_data, start)
