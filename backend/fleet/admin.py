"""For staff: to look, and to rename a region."""

from django.contrib import admin

from backend.accounts.admin import LookingAdmin
from backend.fleet.models import Agent, Region


@admin.register(Region)
class RegionAdmin(LookingAdmin):
    editable = ("name",)
    hidden = ("token_hash", "broker_password_hash")
    list_display = ("code", "name", "organisation", "enabled", "created_at")
    list_select_related = ("organisation",)


@admin.register(Agent)
class AgentAdmin(LookingAdmin):
    list_display = (
        "name",
        "region",
        "version",
        "browser_version",
        "last_seen_at",
        "clock_skew_us",
        "holding",
        "spooled",
    )
    list_select_related = ("region",)
    list_filter = ("region",)
