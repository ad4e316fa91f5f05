"""For staff: to look, and to close an account. Everything else is done in the product, where it is audited."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from backend.accounts.models import ApiToken, AuditEntry, Membership, Organisation, User

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin  # It takes type parameters in the stubs only.


class LookingAdmin(_ModelAdmin):
    """Shows rows; only what `editable` names can be changed, and nothing added or deleted."""

    editable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(self.editable) and super().has_change_permission(request, obj)

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return [field.name for field in self.opts.concrete_fields if field.name not in self.hidden]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return [name for name in self.get_fields(request, obj) if name not in self.editable]


@admin.register(User)
class UserAdmin(LookingAdmin):
    editable = ("is_active", "is_staff")
    hidden = ("password",)
    list_display = ("email", "name", "is_active", "is_staff", "last_login")
    search_fields = ("email", "name")


@admin.register(Organisation)
class OrganisationAdmin(LookingAdmin):
    list_display = ("name", "slug", "created_at")
    search_fields = ("name", "slug")


@admin.register(Membership)
class MembershipAdmin(LookingAdmin):
    list_display = ("user", "organisation", "role")
    list_select_related = ("user", "organisation")
    list_filter = ("role",)


@admin.register(ApiToken)
class ApiTokenAdmin(LookingAdmin):
    hidden = ("digest",)
    list_display = ("name", "organisation", "prefix", "role", "created_by", "expires_at", "last_used_at", "revoked_at")
    list_select_related = ("organisation", "created_by")


@admin.register(AuditEntry)
class AuditEntryAdmin(LookingAdmin):
    list_display = ("at", "organisation", "actor", "action", "object_type", "object_id")
    list_select_related = ("organisation", "actor")
    list_filter = ("action",)
    ordering = ("-at",)
    show_full_result_count = False
