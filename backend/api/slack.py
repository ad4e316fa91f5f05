"""The door for Slack: buttons that were pressed under messages of a Slack app. The signature is all the call has."""

import json
import logging
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from backend.accounts.audit import acting_from
from backend.accounts.client_address import client_address
from backend.alerts.actions.presses import Reply, do_what_was_pressed
from backend.alerts.channels.slack_blocks import TEXT_CHARS, escape
from backend.alerts.channels.slack_buttons import Press, is_signed, read_press
from backend.alerts.queries.channels import slack_app
from backend.api.bodies import BodyError, read
from backend.outbound import Outbound, OutboundError, client

log = logging.getLogger(__name__)

MAX_BYTES = 256 * 1024
# Slack waits three seconds for its own answer: what it is told besides goes apart from that.
_REPLIES = ThreadPoolExecutor(max_workers=2, thread_name_prefix="slack")


@csrf_exempt
@login_not_required
@require_POST
def pressed(request: HttpRequest) -> HttpResponse:
    """Does what was pressed, and says so in the thread. What is no such button is no fault of Slack's."""
    try:
        body = read(request, MAX_BYTES)
    except BodyError as error:
        return HttpResponse(str(error), status=error.status, content_type="text/plain; charset=utf-8")
    press = read_press(body)
    if press is None:
        return HttpResponse()
    told = slack_app(press.channel)
    if told is None or not is_signed(body, request.headers, told.signing_secret, now_s=timezone.now().timestamp()):
        return HttpResponse("The call is not signed by the app's secret.", status=401, content_type="text/plain")
    with acting_from(client_address(request)):
        reply = do_what_was_pressed(channel=told.channel, press=press)
    if any(press.answer_url.startswith(f"{origin}/") for origin in settings.SLACK_ORIGINS):
        _REPLIES.submit(_answer, press, reply, client())
    return HttpResponse()


def _answer(press: Press, reply: Reply, outbound: Outbound) -> None:
    """Tells Slack; if that is lost, the incident's page has it all the same."""
    whom = {"response_type": "in_channel", "thread_ts": press.ts} if reply.for_all else {"response_type": "ephemeral"}
    body = json.dumps(
        {"text": escape(reply.text, TEXT_CHARS), "mrkdwn": False, "replace_original": False} | whom
    ).encode()
    try:
        answer = outbound.post(press.answer_url, body, {"Content-Type": "application/json; charset=utf-8"})
    except OutboundError as error:
        log.warning("Slack was not told what became of a button: %s", error)
        return
    if answer.status != 200:
        log.warning("Slack did not take what became of a button: %s", answer.status)
