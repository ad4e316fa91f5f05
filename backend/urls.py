"""Every door: health, the agents' API, accounts, the admin, pages."""

from allauth.account.decorators import secure_admin_login
from allauth.account.views import logout
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.urls import include, path

from backend import health

# The admin's own sign-in has no limit of tries, and the audit log hears of neither door; of ours it does.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]  # as allauth documents it
# Staff would see what is sealed there, and take away a second factor without a word in the log.
admin.site.unregister(Authenticator)

urlpatterns = [
    path("livez", health.livez),
    path("readyz", health.readyz),
    path("healthz", health.healthz),
    path("metrics", health.metrics),
    path("api/v1/", include("backend.api.urls")),
    path("account/", include("backend.accounts.urls")),
    path("admin/logout/", logout),
    path("admin/", admin.site.urls),
    path("", include("backend.web.urls")),
]

handler500 = "backend.web.views.errors.server_error"
