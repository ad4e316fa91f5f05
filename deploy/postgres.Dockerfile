# The database, from the same Debian as the rest, so that Compose and ./dev run the same PostgreSQL.
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends postgresql-common \
 && sed -i 's/^#\?create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf \
 && apt-get install -y --no-install-recommends postgresql-15 \
 && rm -rf /var/lib/apt/lists/* \
 && install -d -o postgres -g postgres -m 0700 /var/lib/firstbyte
COPY deploy/compose/start-postgres /usr/local/bin/
# Also of a checkout that was made with a umask of 077 or 027.
RUN chmod a+rX /usr/local/bin/start-postgres
USER postgres
ENV PATH=/usr/lib/postgresql/15/bin:$PATH LC_ALL=C.UTF-8
VOLUME /var/lib/firstbyte
# "Fast": ends sessions instead of waiting for them until it is killed.
STOPSIGNAL SIGINT
HEALTHCHECK --interval=2s --retries=30 CMD pg_isready -q -h /tmp -U firstbyte
CMD ["start-postgres"]
