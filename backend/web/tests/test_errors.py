"""Pages for what went wrong say what, why, what to do, and carry the request's id."""

import pytest
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path

from backend.cast import Member
from backend.urls import urlpatterns as real

pytestmark = pytest.mark.django_db


def fail(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("a detail that is nobody's business")


def lose_the_database(request: HttpRequest) -> HttpResponse:
    raise OperationalError("connection to 10.0.0.7 failed")


urlpatterns = [path("fail/", fail), path("away/", lose_the_database), *real]
handler500 = "backend.web.views.errors.server_error"


def test_what_is_not_there_is_answered_in_the_house_style(client: Client, alice: Member) -> None:
    client.force_login(alice.user)
    response = client.get("/sites/00000000-0000-4000-8000-000000000000/")
    text = response.content.decode()
    assert response.status_code == 404
    assert "There is nothing here" in text
    assert "To your sites" in text
    assert response.headers["X-Request-Id"] in text


def test_a_lost_visitor_keeps_the_navigation(client: Client, alice: Member, vera: Member) -> None:
    client.force_login(alice.user)
    for address in ("/nowhere/", "/account/password/set/"):
        assert 'aria-label="Main"' in client.get(address).content.decode(), address
    client.force_login(vera.user)
    refused = client.get("/sites/add/")
    assert (refused.status_code, 'aria-label="Main"' in refused.content.decode()) == (403, True)


def test_the_address_of_a_form_that_is_opened_by_hand_says_what_it_is(client: Client, alice: Member) -> None:
    client.force_login(alice.user)
    response = client.get("/alerts/00000000-0000-4000-8000-000000000000/mute/")
    text = response.content.decode()
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")
    assert "This address only takes a form" in text
    assert 'aria-label="Main"' in text
    assert client.delete("/api/v1/sites").headers["Content-Type"] == "application/problem+json"


def test_a_stranger_sees_no_navigation(client: Client, db: None) -> None:
    assert 'aria-label="Main"' not in client.get("/account/login/").content.decode()


@override_settings(ROOT_URLCONF=__name__)
def test_our_own_fault_is_called_so_and_tells_no_detail(alice: Member) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(alice.user)
    response = client.get("/fail/")
    text = response.content.decode()
    assert response.status_code == 500
    assert "This is our fault" in text
    assert "nobody's business" not in text
    assert response.headers["X-Request-Id"] in text
    assert response.headers["Content-Security-Policy"]


@override_settings(ROOT_URLCONF=__name__)
def test_a_database_that_is_away_is_no_fault_of_the_page_and_worth_another_try(alice: Member) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(alice.user)
    response = client.get("/away/")
    text = response.content.decode()
    assert (response.status_code, response.headers["Retry-After"]) == (503, "10")
    assert "The service cannot answer now" in text
    assert "10.0.0.7" not in text
    assert response.headers["X-Request-Id"] in text


@pytest.mark.parametrize(
    ("given", "kept"), [("abc-123-def", True), ("x", False), ("bad id\r\n", False), ("x" * 65, False)]
)
def test_a_proxys_request_id_is_kept_when_it_is_sane(client: Client, given: str, kept: bool, db: None) -> None:
    answer = client.get("/livez", headers={"X-Request-Id": given}).headers["X-Request-Id"]
    assert (answer == given) is kept


@pytest.mark.parametrize("host", ["evil.example", "a..b", ""])
def test_a_host_that_is_not_ours_is_refused(client: Client, host: str) -> None:
    assert client.get("/sites/", headers={"Host": host}).status_code == 400
