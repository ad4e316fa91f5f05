"""A web process that says what the service makes of a request: its own settings and layers, one view, no database."""

from importlib import import_module

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import re_path
from django.views.decorators.csrf import csrf_exempt


@csrf_exempt
@login_not_required
def seen(request: HttpRequest) -> JsonResponse:
    # It has models, which are there when Django is set up.
    adapter = import_module("allauth.account.adapter").get_adapter()
    return JsonResponse(
        {
            "secure": request.is_secure(),
            "address": adapter.get_client_ip(request),
            "host": request.get_host(),
            "path": request.get_full_path(),
            "body_bytes": len(request.read()),
            "protocol": request.META["SERVER_PROTOCOL"],
            "filler": "x" * 2000,
        }
    )


urlpatterns = [re_path("", seen)]
settings.ROOT_URLCONF = __name__
application = get_wsgi_application()
