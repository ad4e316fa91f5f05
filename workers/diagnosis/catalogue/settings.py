"""What to write in which server or CDN, where it differs and is known: names as in each one's own reference.

nginx.org (1.29), Apache 2.4, HAProxy 3, Caddy 2; zone settings of Cloudflare's API, CloudFront's distribution
configuration, Fastly's and Akamai's service and property APIs.
"""

from collections.abc import Mapping

from workers.diagnosis.catalogue.entry import Setting
from workers.measurement.finding import FindingId

# Those of which a site has one; the others are beneath it, or in its pages.
_SERVERS = {
    "nginx": "nginx",
    "apache": "Apache",
    "haproxy": "HAProxy",
    "caddy": "Caddy",
    "cloudflare": "Cloudflare",
    "fastly": "Fastly",
    "cloudfront": "CloudFront",
    "akamai": "Akamai",
}
SERVERS = frozenset(_SERVERS.values())
CDNS = frozenset({"Cloudflare", "Fastly", "CloudFront", "Akamai"})
_NAMES = _SERVERS | {
    "linux": "Linux",
    "windows": "Windows Server",
    "certbot": "certbot",
    "html": "HTML",
}
_HSTS = "max-age=31536000"
# Of these, those of the port's default server hold, whichever name is asked for.
_NGINX_EACH = "in each server block of the port"
_APACHE_MAIN = "outside of each <VirtualHost>"
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
_HAPROXY_ALPN = "alpn h2,http/1.1  (on the bind line; the default since 2.8)"
# Options of all sites stand in a block of their own (Caddyfile, global options).
_CADDY_HEAD = "at the head of the Caddyfile"
_CADDY_CURVES = "tls {\n    curves x25519mlkem768 x25519 secp256r1\n}  (2.10, whose default has all of them)"
_CADDY_KEY = "tls {\n    key_type p256\n}  (the default; holds from the next certificate on)"
# What puts a template into use, since by itself Windows chooses among those that cannot be changed.
_WINDOWS_FILTER = (
    "New-NetTransportFilter -SettingName InternetCustom `\n"
    "    -LocalPortStart 443 -LocalPortEnd 443 -RemotePortStart 0 -RemotePortEnd 65535"
)
# What the finding of texts that are not compressed may name, beside text/html.
_TEXTS = (
    "text/css text/plain text/xml text/javascript application/javascript",
    "application/x-javascript application/json application/manifest+json image/svg+xml",
    "application/xml application/rss+xml application/atom+xml application/ld+json",
    "application/wasm font/otf font/ttf font/sfnt application/vnd.ms-fontobject",
)
# Of a response matcher, whose values may have stars.
_CADDY_TEXTS = ("text/*", "*javascript*", "*json*", "application/xml*", "*+xml*", *_TEXTS[-1].split())
_CADDY_PROTOCOLS = "{\n    servers {\n        protocols h1 h2 h3\n    }\n}"


def _settings(**by_server: str) -> tuple[Setting, ...]:
    """In the order given."""
    return tuple(Setting(server=_NAMES[key], setting=text) for key, text in by_server.items())


