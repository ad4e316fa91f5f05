"""What every nginx of the tests is told, whatever it serves: one process, and all of its files in a folder."""

from pathlib import Path

_FRAME = """\
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
{http}}}
"""


def framed(folder: Path, http: str) -> str:
    """A whole configuration around the lines of its `http` block."""
    return _FRAME.format(folder=folder, http=http)
