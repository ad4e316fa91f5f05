"""What would wake me? Rules, and the times in which nothing is told."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.permissions import Permission
from backend.alerts.actions import maintenance as windows
from backend.alerts.actions import rules as actions
from backend.alerts.actions.rules import RuleSettings
from backend.alerts.models import Channel, Rule
from backend.alerts.parameters import KINDS, InvalidRuleError
from backend.alerts.previewed import kept_of
from backend.alerts.queries import rules as queries
from backend.alerts.queries.channels import channels
from backend.alerts.queries.rules import RuleRow
from backend.alerts.queries.silent_timings import silent_timings
from backend.sites.actions import MAX_SITES
from backend.sites.lists import sites_after
from backend.sites.models import Site, SiteStatus
from backend.sites.queries import followed_in
from backend.sites.queries import site as site_of
from backend.web import units
from backend.web.access import MemberRequest, needs
from backend.web.channels import untold
from backend.web.confirm import Question, ask
from backend.web.forms.rules import KindForm, MaintenanceForm, RuleChoices, RuleForm
from backend.web.meanwhile import CHANGED, stamp_of, was_changed
from backend.web.rule_preview import cell_of, sentence, tried
from backend.web.rules_page import (
    SUGGESTIONS,
    Folded,
    folded_of,
    groups_of,
    in_words,
    silence_of,
    suggestions_for,
    verdict_of,
    wants_channel,
)


@require_safe
@needs(Permission.READ)
def overview(request: MemberRequest) -> HttpResponse:
    """All rules, what each looks for, and what is suggested; of many sites, those of the one that `site` names."""
    briefs, now = queries.briefs(request.organisation), timezone.now()
    folded = folded_of(briefs)
    chosen = next((one for one in folded if str(one.site) == request.GET.get("site")), None)
    hampered = untold(channels(request.organisation))
    verdict = verdict_of(briefs, hampered)
    rows = _shown(request, chosen, is_folded=bool(folded))
    silent = silent_timings(row.rule for row in rows if row.rule.enabled)
    context = {
        "groups": [
            (
                group.name,
                [(row, in_words(row.rule), cell_of(row.kept, now), row.rule.pk in silent) for row in group.rows],
            )
            for group in groups_of(rows)
        ],
        "folded": folded,
        "chosen": chosen,
        "verdict": verdict,
        "wants_channel": wants_channel(briefs),
        "untold": hampered,
        "is_said": hampered is not None and verdict.title == hampered.title,
        "suggestions": suggestions_for(briefs),
        "kind_form": KindForm(),
        "section": "alerts",
    }
    return render(request, "rules/list.html", context)


def _shown(request: MemberRequest, chosen: Folded | None, *, is_folded: bool) -> list[RuleRow]:
    """The rules that stand on the page with all that is known of them."""
    if not is_folded:
        return queries.rules(request.organisation)
    everywhere = queries.rules_of_no_site(request.organisation)
    site = chosen and site_of(request.organisation, chosen.site)
    return everywhere + (queries.rules(request.organisation, site, everywhere=False) if site else [])


@require_http_methods(["GET", "HEAD", "POST"])
@needs(Permission.EDIT_ALERTS)
def add(request: MemberRequest) -> HttpResponse:
    """A new rule of the kind that the address names."""
    kind = request.GET.get("kind", "")
    if kind not in KINDS:
        return redirect("web:rules")
    sites = _sites(request)
    choices = RuleChoices(
        settings=RuleSettings(kind=kind),
        channels=_channels(request),
        sites=sites,
        user_timings=followed_in(request.organisation),
    )
    form = RuleForm(request.POST if request.method == "POST" else None, choices=choices)
    trial = None
    if request.method == "POST" and form.is_valid():
        try:
            if "preview" not in request.POST:
                return _created(request, form)
            trial = tried(request.organisation, form.settings(), site=form.chosen_site())
        except InvalidRuleError as error:
            form.add_faults(error)
    context = {"form": form, "kind": KINDS[kind], "trial": trial, "section": "alerts"}
    return render(request, "rules/add.html", context, status=400 if form.errors else 200)


@require_POST
@needs(Permission.EDIT_ALERTS)
def suggest(request: MemberRequest, slug: str) -> HttpResponse:
    """Makes one of the suggested rules, for all sites."""
    wanted = next((one for one in SUGGESTIONS if one.slug == slug), None)
    if wanted is None:
        raise Http404
    if wanted not in suggestions_for(queries.briefs(request.organisation)):
        messages.info(request, f"{wanted.title}: such a rule is there already.")
        return redirect("web:rules")
    settings = RuleSettings(kind=wanted.kind, params=wanted.params, name=wanted.title)
    try:
        actions.create_rule(actor=request.user, organisation=request.organisation, settings=settings)
    except InvalidRuleError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"{wanted.title}: added for all sites.")
    return redirect("web:rules")


@require_http_methods(["GET", "HEAD", "POST"])
@needs(Permission.EDIT_ALERTS)
def change(request: MemberRequest, rule_id: UUID) -> HttpResponse:
    """One rule and everything of it that can be changed."""
    rule = _rule(request, rule_id)
    followed = followed_in(request.organisation, rule.site)
    choices = RuleChoices(settings=actions.settings_of(rule), channels=_channels(request), user_timings=followed)
    form = RuleForm(request.POST if request.method == "POST" else None, choices=choices)
    kept = kept_of(rule) if request.method != "POST" else None
    trial = None if kept is None else sentence(kept.preview, timezone.now())
    stamp = stamp_of(actions.settings_of(rule))
    if request.method == "POST" and "preview" not in request.POST and was_changed(request, stamp):
        form.add_error(None, CHANGED)
    if request.method == "POST" and form.is_valid():
        try:
            if "preview" not in request.POST:
                return _changed(request, rule, form)
            trial = tried(request.organisation, form.settings(), site=rule.site, monitor=rule.monitor)
        except InvalidRuleError as error:
            form.add_faults(error)
    context = {
        "form": form,
        "rule": rule,
        "words": in_words(rule),
        "silent": silence_of(silent_timings([rule]).get(rule.pk, ())),
        "trial": trial,
        "section": "alerts",
        "stamp": stamp,
    }
    return render(request, "rules/rule.html", context, status=400 if form.errors else 200)


def _created(request: MemberRequest, form: RuleForm) -> HttpResponse:
    rule = actions.create_rule(
        actor=request.user, organisation=request.organisation, settings=form.settings(), site=form.chosen_site()
    )
    messages.success(request, f"{rule.title} is there. It looks at what is measured from now on.")
    return _back_to(rule)


def _changed(request: MemberRequest, rule: Rule, form: RuleForm) -> HttpResponse:
    actions.change_rule(actor=request.user, rule=rule, settings=form.settings())
    messages.success(request, f"{rule.title}: saved.")
    return _back_to(rule)


@require_POST
@needs(Permission.EDIT_ALERTS)
def switch(request: MemberRequest, rule_id: UUID) -> HttpResponse:
    """On with `on=1`, else off."""
    enabled = request.POST.get("on") == "1"
    rule = actions.switch_rule(actor=request.user, rule=_rule(request, rule_id), enabled=enabled)
    messages.success(request, f"{rule.title} is switched {'on' if enabled else 'off'}.")
    return _back_to(rule)


@require_http_methods(["GET", "POST"])
@needs(Permission.EDIT_ALERTS)
def delete(request: MemberRequest, rule_id: UUID) -> HttpResponse:
    """Asks first; then nobody looks for it any more."""
    row = queries.rule_row(request.organisation, rule_id)
    if row is None:
        raise Http404
    rule = row.rule
    if request.method == "GET":
        return ask(request, _deletion_of(row))
    title, back = rule.title, _back_to(rule)
    actions.delete_rule(actor=request.user, rule=rule)
    messages.success(request, f"{title} is deleted. Its past incidents stay.")
    return back


@require_http_methods(["GET", "HEAD", "POST"])
@needs(Permission.READ)
def maintenance(request: MemberRequest) -> HttpResponseBase:
    """Times in which nothing is told, and planning another."""
    if request.method == "POST":
        return _plan(request)
    return _maintenance_page(request, MaintenanceForm(sites=_sites(request)))


@require_POST
@needs(Permission.EDIT_ALERTS)
def end_maintenance(request: MemberRequest, window_id: UUID) -> HttpResponse:
    """Ends a window now, or takes back one that has not begun."""
    window = queries.maintenance_window(request.organisation, window_id)
    if window is None:
        raise Http404
    has_begun = window.starts_at <= timezone.now()
    windows.end_maintenance(actor=request.user, window=window)
    text = "The maintenance is over. What still holds is told within seconds." if has_begun else "It is taken back."
    messages.success(request, text)
    return redirect("web:maintenance")


@needs(Permission.EDIT_ALERTS)
def _plan(request: MemberRequest) -> HttpResponse:
    form = MaintenanceForm(request.POST, sites=_sites(request))
    if not form.is_valid():
        return _maintenance_page(request, form)
    data = form.cleaned_data
    try:
        windows.plan_maintenance(
            actor=request.user,
            organisation=request.organisation,
            site=form.chosen_site(),
            starts_at=data["starts_at"],
            ends_at=data["ends_at"],
            reason=data["reason"],
        )
    except windows.MaintenanceError as error:
        form.add_error(error.field if error.field in form.fields else None, str(error))
        return _maintenance_page(request, form)
    messages.success(request, "Planned. What happens meanwhile is judged and recorded, and told to nobody.")
    return redirect("web:maintenance")


def _maintenance_page(request: MemberRequest, form: MaintenanceForm) -> HttpResponse:
    now = timezone.now()
    found = queries.maintenance_windows(request.organisation)
    context = {
        "going_on": [window for window in found if window.starts_at <= now < window.ends_at],
        "ahead": [window for window in found if window.starts_at > now],
        "over": [window for window in found if window.ends_at <= now][:20],
        "form": form,
        "zone": timezone.get_current_timezone_name(),
        "section": "alerts",
    }
    return render(request, "rules/maintenance.html", context, status=400 if form.errors else 200)


def _deletion_of(row: RuleRow) -> Question:
    alerts = "1 open alert is" if row.open == 1 else f"{units.count(row.open)} open alerts are"
    over = f" {alerts} over then." if row.open else ""
    return Question(
        title=f"Delete {row.rule.title} of {row.rule.site.name if row.rule.site else 'all sites'}?",
        text=f"Nobody looks for this any more.{over} Past incidents stay. This cannot be undone; to stop it for a "
        "while, switch it off.",
        verb="Delete it",
        back=reverse("web:rule", args=[row.rule.public_id]),
        section="alerts",
    )


def _back_to(rule: Rule) -> HttpResponse:
    """The list, with the rules of its site open."""
    return redirect(reverse("web:rules") + (f"?site={rule.site.public_id}" if rule.site else ""))


def _rule(request: MemberRequest, rule_id: UUID) -> Rule:
    rule = queries.rule(request.organisation, rule_id)
    if rule is None:
        raise Http404
    return rule


def _channels(request: MemberRequest) -> list[Channel]:
    return list(Channel.objects.filter(organisation=request.organisation).order_by("name"))


def _sites(request: MemberRequest) -> list[Site]:
    return sites_after(request.organisation, status=SiteStatus.ACTIVE, after=None, limit=MAX_SITES)
