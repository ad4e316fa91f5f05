import gzip
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import timedelta
from types import MappingProxyType
from uuid import uuid4

import pytest
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone

from backend.api.bodies import MAX_BYTES, MAX_COMPRESSED_BYTES, MAX_LINES
from backend.fleet.credentials import TOKEN_KIND
from backend.fleet.models import Agent
from backend.runs.agents import has_picture, open_picture, picture_name
from backend.runs.ingest import ingest
from backend.runs.leases import sweep
from backend.runs.models import DeadLetter, PendingRun, Run
from backend.runs.tests.factories import Fleet, give_up, make_fleet, make_monitors, make_pending, token_of
from backend.runs.tests.results import line_of
from workers.measurement import routes
from workers.measurement.messages import (
    Heartbeat,
    HeartbeatReply,
    Progress,
    ProgressStage,
    Receipts,
    ReceiptStatus,
)
from workers.measurement.routes import PictureKind
from workers.measurement.timing import Phases
from workers.measurement.wire import decode, encode

pytestmark = pytest.mark.django_db
JPEG = b"\xff\xd8\xff\xe0" + b"picture" * 100


@pytest.fixture
def fleet() -> Fleet:
    return make_fleet("eu", "us")


@pytest.fixture
def pending(fleet: Fleet) -> PendingRun:
    return make_pending(fleet, make_monitors(fleet)[0])


@pytest.fixture
def agent(fleet: Fleet) -> Client:
    """A client with the token of the region eu."""
    return Client(headers={"authorization": f"Bearer {token_of('eu')}"})


def _post_results(agent: Client, body: bytes, encoding: str = "gzip") -> Receipts:
    response = agent.post(
        routes.RESULTS_PATH, body, content_type="application/x-ndjson", headers={"content-encoding": encoding}
    )
    assert response.status_code == 200, response.content
    return decode(response.content, Receipts)


def test_results_travel_as_compressed_lines_and_each_gets_its_receipt(agent: Client, pending: PendingRun) -> None:
    body = gzip.compress(line_of(pending) + b"\nnonsense\n" + line_of(pending) + b"\n")
    assert _post_results(agent, body).statuses == (
        ReceiptStatus.STORED,
        ReceiptStatus.UNREADABLE,
        ReceiptStatus.DUPLICATE,
    )
    assert Run.objects.get().outcome == "measured"
    assert DeadLetter.objects.count() == 1


def test_results_may_come_uncompressed(agent: Client, pending: PendingRun) -> None:
    assert _post_results(agent, line_of(pending), "identity").statuses == (ReceiptStatus.STORED,)


@pytest.mark.parametrize(
    ("body", "encoding", "status"),
    [
        (gzip.compress(b"\0" * (MAX_BYTES + 1)), "gzip", 413),
        (b"x" * (MAX_COMPRESSED_BYTES + 1), "identity", 413),
        (b"{}\n" * (MAX_LINES + 1), "identity", 413),
        (b"not gzip", "gzip", 400),
        (gzip.compress(b"{}\n" * 100)[:-10], "gzip", 400),
        (gzip.compress(b"{}\n") * 2, "gzip", 400),
        (b"{}", "br", 415),
    ],
    ids=["bomb", "large", "many lines", "no gzip", "cut off", "two members", "another encoding"],
)
def test_a_body_that_is_too_much_or_damaged_is_refused_with_a_sentence(
    agent: Client, body: bytes, encoding: str, status: int
) -> None:
    response = agent.post(
        routes.RESULTS_PATH, body, content_type="application/x-ndjson", headers={"content-encoding": encoding}
    )
    assert response.status_code == status
    assert response.json()["error"].endswith(".")


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer nonsense", f"Bearer {TOKEN_KIND}{'x' * 43}", f"Basic {token_of('eu')}"]
)
@pytest.mark.parametrize("path", [routes.RESULTS_PATH, routes.HEARTBEAT_PATH, routes.PROGRESS_PATH])
def test_no_door_opens_without_a_regions_token(fleet: Fleet, path: str, authorization: str) -> None:
    response = Client().post(path, b"", content_type="application/json", headers={"authorization": authorization})
    assert response.status_code == 401


def test_a_disabled_region_is_locked_out(agent: Client, fleet: Fleet) -> None:
    fleet.region.enabled = False
    fleet.region.save()
    assert agent.post(routes.RESULTS_PATH, b"", content_type="application/json").status_code == 401


def test_another_method_is_told_which_to_use(agent: Client) -> None:
    response = agent.get(routes.RESULTS_PATH)
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")


