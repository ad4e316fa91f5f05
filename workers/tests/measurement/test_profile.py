"""Profiles by name and by numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.profile import NATIVE, PROFILES, Profile, ProfileError, parse_profile


def test_a_profile_is_found_by_its_name_however_it_is_written() -> None:
    assert parse_profile("3G") is PROFILES["3g"]
    assert parse_profile(" FIOS ") is PROFILES["fios"]
    assert parse_profile("native") is NATIVE


def test_native_shapes_nothing_and_all_others_something() -> None:
    assert [profile.name for profile in PROFILES.values() if not profile.shapes] == ["native"]


def test_a_profile_is_read_from_its_numbers() -> None:
    assert parse_profile("1600/768/300/0.5") == Profile(
        name="1600/768/300/0.5", down_kbit_s=1600, up_kbit_s=768, rtt_us=300_000, loss_ppm=5000
    )


def test_what_is_not_shaped_is_a_dash_and_loss_may_be_left_out() -> None:
    assert parse_profile("-/-/12.5") == Profile(name="-/-/12.5/-", rtt_us=12_500)
    assert parse_profile("-/-/0/2%").loss_ppm == 20_000


@pytest.mark.parametrize(
    "text", ["", "5g", "1/2", "1/2/3/4/5", "0/1/1/1", "1/1/-5/0", "1/1/1/100", "x/1/1/1", "nan/1/1/1", "1/1/1e9/0"]
)
def test_what_is_no_profile_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(ProfileError, match="DOWN/UP/RTT/LOSS"):
        parse_profile(text)


@given(
    st.none() | st.integers(1, 10_000_000),
    st.none() | st.integers(1, 10_000_000),
    st.none() | st.integers(0, 10_000_000),
    st.none() | st.integers(0, 999_999),
)
def test_the_name_of_a_profile_by_numbers_is_read_as_the_same(
    down: int | None, up: int | None, rtt: int | None, loss: int | None
) -> None:
    def text(value: int | None, scale: int) -> str:
        return "-" if value is None else repr(value / scale)

    profile = parse_profile("/".join((text(down, 1), text(up, 1), text(rtt, 1000), text(loss, 10_000))))
    assert (profile.down_kbit_s, profile.up_kbit_s, profile.rtt_us, profile.loss_ppm) == (down, up, rtt, loss)
    assert parse_profile(profile.name) == profile


@given(st.text(max_size=60))
def test_any_text_is_a_profile_or_refused(text: str) -> None:
    try:
        parse_profile(text)
    except ProfileError:
        return
