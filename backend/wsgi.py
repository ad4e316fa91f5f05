"""The web process: `gunicorn backend.wsgi`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.settings")
# Only the web process has threads that share connections; other processes hold one each.
os.environ.setdefault("FIRSTBYTE_DB_POOL_SIZE", "16")

application = get_wsgi_application()
