"""Who is told of alerts, and whether it reaches them."""

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.permissions import Permission
from backend.alerts.actions import channels as actions
from backend.alerts.channels import Outcome
from backend.alerts.channels.config import ChannelError
from backend.alerts.channels.slack_app import manifest
from backend.alerts.models import Channel, ChannelKind
from backend.alerts.queries import channels as queries
from backend.web.access import MemberRequest, needs
from backend.web.channels import test_sentence, verdict_of, verdict_of_one
from backend.web.confirm import Question, ask
from backend.web.forms.channels import ChannelChangeForm, ChannelForm
from backend.web.meanwhile import CHANGED, stamp_of, was_changed


@require_safe
@needs(Permission.READ)
def overview(request: MemberRequest) -> HttpResponse:
    return _list(request)


@never_cache
@require_POST
@needs(Permission.MANAGE_CHANNELS)
def add(request: MemberRequest, channel_kind: str) -> HttpResponse:
    """Makes a channel. The signing secret of a webhook is in this answer and nowhere else."""
    chosen = _kind(channel_kind)
    form = ChannelForm(request.POST, kind=chosen)
    if not form.is_valid():
        return _list(request, form)
    try:
        made = actions.create_channel(
            actor=request.user, organisation=request.organisation, kind=chosen, **form.chosen()
        )
    except ChannelError as error:
        _note(form, error)
        return _list(request, form)
    if made.secret is not None:
        return _secret(request, made.channel, made.secret)
    messages.success(request, f"{made.channel.name} is there. Send a test to see whether it arrives.")
    return redirect("web:channels")


@require_http_methods(["GET", "HEAD", "POST"])
@needs(Permission.READ)
def page(request: MemberRequest, channel_id: UUID) -> HttpResponseBase:
    """One channel: its delivery log, and for admins what can be changed."""
    channel = _channel(request, channel_id)
    if request.method != "POST":
        return _page(request, channel)
    return change(request, channel_id)


@require_POST
@needs(Permission.MANAGE_CHANNELS)
def change(request: MemberRequest, channel_id: UUID) -> HttpResponse:
    channel = _channel(request, channel_id)
    form = ChannelChangeForm(request.POST, channel=channel)
    if was_changed(request, _stamp(channel)):
        form.add_error(None, CHANGED)
    if not form.is_valid():
        return _page(request, channel, form)
    after_s, hours = form.timing()
    try:
        actions.change_channel(
            actor=request.user, channel=channel, **form.chosen(), after_s=after_s, hours=hours or "any"
        )
    except ChannelError as error:
        _note(form, error)
        return _page(request, channel, form)
    messages.success(request, "Saved.")
    return redirect("web:channel", channel_id)


@require_POST
@needs(Permission.MANAGE_CHANNELS)
def test(request: MemberRequest, channel_id: UUID) -> HttpResponse:
    """Sends a test and shows what the other side really answered."""
    channel = _channel(request, channel_id)
    try:
        sent = actions.send_test(actor=request.user, channel=channel)
    except ChannelError as error:
        messages.error(request, str(error))
        return redirect("web:channels")
    level = messages.SUCCESS if sent.outcome is Outcome.DELIVERED else messages.ERROR
    messages.add_message(request, level, test_sentence(channel.name, sent))
    return redirect("web:channels")


@require_POST
@needs(Permission.MANAGE_CHANNELS)
def switch(request: MemberRequest, channel_id: UUID) -> HttpResponse:
    """On with `on=1`, else off."""
    enabled = request.POST.get("on") == "1"
    channel = actions.switch_channel(actor=request.user, channel=_channel(request, channel_id), enabled=enabled)
    messages.success(request, f"{channel.name} is switched {'on' if enabled else 'off'}.")
    return redirect("web:channels")


@never_cache
@require_POST
@needs(Permission.MANAGE_CHANNELS)
def rotate(request: MemberRequest, channel_id: UUID) -> HttpResponse:
    """A new signing secret; the old one signs beside it for a day."""
    channel = _channel(request, channel_id)
    try:
        secret = actions.rotate_secret(actor=request.user, channel=channel)
    except ChannelError as error:
        messages.error(request, str(error))
        return redirect("web:channel", channel_id)
    return _secret(request, channel, secret, rotated=True)


@require_http_methods(["GET", "POST"])
@needs(Permission.MANAGE_CHANNELS)
def delete(request: MemberRequest, channel_id: UUID) -> HttpResponse:
    """Asks first; then nobody is told by this way any more."""
    channel = _channel(request, channel_id)
    if request.method == "GET":
        question = Question(
            title=f"Delete {channel.name}?",
            text="Nobody is told by this way any more, and rules that named it alone tell all channels. What was told "
            "stays in the log of its incidents.",
            verb="Delete it",
            back=reverse("web:channel", args=[channel.public_id]),
            section="alerts",
        )
        return ask(request, question)
    actions.delete_channel(actor=request.user, channel=channel)
    messages.success(request, f"{channel.name} is deleted.")
    return redirect("web:channels")


def _list(request: MemberRequest, faulty: ChannelForm | None = None) -> HttpResponse:
    rows = queries.channels(request.organisation)
    forms = [
        (kind, faulty if faulty is not None and faulty.prefix == kind.value else ChannelForm(kind=kind))
        for kind in ChannelKind
    ]
    context = {
        "channels": rows,
        "verdict": verdict_of(rows) if rows else None,
        "manifest": manifest(settings.BASE_URL),
        "forms": forms,
        "opened": faulty.prefix if faulty else "" if rows else ChannelKind.SLACK.value,
        "section": "alerts",
    }
    return render(request, "channels/list.html", context, status=400 if faulty else 200)


def _page(request: MemberRequest, channel: Channel, faulty: ChannelForm | None = None) -> HttpResponse:
    log = queries.deliveries(request.organisation, channel)
    context = {
        "channel": channel,
        "verdict": verdict_of_one(channel, log),
        "deliveries": log,
        "form": faulty or ChannelChangeForm(channel=channel),
        "stamp": _stamp(channel),
        "section": "alerts",
    }
    return render(request, "channels/channel.html", context, status=400 if faulty else 200)


def _stamp(channel: Channel) -> str:
    """Of what its form changes, also of what is never shown."""
    return stamp_of((channel.name, channel.target, channel.config, channel.after_s, channel.hours, channel.weekly))


def _secret(request: MemberRequest, channel: Channel, secret: str, *, rotated: bool = False) -> HttpResponse:
    context = {"channel": channel, "secret": secret, "rotated": rotated, "section": "alerts"}
    return render(request, "channels/secret.html", context)


def _kind(text: str) -> ChannelKind:
    if text not in ChannelKind.values:
        raise Http404
    return ChannelKind(text)


def _note(form: ChannelForm, error: ChannelError) -> None:
    field = {"hours": "time_zone"}.get(error.field, error.field)
    form.add_error(field if field in form.fields else None, str(error))


def _channel(request: MemberRequest, channel_id: UUID) -> Channel:
    channel = queries.channel(request.organisation, channel_id)
    if channel is None:
        raise Http404
    return channel
