"""For staff: to look."""

from django.contrib import admin

from backend.accounts.admin import LookingAdmin
from backend.alerts.models import Channel, Delivery


@admin.register(Channel)
class ChannelAdmin(LookingAdmin):
    # The address of a webhook is the customer's secret.
    hidden = ("config",)
    list_display = ("name", "kind", "organisation", "target", "enabled", "disabled_reason")
    list_select_related = ("organisation",)
    list_filter = ("kind", "enabled")
    search_fields = ("name",)


@admin.register(Delivery)
class DeliveryAdmin(LookingAdmin):
    list_display = ("created_at", "channel_name", "state", "attempts", "status", "answer")
    list_filter = ("state",)
    show_full_result_count = False
