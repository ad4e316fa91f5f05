"""Which tests each process begins with."""

from backend.conftest import shares

LONG = [["mission"], ["service", "fuzz"]]
OTHERS = [str(number) for number in range(12)]


def test_two_processes_begin_with_what_is_long_and_all_have_the_same_number() -> None:
    assert list(shares(LONG, OTHERS, 3)) == [
        ["mission", "0", "1", "2", "3"],
        ["service", "fuzz", "4", "5", "6"],
        ["7", "8", "9", "10", "11"],
    ]


def test_one_process_has_all_and_begins_with_what_is_long() -> None:
    assert list(shares(LONG, OTHERS, 1)) == [["mission", "service", "fuzz", *OTHERS]]


def test_each_test_is_given_to_one_process_however_few_there_are() -> None:
    for processes in (2, 3, 5, 20):
        given = [one for share in shares(LONG, OTHERS[:4], processes) for one in share]
        assert sorted(given) == sorted(["mission", "service", "fuzz", *OTHERS[:4]])
