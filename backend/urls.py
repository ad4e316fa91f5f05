"""Every door: health, the agents' API, accounts, the admin, pages."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("account/", include("allauth.account.urls")),
    path("admin/", admin.site.urls),
]
