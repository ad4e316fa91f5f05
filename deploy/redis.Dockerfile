# The broker. Every client has an account of its own; a region's reaches its own keys only.
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends redis-server \
 && rm -rf /var/lib/apt/lists/* \
 && install -d -o redis -g redis -m 0700 /var/lib/firstbyte
COPY deploy/compose/start-redis /usr/local/bin/
# Also of a checkout that was made with a umask of 077 or 027.
RUN chmod a+rX /usr/local/bin/start-redis
USER redis
VOLUME /var/lib/firstbyte
HEALTHCHECK --interval=2s --retries=30 CMD redis-cli ping | grep -qE 'PONG|NOAUTH'
CMD ["start-redis"]
