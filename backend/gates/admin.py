"""For staff: to look."""

from django.contrib import admin

from backend.accounts.admin import LookingAdmin
from backend.gates.models import Gate


@admin.register(Gate)
class GateAdmin(LookingAdmin):
    # It may hold a secret of the customer's.
    hidden = ("callback",)
    list_display = ("public_id", "site", "status", "verdict", "created_at")
    list_select_related = ("site",)
    list_filter = ("status", "verdict")
