"""What the soak takes for memory, and when it says that something grows."""

import gc
import mmap
import os

from workers.bench.soak import MIB, Sample, memory_bytes, own_bytes, verdicts

SIZE = 32 * MIB
PAGE = mmap.PAGESIZE


def test_what_a_process_writes_is_its_memory() -> None:
    # What goes meanwhile is not taken for less.
    gc.collect()
    before = memory_bytes(os.getpid())
    with mmap.mmap(-1, SIZE) as own:
        for at in range(0, SIZE, PAGE):
            own[at] = 1
        assert memory_bytes(os.getpid()) - before > SIZE * 3 // 4


def test_pages_of_files_are_nobodys_own() -> None:
    rollup = """\
55d0c0a00000-7ffd1b5c2000 ---p 00000000 00:00 0                          [rollup]
Rss:              131072 kB
Pss:               91136 kB
Pss_Anon:          65536 kB
Pss_File:          24576 kB
Pss_Shmem:          1024 kB
Anonymous:         65536 kB
"""
    assert own_bytes(rollup) == 65 * MIB


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