_ECDSA = _settings(certbot="certbot certonly --key-type ecdsa -d www.example.org", caddy=_CADDY_KEY)
_RENEWAL = _settings(
    nginx='certbot renew --deploy-hook "systemctl reload nginx"',
    apache='certbot renew --deploy-hook "systemctl reload apache2"  (httpd where it is called so)',
    haproxy="certbot renew --deploy-hook /etc/haproxy/renewed  (an executable script of these two lines)\n"
    'cat "$RENEWED_LINEAGE/privkey.pem" "$RENEWED_LINEAGE/fullchain.pem" > /etc/haproxy/site.pem\n'
    "systemctl reload haproxy",
    caddy="renews certificates by itself",
)
# Chrome takes brotli alone (RFC 8879, 7.3, has three).
COMPRESSION = _settings(
    nginx="ssl_certificate_compression on;  (1.29.1, OpenSSL 3.2; for Chrome one built with brotli, unlike Debian's)"
)
SETTINGS: Mapping[FindingId, tuple[Setting, ...]] = {
    FindingId.DNS_CNAME_CHAIN: _settings(cloudflare="DNS setting flatten_all_cnames: true  (on paid plans)"),
    FindingId.IPV6_BROKEN_OR_SLOW: _settings(
        nginx="listen [::]:443 ssl;",
        apache=f"Listen 443 https  ({_APACHE_MAIN}, in place of one with an address; and <VirtualHost *:443>)",
        haproxy="bind :::443 v4v6 ssl crt /etc/haproxy/site.pem  (in the frontend, in place of bind :443)",
        caddy="listens on both families by itself",
        cloudfront="IsIPV6Enabled: true",
    ),
    FindingId.HTTP_REDIRECT_COST: _settings(
        nginx=f'add_header Strict-Transport-Security "{_HSTS}" always;',
        apache=f'Header always set Strict-Transport-Security "{_HSTS}"  (mod_headers)',
        haproxy=f'http-response set-header Strict-Transport-Security "{_HSTS}"  (in the frontend)',
        caddy=f'header Strict-Transport-Security "{_HSTS}"',
        cloudflare="zone setting security_header: strict_transport_security enabled, max_age 31536000",
        fastly=f'set resp.http.Strict-Transport-Security = "{_HSTS}";  (in vcl_deliver)',
        cloudfront="response headers policy: StrictTransportSecurity with AccessControlMaxAgeSec 31536000",
        akamai="behavior httpStrictTransportSecurity, enable: true, maxAge: ONE_YEAR",
    ),
    FindingId.HTTP_NO_TLS: _settings(
        nginx="return 301 https://$host$request_uri;  (in the server of port 80)",
        apache="Redirect permanent / https://www.example.org/  (in the <VirtualHost> of port 80)",
        haproxy="http-request redirect scheme https code 301 unless { ssl_fc }  (in the frontend)",
        caddy="does it by itself for every site that is named by its host",
        cloudflare="zone setting always_use_https: on",
        fastly="request setting force_ssl: 1",
        cloudfront="ViewerProtocolPolicy: redirect-to-https",
    ),
    FindingId.TLS_VERSION_OLD: _settings(
        nginx=f"ssl_protocols TLSv1.2 TLSv1.3;  ({_NGINX_EACH})",
        apache="SSLProtocol -all +TLSv1.2 +TLSv1.3",
        haproxy="ssl-default-bind-options ssl-min-ver TLSv1.2  (in global; and no ssl-max-ver)",
        caddy="tls {\n    protocols tls1.2 tls1.3\n}  (the default)",
        cloudflare="zone setting tls_1_3: on",
        akamai="TLS 1.3 in the deployment settings of the certificate",
    ),
    FindingId.TLS_NO_FALSE_START: _settings(
        nginx=f"ssl_protocols TLSv1.2 TLSv1.3; ssl_ciphers {_CIPHERS};  ({_NGINX_EACH})",
        apache=f"SSLProtocol -all +TLSv1.2 +TLSv1.3\nSSLCipherSuite {_CIPHERS}",
        haproxy=f"ssl-default-bind-ciphers {_CIPHERS}  (in global)\n{_HAPROXY_ALPN}",
        cloudflare="zone setting tls_1_3: on",
    ),
    FindingId.TLS_HELLO_RETRY: _settings(
        nginx=f"ssl_ecdh_curve auto;  (or X25519:prime256v1:secp384r1; {_NGINX_EACH})",
        apache=f"SSLOpenSSLConfCmd Groups X25519:P-256:P-384  ({_APACHE_MAIN})",
        haproxy="ssl-default-bind-curves X25519:P-256:P-384  (in global)",
        caddy=_CADDY_CURVES,
    ),
    FindingId.TLS_PQ: _settings(
        nginx=f"ssl_ecdh_curve X25519MLKEM768:X25519:prime256v1;  (OpenSSL 3.5; {_NGINX_EACH})",
        apache=f"SSLOpenSSLConfCmd Groups X25519MLKEM768:X25519:P-256  (OpenSSL 3.5; {_APACHE_MAIN})",
        haproxy="ssl-default-bind-curves X25519MLKEM768:X25519:P-256  (in global; OpenSSL 3.5)",
        caddy=_CADDY_CURVES,
    ),
    FindingId.TLS_CHAIN_INCOMPLETE: _settings(
        nginx="ssl_certificate /etc/letsencrypt/live/www.example.org/fullchain.pem;",
        apache="SSLCertificateFile /etc/letsencrypt/live/www.example.org/fullchain.pem  "
        "(and no SSLCertificateChainFile)",
        haproxy="crt /etc/haproxy/site.pem  (on the bind line; the file has key, certificate, then its intermediates)\n"
        "issuers-chain-path /etc/haproxy/issuers  (in global, where the file cannot have them)",
        caddy="tls fullchain.pem privkey.pem",
    ),
    FindingId.TLS_CHAIN_NEEDLESS: _settings(
        nginx="ssl_certificate fullchain.pem;  (the certificate, then its intermediates, and no root)",
        apache="SSLCertificateFile fullchain.pem  (then its intermediates, and no root; no SSLCertificateChainFile)",
        haproxy="crt /etc/haproxy/site.pem  (on the bind line; key, certificate, then its intermediates, and no root)",
        caddy="tls fullchain.pem privkey.pem  (the certificate, then its intermediates, and no root)",
    ),
    FindingId.TLS_CHAIN_LARGE: _ECDSA,
    FindingId.TLS_CHAIN_EXCEEDS_IW: (*_ECDSA, *COMPRESSION),
    FindingId.TLS_CERT_NAME_MISMATCH: _settings(
        certbot="certbot certonly -d www.example.org -d example.org",
        caddy="gets certificates by itself for every name in the site's address: www.example.org, example.org",
    ),
    FindingId.TLS_CERT_SELF_SIGNED: _settings(
        certbot="certbot certonly -d www.example.org",
        caddy="gets certificates by itself for every site that is named by its host  (without tls internal)",
    ),
    FindingId.TLS_CERT_UNTRUSTED: _settings(
        certbot="certbot certonly -d www.example.org",
        caddy="gets certificates by itself for every site that is named by its host  (without tls internal)",
    ),
    FindingId.TLS_CERT_EXPIRED: _RENEWAL,
    FindingId.TLS_CERT_EXPIRING: _RENEWAL,
    FindingId.TLS_KEY_WEAK: _ECDSA,
    FindingId.TLS_KEY_COST: _ECDSA,
    FindingId.TLS_RESUMPTION_MISSING: _settings(
        nginx=f"ssl_session_cache shared:TLS:10m; ssl_session_timeout 1d; ssl_session_tickets on;  ({_NGINX_EACH})",
        apache=f'SSLSessionCache "shmcb:logs/ssl_scache(512000)"  (mod_socache_shmcb; {_APACHE_MAIN})\n'
        f"SSLSessionTickets on  ({_APACHE_MAIN})",
        haproxy="tune.ssl.cachesize 100000  (in global; and no no-tls-tickets)",
        caddy="continues sessions by itself",
    ),
    FindingId.TLS_RESUMPTION_FLAKY: _settings(
        nginx="openssl rand 80 > /etc/nginx/ticket.key  (the same file on each server)\n"
        f"ssl_session_ticket_key /etc/nginx/ticket.key; ssl_session_tickets on;  ({_NGINX_EACH})\n"
        f"ssl_session_timeout 1d;  ({_NGINX_EACH})",
        apache="SSLSessionTickets off  (with OpenSSL 3 key files do not make servers read each other's; "
        f"{_APACHE_MAIN})\n"
        f"SSLSessionCache redis:redis.example.org:6379  (mod_socache_redis; the same for all; {_APACHE_MAIN})\n"
        f"SSLSessionCacheTimeout 86400  ({_APACHE_MAIN})",
        haproxy="for i in 1 2 3; do openssl rand -base64 48; done > /etc/haproxy/ticket.keys  "
        "(the same file on each server)\n"
        "tls-ticket-keys /etc/haproxy/ticket.keys  (on the bind line)\n"
        "tune.ssl.lifetime 86400  (in global; and no no-tls-tickets, which Debian's file has)",
    ),
    FindingId.TLS_ZERO_RTT: _settings(
        nginx=f"ssl_early_data on; proxy_set_header Early-Data $ssl_early_data;  ({_NGINX_EACH})",
        haproxy="allow-0rtt  (on the bind line)",
        cloudflare="zone setting 0rtt: on",
    ),
    FindingId.TLS_OCSP: _settings(
        nginx="ssl_stapling on; resolver 192.0.2.53;  (ssl_certificate with its intermediates)",
        apache=f'SSLStaplingCache "shmcb:logs/ssl_stapling(32768)"  (mod_socache_shmcb; {_APACHE_MAIN})\n'
        "SSLUseStapling on\nSSLStaplingReturnResponderErrors off\nSSLStaplingFakeTryLater off",
        haproxy="ocsp-update.mode on  (in global; 3.0)",
        caddy="staples by itself",
    ),
    FindingId.TLS_CERT_COMPRESSION: COMPRESSION,
    FindingId.TLS_RECORD_OVERFLOW: _settings(
        nginx="ssl_buffer_size 4k;",
        # Answers over HTTP/2 that fill more than one of its buffers escape tune.ssl.maxrecord (seen with 2.6).
        haproxy="tune.ssl.hard-maxrecord 4096  (in global; 2.6; tune.ssl.maxrecord limits only what is short)",
        caddy="begins with small records by itself",
    ),
    FindingId.TLS_RECORD_TINY: _settings(
        nginx="ssl_buffer_size 4k;",
        haproxy="tune.ssl.hard-maxrecord 4096  (in global; 2.6; and no smaller tune.ssl.maxrecord)",
    ),
    FindingId.TLS_CERT_FLUSH_STALL: _settings(nginx="version 1.5.6 or later"),
    FindingId.TCP_IW_SMALL: _settings(
        linux="ip route change $(ip route show default) initcwnd 10  (and with ip -6; until the next start)",
        windows=f"Set-NetTCPSetting -SettingName InternetCustom -InitialCongestionWindowMss 10\n{_WINDOWS_FILTER}",
    ),
    FindingId.TCP_IDLE_RESTART: _settings(
        linux="sysctl -w net.ipv4.tcp_slow_start_after_idle=0  (for IPv6 too; until the next start)",
        windows=f"Set-NetTCPSetting -SettingName InternetCustom -CwndRestart False\n{_WINDOWS_FILTER}",
    ),
    FindingId.TCP_NAGLE_DELAYED_ACK: _settings(
        nginx="tcp_nodelay on;  (the default; SPDY since 1.7.8)",
        apache="sets TCP_NODELAY by itself",
        haproxy="option http-no-delay  (in the frontend)",
        caddy="sets TCP_NODELAY by itself",
    ),
    FindingId.HTTP_THINK_TIME: _settings(
        nginx="proxy_cache_path /var/cache/nginx keys_zone=site:10m;  (in http)\n"
        "proxy_cache site; proxy_cache_valid 200 1m; proxy_cache_use_stale updating; proxy_cache_background_update on;",
        apache="CacheRoot /var/cache/apache2/mod_cache_disk  (mod_cache, mod_cache_disk)\nCacheEnable disk /\n"
        "CacheDefaultExpire 60\nCacheIgnoreNoLastMod On\nCacheIgnoreHeaders Set-Cookie",
        haproxy="cache site  (a section of its own)\n    total-max-size 64\n    max-age 60\n"
        "http-request cache-use site  (in the frontend)\n"
        "http-response set-header Cache-Control s-maxage=60 unless { res.hdr(Cache-Control) -m found }  "
        "(in the frontend)\n"
        "http-response cache-store site unless { res.hdr(Set-Cookie) -m found }  (in the frontend)",
        cloudflare="cache rule: eligible for cache, edge TTL 60 s  (two hours at least on Free, one on Pro)",
        fastly="set beresp.ttl = 60s;  (in vcl_fetch)",
        cloudfront="cache policy: MinTTL 60",
        akamai="behavior caching, behavior: MAX_AGE, ttl: 1m",
    ),
    FindingId.HTTP_BODY_STALL: _settings(
        nginx="limit_rate 0;  (the default: no pauses of its own)",
        fastly="set beresp.do_stream = true;  (in vcl_fetch)",
    ),
    FindingId.HTTP_KEEPALIVE_OFF: _settings(
        nginx="keepalive_timeout 65s;",
        apache="KeepAlive On\nKeepAliveTimeout 15",
        haproxy="option http-keep-alive  (in the frontend, in place of option httpclose)\n"
        "timeout http-keep-alive 15s  (in the frontend)",
        caddy=f"{{\n    servers {{\n        timeouts {{\n            idle 2m\n        }}\n    }}\n}}  ({_CADDY_HEAD})",
    ),
    FindingId.HTTP_H2_MISSING: _settings(
        nginx="http2 on;  (1.25.1; before that, listen 443 ssl http2;)",
        apache="Protocols h2 http/1.1  (mod_http2, not with the prefork MPM)",
        haproxy=_HAPROXY_ALPN,
        caddy=f"{_CADDY_PROTOCOLS}  (the default; {_CADDY_HEAD})",
        cloudflare="zone setting http2: on",
        cloudfront="HttpVersion: http2and3",
    ),
    FindingId.HTTP_H3: _settings(
        nginx="listen 443 quic reuseport;  (1.25, beside listen 443 ssl; reuseport in one server block alone)\n"
        "listen [::]:443 quic reuseport;  (1.25, beside listen [::]:443 ssl)\n"
        "add_header Alt-Svc 'h3=\":443\"; ma=86400';",
        haproxy="bind quic4@:443 ssl crt /etc/haproxy/site.pem alpn h3  (in the frontend; 2.9, built with USE_QUIC)\n"
        "bind quic6@:443 ssl crt /etc/haproxy/site.pem alpn h3  (in the frontend; 2.9, beside bind :::443)\n"
        "http-response set-header alt-svc 'h3=\":443\"; ma=86400'  (in the frontend)\n"
        "limited-quic  (in global; 2.9, where haproxy -c asks for it)",
        caddy=f"{_CADDY_PROTOCOLS}  (the default; {_CADDY_HEAD}; open UDP port 443)",
        cloudflare="zone setting http3: on",
        fastly="POST /service/<id>/version/<number>/http3",
        cloudfront="HttpVersion: http2and3",
        akamai="behavior http3, enable: true  (with QUIC and TLS 1.3 in the certificate's deployment settings)",
    ),
    FindingId.HTTP_BUFFERED_RESPONSE: _settings(
        nginx="proxy_buffering off;\nearly_hints $http2$http3;  (1.29, passes on what the application sends)",
        apache="H2EarlyHints on  (mod_http2; passes on what the application sends)",
        haproxy='http-request early-hint Link "</style.css>; rel=preload; as=style"  (in the frontend)',
        caddy="reverse_proxy app:8000 {\n    flush_interval -1\n}",
        cloudflare="zone setting early_hints: on",
        fastly="set beresp.do_stream = true;  (in vcl_fetch)",
    ),
    FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX: _settings(
        html='<link rel="preconnect" href="https://static.example.org">'
    ),
    FindingId.PAGE_PRECONNECT_MISSING: _settings(
        html='<link rel="preconnect" href="https://fonts.example.net" crossorigin>  (crossorigin for fonts alone)'
    ),
    FindingId.PAGE_CSS_IMPORT: _settings(
        html='<link rel="stylesheet" href="/base.css">\n<link rel="stylesheet" href="/theme.css">  (not @import in it)'
    ),
    FindingId.PAGE_RENDER_BLOCKING: _settings(
        html='<script src="/app.js" defer></script>\n'
        '<link rel="stylesheet" href="/print.css" media="print">\n'
        "<style>/* what the first screen needs */</style>"
    ),
    FindingId.PAGE_THIRD_PARTY_BLOCKING: _settings(
        html='<script src="https://widget.example.net/w.js" async></script>\n'
        '<link rel="preconnect" href="https://widget.example.net">  (where it must block)'
    ),
    FindingId.PAGE_LCP_LATE: _settings(
        html='<img src="/hero.webp" fetchpriority="high">  (without loading="lazy")\n'
        '<link rel="preload" as="image" href="/hero.webp" fetchpriority="high">  (where styles or scripts name it)'
    ),
    FindingId.PAGE_FONT_LATE: _settings(
        html='<link rel="preload" as="font" type="font/woff2" href="/text.woff2" crossorigin>'
    ),
    FindingId.PAGE_TEXT_HIDDEN: _settings(html="<style>@font-face { …; font-display: swap }</style>"),
    FindingId.PAGE_CLIENT_RENDERED: _settings(
        html='<link rel="modulepreload" href="/app.js">\n'
        '<link rel="preload" as="fetch" crossorigin href="/api/first-view">  (both where scripts have to make it)'
    ),
    FindingId.PAGE_PRELOAD_UNUSED: _settings(
        html='<link rel="preload" as="script" href="/app.js?v=7">  (beside <script src="/app.js?v=7">)\n'
        '<link rel="prefetch" href="/checkout.js">  (what a later page needs)'
    ),
    FindingId.PAGE_LCP_BEHIND: _settings(
        html='<img src="/hero.webp" fetchpriority="high">\n<img src="/below.webp" loading="lazy">'
    ),
    FindingId.PAGE_LCP_HELD: _settings(html='<script src="/app.js" defer></script>'),
    FindingId.PAGE_UNCOMPRESSED: _settings(
        nginx="gzip on; gzip_vary on; gzip_proxied any;\n" + "\n    ".join(("gzip_types", *_TEXTS)) + ";",
        apache=" \\\n    ".join(("AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html", *_TEXTS))
        + "  (mod_brotli, mod_deflate, mod_filter)",
        haproxy="compression algo gzip  (in the frontend)\n"
        + "\n".join(f"compression type {one}  (in the frontend)" for one in ("text/html", *_TEXTS)),
        caddy="encode zstd gzip {\n    match {\n"
        + "".join(f"        header Content-Type {one}\n" for one in _CADDY_TEXTS)
        + "    }\n}",
        cloudfront="Compress: true  (cache policy: EnableAcceptEncodingGzip, EnableAcceptEncodingBrotli)",
    ),
    FindingId.PAGE_UNCACHED: _settings(
        nginx='add_header Cache-Control "public, max-age=31536000, immutable";  (in the location of the files)\n'
        "proxy_hide_header Cache-Control;  (in the location too, where an application sends one)",
        apache='<Location "/assets/">  (mod_headers)\n'
        '    Header set Cache-Control "public, max-age=31536000, immutable"\n</Location>',
        haproxy="http-request set-var(txn.path) path  (in the frontend)\n"
        "acl assets var(txn.path) -m beg /assets/  (in the frontend)\n"
        'http-response set-header Cache-Control "public, max-age=31536000, immutable" if assets  (in the frontend)',
        caddy='header /assets/* {\n    defer\n    Cache-Control "public, max-age=31536000, immutable"\n}',
    ),
    FindingId.PAGE_IMAGE_OVERSIZED: _settings(
        html='<img src="/hero-800.webp" srcset="/hero-800.webp 800w, /hero-1600.webp 1600w" sizes="50vw">'
    ),
}
