# The service: web, scheduler, sweeper, judge and the one-shot commands. It holds neither Playwright nor Chromium.
FROM debian:bookworm-slim AS python
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates python3 python3-venv tzdata \
 && rm -rf /var/lib/apt/lists/*

FROM python AS dependencies
COPY requirements.txt /tmp/
RUN python3 -m venv /opt/venv && /opt/venv/bin/pip install --no-cache-dir --require-hashes -r /tmp/requirements.txt

FROM python
RUN useradd --system --uid 10001 --home-dir /var/lib/firstbyte firstbyte \
 && install -d -o firstbyte -g firstbyte -m 0700 /var/lib/firstbyte /var/lib/firstbyte/media
COPY --from=dependencies /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 FIRSTBYTE_MEDIA_ROOT=/var/lib/firstbyte/media
WORKDIR /srv/firstbyte
COPY manage.py ./
COPY deploy/compose deploy/compose
COPY backend backend
COPY workers/__init__.py workers/memory.py workers/stopping.py workers/supervisor.py workers/version.py workers/
COPY workers/measurement workers/measurement
COPY workers/diagnosis workers/diagnosis
# Who makes a checkout with a umask of 077 or 027 keeps it from others: not from the image's user.
RUN chmod -R a+rX /srv/firstbyte \
 && python -m compileall -q backend workers manage.py && python manage.py collectstatic --noinput
USER firstbyte
# Never with --preload: a thread that keeps a connection must begin behind the fork. An agent's connection is kept longer
# than its heartbeats are apart, so that it is not closed while the agent sends.
CMD ["gunicorn", "backend.wsgi", "--bind=0.0.0.0:8800", "--worker-class=gthread", "--threads=8", "--keep-alive=30", \
     "--no-control-socket"]
