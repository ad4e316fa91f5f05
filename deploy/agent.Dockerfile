# A region: everything under workers/ and Debian's Chromium. It knows no Django and no database.
FROM debian:bookworm-slim AS python
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates python3 python3-venv tzdata \
 && rm -rf /var/lib/apt/lists/*

FROM python AS dependencies
COPY workers/requirements.txt /tmp/
RUN python3 -m venv /opt/venv && /opt/venv/bin/pip install --no-cache-dir --require-hashes -r /tmp/requirements.txt

FROM python
# libatomic1 is for the driver that Playwright brings. DejaVu is fontconfig's usual font for text: without it system-ui is
# drawn in Liberation Mono.
RUN apt-get update \
 && apt-get install -y --no-install-recommends chromium-headless-shell \
    fonts-dejavu-core fonts-liberation fonts-noto-color-emoji libatomic1 nftables tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10002 --home-dir /var/lib/firstbyte firstbyte \
 && install -d -o firstbyte -g firstbyte -m 0700 /var/lib/firstbyte /var/lib/firstbyte/spool /tmp/firstbyte-pages-10002
COPY --from=dependencies /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp FIRSTBYTE_SPOOL_DIR=/var/lib/firstbyte/spool
WORKDIR /srv/firstbyte
COPY workers workers
COPY deploy/compose/firstbyte deploy/compose/start-agent /usr/local/bin/
# Who makes a checkout with a umask of 077 or 027 keeps it from others: not from the image's user.
RUN chmod -R a+rX /srv/firstbyte /usr/local/bin && python -m compileall -q workers
USER firstbyte
VOLUME /var/lib/firstbyte/spool
CMD ["start-agent"]
