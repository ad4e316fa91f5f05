"""For staff: to look."""

from django.contrib import admin

from backend.accounts.admin import LookingAdmin
from backend.sites.models import Deploy, Host, Monitor, Site


@admin.register(Site)
class SiteAdmin(LookingAdmin):
    list_display = ("name", "organisation", "url", "status", "created_at")
    list_select_related = ("organisation",)
    list_filter = ("status",)
    search_fields = ("name", "url")


@admin.register(Monitor)
class MonitorAdmin(LookingAdmin):
    # The headers are the customer's secrets: staff has no more business with them than the page has.
    hidden = ("headers",)
    list_display = ("url", "kind", "site", "interval_s", "paused")
    list_select_related = ("site",)
    list_filter = ("kind", "paused")
    search_fields = ("url",)


@admin.register(Host)
class HostAdmin(LookingAdmin):
    list_display = ("name", "site", "proposed", "chosen", "last_seen_at")
    list_select_related = ("site",)
    list_filter = ("proposed", "chosen")
    search_fields = ("name",)


@admin.register(Deploy)
class DeployAdmin(LookingAdmin):
    list_display = ("version", "site", "organisation", "at", "token_name")
    list_select_related = ("site", "organisation")
    search_fields = ("version", "external_id")
