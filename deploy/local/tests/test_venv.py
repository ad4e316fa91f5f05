from pathlib import Path

import pytest

from deploy.local.places import Places, make_state
from deploy.local.process import StepError
from deploy.local.venv import ensure_venv, stamp

FILES = ("requirements.txt",)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "requirements.txt").write_text("")
    made = Places(code=tmp_path)
    make_state(made)
    return made


def test_an_environment_is_made_once_and_again_when_the_requirements_change_until_that_succeeds(places: Places) -> None:
    assert ensure_venv(places, FILES)
    assert not ensure_venv(places, FILES)
    assert places.python.exists()
    # No hash: pip refuses before it asks any registry.
    (places.code / "requirements.txt").write_text("firstbyte-does-not-exist==1\n")
    for _ in range(2):
        with pytest.raises(StepError, match="Installing Python packages failed"):
            ensure_venv(places, FILES)


def test_who_takes_a_change_of_the_requirements_back_gets_the_old_versions_again(places: Places) -> None:
    other = ("requirements-dev.txt",)
    (places.code / other[0]).write_text("")
    assert ensure_venv(places, FILES)
    assert ensure_venv(places, other)
    assert not ensure_venv(places, FILES)
    (places.code / FILES[0]).write_text("# changed\n")
    assert ensure_venv(places, FILES)
    (places.code / FILES[0]).write_text("")
    assert ensure_venv(places, FILES)
    assert not ensure_venv(places, other)


def test_the_stamp_tells_other_requirements_apart(places: Places) -> None:
    (places.code / "requirements-dev.txt").write_text("# more\n")
    assert stamp(places.code, FILES) != stamp(places.code, ("requirements-dev.txt",))
