"""What the soak takes for memory, and when it says that something grows."""

import mmap
import os
from pathlib import Path

from workers.bench.soak import MIB, Sample, memory_bytes, verdicts

SIZE = 32 * MIB
PAGE = mmap.PAGESIZE


def grown_by(memory: mmap.mmap, *, write: bool) -> int:
    before = memory_bytes(os.getpid())
    for at in range(0, SIZE, PAGE):
        if write:
            memory[at] = 1
        else:
            assert memory[at] == 7
    return memory_bytes(os.getpid()) - before


def test_what_a_process_writes_is_its_memory_and_a_file_that_it_reads_is_not(tmp_path: Path) -> None:
    file = tmp_path / "library"
    file.write_bytes(b"\7" * SIZE)
    with mmap.mmap(-1, SIZE) as own:
        assert grown_by(own, write=True) > SIZE * 3 // 4
    with file.open("rb") as reading, mmap.mmap(reading.fileno(), SIZE, access=mmap.ACCESS_READ) as shared:
        assert grown_by(shared, write=False) < SIZE // 4


def test_a_process_that_is_gone_holds_nothing() -> None:
    assert memory_bytes(2**22 + 1) == 0


def sample(ours_bytes: int) -> Sample:
    return Sample(ours_bytes=ours_bytes, browser_bytes=200 * MIB, processes=7, open_files=17, files=28, overhead_s=0.3)


def test_a_process_that_grows_run_by_run_is_told_and_one_that_jumps_about_is_not() -> None:
    steady = [sample(100 * MIB + (number % 7) * MIB) for number in range(100)]
    growing = [sample(100 * MIB + number * MIB // 40) for number in range(100)]
    judged = [verdicts(samples, 50)[0] for samples in (steady, growing)]
    assert [one.question for one in judged] == ["memory of this process"] * 2
    assert [one.met for one in judged] == [True, False]
