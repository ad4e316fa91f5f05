"""The pages. Every one of them but `theme` belongs to an organisation (see `access`)."""

from django.urls import path
from django.views.decorators.http import require_safe
from django.views.generic import RedirectView

from backend.web.views import account, cdn, channels, hosts, members, regions, runs, site, sites, trial

app_name = "web"
urlpatterns = [
    path("", require_safe(RedirectView.as_view(pattern_name="web:sites")), name="home"),
    path("theme/", account.theme, name="theme"),
    path("profile/", account.profile, name="profile"),
    path("organisations/<uuid:organisation_id>/", account.switch, name="switch"),
    path("members/", members.overview, name="members"),
    path("members/add/", members.add, name="member_add"),
    path("members/<int:membership_id>/role/", members.change_role, name="member_role"),
    path("members/<int:membership_id>/remove/", members.remove, name="member_remove"),
    path("regions/", regions.overview, name="regions"),
    path("regions/add/", regions.add, name="region_add"),
    path("regions/<slug:code>/rotate/", regions.rotate, name="region_rotate"),
    path("regions/<slug:code>/remove/", regions.remove, name="region_remove"),
    path("settings/channels/", channels.overview, name="channels"),
    path("settings/channels/add/<slug:channel_kind>/", channels.add, name="channel_add"),
    path("settings/channels/<uuid:channel_id>/", channels.page, name="channel"),
    path("settings/channels/<uuid:channel_id>/test/", channels.test, name="channel_test"),
    path("settings/channels/<uuid:channel_id>/switch/", channels.switch, name="channel_switch"),
    path("settings/channels/<uuid:channel_id>/rotate/", channels.rotate, name="channel_rotate"),
    path("settings/channels/<uuid:channel_id>/delete/", channels.delete, name="channel_delete"),
    path("sites/", sites.overview, name="sites"),
    path("sites/add/", trial.add, name="add"),
    path("tests/<uuid:site_id>/", trial.page, name="trial"),
    path("tests/<uuid:site_id>/progress", trial.state, name="trial_progress"),
    path("tests/<uuid:site_id>/save/", trial.save, name="trial_save"),
    path("sites/<uuid:site_id>/", site.page, name="site"),
    path("sites/<uuid:site_id>/hosts/", hosts.page, name="hosts"),
    path("sites/<uuid:site_id>/hosts/role/", hosts.choose, name="host_role"),
    path("sites/<uuid:site_id>/cdn/", cdn.page, name="cdn"),
    path("sites/<uuid:site_id>/cdn/summary.<slug:form>", cdn.export, name="cdn_export"),
    path("sites/<uuid:site_id>/cdn/add/", cdn.add, name="pairing_add"),
    path("sites/<uuid:site_id>/cdn/tick/", cdn.tick, name="pairing_tick"),
    path("sites/<uuid:site_id>/cdn/<uuid:pairing_id>/", cdn.change, name="pairing"),
    path("sites/<uuid:site_id>/cdn/<uuid:pairing_id>/delete/", cdn.delete, name="pairing_delete"),
    path("sites/<uuid:site_id>/settings/", sites.settings, name="site_settings"),
    path("sites/<uuid:site_id>/rename/", sites.rename, name="site_rename"),
    path("sites/<uuid:site_id>/test/", sites.test_now, name="test_now"),
    path("sites/<uuid:site_id>/delete/", sites.delete, name="site_delete"),
    path("sites/<uuid:site_id>/monitors/<slug:kind>/", sites.change_monitor, name="monitor_change"),
    path("sites/<uuid:site_id>/monitors/<slug:kind>/pause/", sites.pause, name="monitor_pause"),
    path("sites/<uuid:site_id>/monitors/<slug:kind>/resume/", sites.resume, name="monitor_resume"),
    path("runs/<uuid:run_id>/", runs.page, name="run"),
    path("runs/<uuid:run_id>/requests/<int:number>", runs.details, name="run_details"),
    path("runs/<uuid:run_id>/screenshot", runs.screenshot, name="run_screenshot"),
]
