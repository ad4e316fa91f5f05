"""Several who do the same at the same moment, each with a connection to the database of its own."""

import threading
from collections.abc import Callable

from django.db import connection


def side_by_side(count: int, act: Callable[[int], object]) -> list[BaseException]:
    """Each thread acts with its number, once all of them are there; what went wrong."""
    start, faults = threading.Barrier(count), list[BaseException]()

    def one(number: int) -> None:
        try:
            start.wait(timeout=120)
            act(number)
        except BaseException as error:
            faults.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return faults
