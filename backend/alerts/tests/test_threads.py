"""Where in Slack an object was told of first: each channel has places of its own."""

from datetime import timedelta
from uuid import uuid4

import pytest

from backend.accounts.models import Organisation
from backend.alerts.channels import Thread
from backend.alerts.models import Channel, ChannelKind
from backend.alerts.threads import forget_older, forget_threads, remember, threads_of
from backend.runs.tests.factories import NOW

pytestmark = pytest.mark.django_db


def test_a_channel_knows_its_own_places_and_forgets_no_others() -> None:
    organisation = Organisation.objects.create(name="Shop")
    here, there = (
        Channel.objects.create(organisation=organisation, kind=ChannelKind.SLACK_APP, name=name, target=name)
        for name in ("here", "there")
    )
    first, second = uuid4(), uuid4()
    for minute, about in enumerate((first, second)):
        for channel in (here, there):
            thread = Thread(conversation=channel.name, ts=f"{minute}.0")
            remember(channel, about, thread, NOW + timedelta(minutes=minute))
    assert threads_of(here, [first]) == {first: Thread(conversation="here", ts="0.0")}
    forget_older(NOW + timedelta(hours=1), 3)
    assert len(threads_of(here, [first, second])) + len(threads_of(there, [first, second])) == 1
    forget_threads(here)
    forget_threads(there)
    for channel in (here, there):
        remember(channel, first, Thread(conversation=channel.name, ts="2.0"), NOW)
    forget_threads(here)
    assert not threads_of(here, [first])
    assert threads_of(there, [first]) == {first: Thread(conversation="there", ts="2.0")}