@pytest.mark.usefixtures("standing_clock")
def test_a_heartbeat_is_noted_and_extends_the_leases_of_what_the_agent_holds(
    agent: Client, fleet: Fleet, pending: PendingRun
) -> None:
    mine = make_pending(fleet, pending.monitor, region=fleet.regions[1])
    deleted = uuid4()
    message = Heartbeat(
        agent="agent-1",
        agent_version="1",
        sent_at=timezone.now() + timedelta(seconds=3),
        holding=(pending.run_id, mine.run_id, deleted),
    )
    response = agent.post(routes.HEARTBEAT_PATH, encode(message), content_type="application/json")
    reply = decode(response.content, HeartbeatReply)
    assert reply.lost == (deleted,)
    pending.refresh_from_db()
    assert pending.agent == "agent-1"
    assert pending.lease_until is not None
    assert pending.lease_until - timezone.now() == timedelta(seconds=45)
    mine.refresh_from_db()
    assert mine.agent == "", "a run of another region is not this agent's to hold"
    seen = Agent.objects.get()
    assert (seen.region, seen.holding) == (fleet.region, 3)
    assert seen.clock_skew_us == 3_000_000


def test_a_run_that_ended_or_was_begun_anew_is_not_lost_since_its_result_would_be_stored(
    agent: Client, fleet: Fleet, pending: PendingRun
) -> None:
    ingest(fleet.region, [line_of(pending)], now=timezone.now())
    first = uuid4()
    make_pending(fleet, pending.monitor, attempt=2, first_run_id=first)
    message = Heartbeat(agent="agent-1", agent_version="1", sent_at=timezone.now(), holding=(pending.run_id, first))
    response = agent.post(routes.HEARTBEAT_PATH, encode(message), content_type="application/json")
    assert decode(response.content, HeartbeatReply).lost == ()


def test_progress_is_kept_for_the_person_who_waits(agent: Client, pending: PendingRun) -> None:
    message = Progress(run_id=pending.run_id, stage=ProgressStage.LOADING, requests=14)
    response = agent.post(routes.PROGRESS_PATH, encode(message), content_type="application/json")
    assert response.status_code == 204
    pending.refresh_from_db()
    assert (pending.stage, pending.requests) == ("loading", 14)


def _tell(
    agent: Client,
    pending: PendingRun,
    phases: Phases | None = None,
    known: Mapping[str, int | None] = MappingProxyType({}),
    *,
    stage: ProgressStage = ProgressStage.LOADING,
) -> PendingRun:
    message = Progress(run_id=pending.run_id, stage=stage, phases=phases, **known)
    assert agent.post(routes.PROGRESS_PATH, encode(message), content_type="application/json").status_code == 204
    pending.refresh_from_db()
    return pending


EARLY = Phases(dns_us=None, connect_us=20, tls_us=30, send_us=1, wait_us=49, download_us=8, ttfb_us=100, total_us=108)


def test_the_phases_of_a_probe_that_looks_deeper_are_kept_until_it_ends(agent: Client, pending: PendingRun) -> None:
    assert _tell(agent, pending, EARLY).phases == asdict(EARLY)
    assert _tell(agent, pending, stage=ProgressStage.COMPUTING).phases == asdict(EARLY)


def test_round_trips_and_how_many_connections_there_are_are_kept_beside_the_phases(
    agent: Client, pending: PendingRun
) -> None:
    known = {"tls_round_trips": 2, "rtt_us": 20, "connections": 5, "planned": 16}
    assert _tell(agent, pending, EARLY, known).phases == asdict(EARLY) | known
    assert _tell(agent, pending, None, {"connections": 6, "planned": 16}).phases == {"connections": 6, "planned": 16}


@pytest.mark.parametrize(
    "known",
    [
        {"connections": 5},
        {"connections": -1, "planned": -1},
        {"connections": 17, "planned": 16},
        {"connections": 2**70, "planned": 2**70},
        {"tls_round_trips": -1},
        {"rtt_us": 2**70},
    ],
)
def test_counts_that_no_probe_can_have_are_not_kept(
    agent: Client, pending: PendingRun, known: dict[str, int | None]
) -> None:
    assert _tell(agent, pending, EARLY, known).phases == asdict(EARLY)


def test_a_run_that_begins_anew_has_no_phases_yet(agent: Client, pending: PendingRun) -> None:
    _tell(agent, pending, EARLY)
    assert _tell(agent, pending, stage=ProgressStage.CONNECTING).phases is None
    assert _tell(agent, pending, EARLY, stage=ProgressStage.STARTING).phases is None


@pytest.mark.parametrize(
    "change",
    [
        {"dns_us": -1, "ttfb_us": 99, "total_us": 107},
        {"dns_us": 2**70, "ttfb_us": 100 + 2**70, "total_us": 108 + 2**70},
        {"wait_us": None},
        {"ttfb_us": 99},
        {"ttfb_us": None},
        {"total_us": 200},
        {"download_us": None},
    ],
)
def test_phases_that_no_probe_can_have_seen_are_not_kept(
    agent: Client, pending: PendingRun, change: dict[str, int | None]
) -> None:
    assert _tell(agent, pending, replace(EARLY, **change)).phases is None
    assert pending.stage == "loading"


