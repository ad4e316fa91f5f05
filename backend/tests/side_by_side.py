"""Several who do the same at the same moment, each with a connection to the database of its own; and how many wait."""

import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.db import connection


def side_by_side(count: int, act: Callable[[int], object]) -> list[BaseException]:
    """Each thread acts with its number, once all of them are there; what went wrong."""
    start, faults = threading.Barrier(count), list[BaseException]()

    def one(number: int) -> None:
        try:
            start.wait(timeout=120)
            act(number)
        except BaseException as error:
            # Who expected none is shown where it came from.
            traceback.print_exception(error)
            faults.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return faults


def both_having_read(statement: str, act: Callable[[int], object]) -> list[BaseException]:
    """Two who act at once: each has the answer to a statement that begins so before the other goes on, where it may."""
    read = threading.Barrier(2)

    def together(execute: Any, sql: str, *rest: Any) -> Any:
        result = execute(sql, *rest)
        if sql.startswith(statement):
            with suppress(threading.BrokenBarrierError):
                read.wait(timeout=0.5)
        return result

    def one(number: int) -> None:
        with connection.execute_wrapper(together):
            act(number)

    return side_by_side(2, one)


def waiting() -> int:
    """How many wait for a lock in this database: others are of tests beside this one. A transaction sees connections
    as they were first."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
            " WHERE NOT l.granted AND a.datname = current_database()"
        )
        (count,) = cursor.fetchone() or (0,)
    return int(count)
