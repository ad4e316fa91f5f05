import os
from pathlib import Path

import pytest

from deploy.local.bench import bench, memory_of
from deploy.local.places import Places
from deploy.local.process import StepError


def test_a_process_holds_some_memory_and_one_that_is_gone_holds_none() -> None:
    gone = 2**22 + 1
    assert 1 < memory_of([os.getpid()]) < 4000
    assert memory_of([gone]) == 0


def test_an_unknown_bench_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(StepError, match=r"no bench 'sped'\. There are: start, service, .*, probes, .*, soak"):
        bench(Places(code=tmp_path), ["sped"])
