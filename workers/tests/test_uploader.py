"""From the spool to the service, whatever the service does."""

from pathlib import Path
from uuid import UUID

import pytest

from workers.ledger import Recent
from workers.service import Service
from workers.spool import Spool
from workers.tests.builders import build_result
from workers.tests.fakes import PICTURES
from workers.tests.stub_service import TOKEN, StubService
from workers.uploader import IDLE_S, LONGEST_WAIT_S, Uploader


class Upload:
    """An uploader over a spool with numbered results."""

    def __init__(self, service: StubService, directory: Path, results: int, *, token: str = TOKEN) -> None:
        self.spool, self.lost = Spool(directory), Recent(10)
        for number in range(results):
            self.spool.add(build_result(run_id=UUID(int=number)))
        self.uploader = Uploader(Service(service.url, token), self.spool, self.lost)

    def finish(self, steps: int = 50) -> None:
        """Until there is nothing to send, in at most so many steps."""
        for _ in range(steps):
            if self.uploader.step() == IDLE_S:
                return
        raise AssertionError(f"not finished after {steps} steps")


def arrived(service: StubService) -> list[int]:
    return sorted(result.run_id.int for result in service.results)


def test_everything_arrives_once_and_the_spool_is_empty(service: StubService, tmp_path: Path) -> None:
    upload = Upload(service, tmp_path, 450)
    upload.finish()
    assert arrived(service) == list(range(450))
    assert service.batches == [200, 200, 50]
    assert upload.spool.count() == 0


def test_a_service_that_is_down_loses_nothing_and_is_asked_less_and_less(service: StubService, tmp_path: Path) -> None:
    upload = Upload(service, tmp_path, 3)
    service.status = 503
    waits = [upload.uploader.step() for _ in range(12)]
    assert upload.spool.count() == 3
    assert upload.uploader.failing
    assert 0.25 <= waits[0] <= 0.5
    assert all(wait_s <= LONGEST_WAIT_S for wait_s in waits)
    assert waits[-1] >= LONGEST_WAIT_S / 2
    service.status = None
    upload.finish()
    assert arrived(service) == [0, 1, 2]
    assert not upload.uploader.failing


@pytest.mark.parametrize("status", [302, 404, 405, 451])
def test_a_proxy_in_the_way_costs_no_result(service: StubService, tmp_path: Path, status: int) -> None:
    upload = Upload(service, tmp_path, 3)
    service.status = status
    assert upload.uploader.step() > 0
    assert upload.spool.count() == 3


def test_a_wrong_token_loses_nothing(service: StubService, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    upload = Upload(service, tmp_path, 2, token="old")
    assert upload.uploader.step() > 0
    assert upload.spool.count() == 2
    assert "401" in caplog.text


def test_one_result_that_the_service_refuses_does_not_hold_up_the_others(service: StubService, tmp_path: Path) -> None:
    upload = Upload(service, tmp_path, 20)
    service.refused_batches = frozenset({UUID(int=13)})
    upload.finish()
    assert arrived(service) == [number for number in range(20) if number != 13]
    [aside] = (tmp_path / "aside").iterdir()
    assert aside.name.endswith(f"{UUID(int=13)}.json")


def test_a_run_that_is_no_longer_ours_is_dropped(service: StubService, tmp_path: Path) -> None:
    upload = Upload(service, tmp_path, 3)
    upload.lost.add(UUID(int=1))
    upload.finish()
    assert arrived(service) == [0, 2]
    assert upload.spool.count() == 0


@pytest.mark.parametrize("status", [404, 413])
def test_a_picture_that_is_not_wanted_does_not_hold_up_its_result(
    service: StubService, tmp_path: Path, status: int
) -> None:
    upload = Upload(service, tmp_path, 0)
    upload.spool.add(build_result(), PICTURES)
    service.pictures_status = status
    upload.finish()
    assert len(service.results) == 1
    assert upload.spool.count() == 0


def test_a_spool_full_of_lost_runs_is_emptied_without_waiting(service: StubService, tmp_path: Path) -> None:
    upload = Upload(service, tmp_path, 2)
    for number in range(2):
        upload.lost.add(UUID(int=number))
    upload.finish()
    assert service.batches == []
    assert upload.spool.count() == 0
