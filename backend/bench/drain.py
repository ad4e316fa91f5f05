"""`python -m backend.bench.drain REGION FILE`: an agent that measures nothing. Every message is answered at once.

Writes to the file how many microseconds after its slot each message could be taken.
"""

import signal
import sys
from pathlib import Path
from time import sleep, time

import django
import redis

TAKE, IDLE_S = 200, 0.02


def main(code: str, out: Path) -> None:
    django.setup()
    # Django's models exist from here on.
    from django.conf import settings  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from backend.fleet.models import Region  # noqa: PLC0415
    from backend.runs.ingest import ingest  # noqa: PLC0415
    from backend.runs.tests.processes import request_of  # noqa: PLC0415
    from backend.runs.tests.results import answer, probe  # noqa: PLC0415

    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    client, region, outcome = redis.Redis.from_url(settings.REDIS_URL), Region.objects.get(code=code), probe()
    with out.open("w", buffering=1 << 16) as lateness:
        while True:
            messages = client.rpop(f"{code}:probe", TAKE)
            if not isinstance(messages, list):
                lateness.flush()
                sleep(IDLE_S)
                continue
            taken_at = time()
            requests = [request_of(message) for message in messages]
            lateness.writelines(f"{(taken_at - request.scheduled_for.timestamp()) * 1e6:.0f}\n" for request in requests)
            ingest(region, [answer(request, outcome) for request in requests], now=timezone.now())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
