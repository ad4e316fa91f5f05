"""How both sides reach Celery's broker, Redis: URL, options and the rights of a region's account. Strings, no imports.

Read in kombu 5.7.0 (`Connection.__init__`, `transport/redis.py:_connparams`) and tried against Redis 7.0:

* A unix socket is `redis+socket://user:password@/path/to.sock?virtual_host=0`. redis-py's own `unix://…?db=0` is not
  known to kombu and would be taken for a transport called "unix".
* User and password must be percent-encoded. Above all `;` would be taken for the start of a second broker.
* `rediss://` without any `ssl_…` in its query connects without TLS settings and only warns, so the check of the
  server's certificate is spelled out.
* `global_keyprefix` goes before every key that kombu touches, also its bookkeeping of unacknowledged messages, which
  all regions would otherwise share.
"""

from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from workers.measurement.messages import Kind
from workers.measurement.routes import Lane, key_prefix, queue_name

# Four to five times the longest run (120 s). It only brings back what died without a lease.
VISIBILITY_TIMEOUT_S = 600
# See `workers/turns`.
TURN_S = 60
# What a client says of itself, and kombu's commands, found by running a worker under an account without rights and
# reading ACL LOG. Left out on purpose: scripts, since one without an end stops the broker for all regions, and CLIENT,
# by whose TRACKING one hears the names of all keys.
_COMMANDS = (
    "auth hello ping select quit brpop llen lpush rpush hget hset hdel zadd zrem zrange sadd srem smembers set del "
    "exists watch unwatch multi exec discard"
)


class BrokerUrlError(ValueError):
    """The broker's URL cannot be used; the text says why and never holds the password."""


def broker_url(url: str, *, ca_file: str | None = None) -> str:
    """The URL as kombu wants it, from what redis-py and people write: unix://, redis:// or rediss://.

    `ca_file` (PEM) is added to `rediss://` as the authority to trust. Raises BrokerUrlError for another scheme.
    """
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return _socket_url(url)
    if parts.scheme == "rediss":
        query = {"ssl_cert_reqs": "required"} | ({"ssl_ca_certs": ca_file} if ca_file else {})
        given = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        return parts._replace(query=urlencode(query | given)).geturl()
    if parts.scheme in ("redis", "redis+socket"):
        return url
    raise BrokerUrlError(
        f"the broker's URL must begin with unix://, redis:// or rediss://, not {parts.scheme[:20] or 'nothing'}"
    )


def broker_options(region: str) -> dict[str, object]:
    """`broker_transport_options` of a Celery app that serves, or publishes to, one region."""
    return {
        "global_keyprefix": key_prefix(region),
        "visibility_timeout": VISIBILITY_TIMEOUT_S,
        "unacked_mutex_expire": TURN_S,
        # Urgent work has queues of its own; kombu's own priorities would be three more keys to wait on for each queue.
        "priority_steps": [0],
        "health_check_interval": 10,
        "socket_keepalive": True,
        "socket_connect_timeout": 5,
        "socket_timeout": 30,
        "retry_on_timeout": True,
    }


def region_keys(region: str) -> tuple[str, ...]:
    """Every key that a worker of a region uses: its queues, what kombu notes of each, what nobody acknowledged yet."""
    queues = [queue_name(kind, lane) for kind in Kind for lane in Lane]
    names = [f"{before}{queue}" for queue in queues for before in ("", "_kombu.binding.", "_kombu.binding_permanent.")]
    return tuple(key_prefix(region) + name for name in (*names, "unacked", "unacked_index", "unacked_mutex"))


def acl_rules(region: str) -> str:
    """What follows `ACL SETUSER <name> on >password` for a region's account: its own keys, the commands of a worker.

    The keys are named one by one, so that the service knows where to look for what an account has put there.
    """
    keys = " ".join(f"~{key}" for key in region_keys(region))
    commands = " ".join(f"+{command}" for command in _COMMANDS.split())
    return f"resetkeys resetchannels {keys} -@all {commands} -@dangerous"


def _socket_url(url: str) -> str:
    parts = urlsplit(url)
    account, _, _ = parts.netloc.rpartition("@")
    user, _, password = (quote(unquote(part), safe="") for part in account.partition(":"))
    database = parse_qs(parts.query).get("db", ["0"])[-1]
    login = f"{user}:{password}@" if account else ""
    return f"redis+socket://{login}{parts.path}?virtual_host={database}"
