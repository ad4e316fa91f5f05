# The demo sites: a shop and its CDN, over TLS with a throw-away authority.
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends libnginx-mod-http-js nginx-light openssl python3 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10003 --home-dir /var/lib/firstbyte firstbyte \
 && install -d -o firstbyte -g firstbyte /var/lib/firstbyte /run/demo
WORKDIR /srv/firstbyte
COPY deploy deploy
# Also of a checkout that was made with a umask of 077 or 027.
RUN chmod -R a+rX /srv/firstbyte
USER firstbyte
VOLUME /run/demo /var/lib/firstbyte
CMD ["deploy/compose/start-demo"]
