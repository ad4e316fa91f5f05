import pytest
from django.db import IntegrityError

from backend.accounts.models import User
from backend.cast import Member


def test_an_address_is_kept_in_lower_case(db: None) -> None:
    assert User.objects.create_user("Ann@Example.COM").email == "ann@example.com"


def test_the_database_refuses_an_address_in_upper_case(alice: Member) -> None:
    with pytest.raises(IntegrityError, match="user_email_lower_case"):
        User.objects.filter(pk=alice.user.pk).update(email="Alice@acme.example")
