"""The web process: `gunicorn backend.wsgi`."""

import os
from importlib import import_module

from django.core.checks import Tags, run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

from backend.pooled import share_connections
from workers.memory import settle_heap

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.settings")

application = get_wsgi_application()
share_connections()

# Commands run these checks by themselves. A server without secrets must not start and then fail at the first sign-in.
if faults := [fault for fault in run_checks(tags=[Tags.security]) if fault.is_serious()]:
    raise ImproperlyConfigured("\n".join(str(fault) for fault in faults))

# After the applications are loaded: it has a model. It begins a thread with a connection, so no server may load this
# module before it forks (gunicorn's --preload): a child inherits half-done imports and shared sockets from it.
import_module("backend.fleet.listening").renew_for_ever()
import_module("backend.api.v1.waiting").answer_before_the_end()
settle_heap()