def test_a_message_that_cannot_be_read_is_refused_with_its_reason(agent: Client) -> None:
    response = agent.post(routes.PROGRESS_PATH, b"{}", content_type="application/json")
    assert response.status_code == 400
    assert "envelope" in response.json()["error"]


@pytest.mark.parametrize("kind", PictureKind)
def test_a_picture_is_kept_until_its_result_claims_it(
    agent: Client, fleet: Fleet, pending: PendingRun, kind: PictureKind
) -> None:
    path = routes.PICTURE_PATH.format(kind=kind, run_id=pending.run_id)
    for _ in range(2):
        assert agent.put(path, JPEG, content_type="image/jpeg").status_code == 204
    ingest(fleet.region, [line_of(pending)], now=timezone.now())
    run = Run.objects.get()
    assert [known for known in PictureKind if has_picture(run, known)] == [kind]
    opened = open_picture(run, kind)
    assert opened is not None
    file, media_type = opened
    with file:
        assert (file.read(), media_type) == (JPEG, "image/jpeg")


@pytest.mark.parametrize("kind", PictureKind)
def test_a_picture_of_a_run_that_was_given_up_is_kept_for_its_late_result(
    agent: Client, fleet: Fleet, pending: PendingRun, kind: PictureKind
) -> None:
    line = line_of(pending)
    give_up(pending)
    path = routes.PICTURE_PATH.format(kind=kind, run_id=pending.run_id)
    assert agent.put(path, JPEG, content_type="image/jpeg").status_code == 204
    ingest(fleet.region, [line], now=timezone.now())
    run = Run.objects.get()
    assert (run.outcome, run.late) == ("measured", True)
    assert [known for known in PictureKind if has_picture(run, known)] == [kind]
    assert agent.put(path, JPEG, content_type="image/jpeg").status_code == 404


def _begin_anew(first: PendingRun) -> None:
    first.agent = "agent-1"
    first.save()
    assert first.lease_until is not None
    assert sweep(first.lease_until).retried == 1


@pytest.mark.parametrize("kind", PictureKind)
@pytest.mark.parametrize("comes_before", [True, False])
def test_a_picture_of_a_run_that_was_begun_anew_is_kept_for_its_late_result(
    agent: Client, fleet: Fleet, pending: PendingRun, kind: PictureKind, comes_before: bool
) -> None:
    line, path = line_of(pending), routes.PICTURE_PATH.format(kind=kind, run_id=pending.run_id)
    if comes_before:
        assert agent.put(path, JPEG, content_type="image/jpeg").status_code == 204
        pending.refresh_from_db()
    _begin_anew(pending)
    stranger = Client(headers={"authorization": f"Bearer {token_of('us')}"})
    assert stranger.put(path, JPEG, content_type="image/jpeg").status_code == 404
    if not comes_before:
        assert agent.put(path, JPEG, content_type="image/jpeg").status_code == 204
    assert ingest(fleet.region, [line, line_of(PendingRun.objects.get())], now=timezone.now()) == ["stored"] * 2
    first, second = Run.objects.order_by("attempt")
    assert [[known for known in PictureKind if has_picture(run, known)] for run in (first, second)] == [[kind], []]
    assert agent.put(path, JPEG, content_type="image/jpeg").status_code == 404


@pytest.mark.parametrize(
    ("picture", "status"), [(b"<svg/>", 415), (b"", 415), (JPEG + b"x" * 2**20, 413)], ids=["svg", "empty", "large"]
)
def test_what_is_no_picture_or_too_large_is_not_kept(
    agent: Client, pending: PendingRun, picture: bytes, status: int
) -> None:
    path = routes.PICTURE_PATH.format(kind=PictureKind.SCREENSHOT, run_id=pending.run_id)
    assert agent.put(path, picture, content_type="image/jpeg").status_code == status
    assert not default_storage.exists(picture_name(PictureKind.SCREENSHOT, pending.run_id, pending.scheduled_for))


def test_a_region_cannot_write_the_screenshot_of_another(fleet: Fleet, pending: PendingRun) -> None:
    stranger = Client(headers={"authorization": f"Bearer {token_of('us')}"})
    path = routes.PICTURE_PATH.format(kind=PictureKind.SCREENSHOT, run_id=pending.run_id)
    assert stranger.put(path, JPEG, content_type="image/jpeg").status_code == 404
    pending.refresh_from_db()
    assert not pending.has_screenshot
    run = give_up(pending)
    assert stranger.put(path, JPEG, content_type="image/jpeg").status_code == 404
    run.refresh_from_db()
    assert not run.has_screenshot
