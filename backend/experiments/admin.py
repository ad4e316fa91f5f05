"""For staff: to look."""

from django.contrib import admin

from backend.accounts.admin import LookingAdmin
from backend.experiments.models import Experiment


@admin.register(Experiment)
class ExperimentAdmin(LookingAdmin):
    list_display = ("public_id", "site", "status", "verdict", "created_at")
    list_select_related = ("site",)
    list_filter = ("status", "verdict")
