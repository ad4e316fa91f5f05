"""For staff: to look."""

from django.contrib import admin

from backend.accounts.admin import LookingAdmin
from backend.compare.models import Pairing, StoredVerdict


@admin.register(Pairing)
class PairingAdmin(LookingAdmin):
    list_display = ("name", "site", "origin", "compared_from")
    list_select_related = ("site",)
    search_fields = ("name", "site__name")


@admin.register(StoredVerdict)
class StoredVerdictAdmin(LookingAdmin):
    list_display = ("pairing", "region", "verdict", "since", "slower_since", "pairs")
    list_select_related = ("pairing", "region")
    list_filter = ("verdict",)
