"""What is special about a row: of its connection, of its exchange."""

from workers.measurement.compute.netlog.connection_facts import host_and_port
from workers.measurement.compute.netlog.nouns import DOCUMENTS, NOBODY, NetHop
from workers.measurement.connection import Connection
from workers.measurement.waterfall import RowFlag


def connection_flags(used: Connection, url: str, *, early_data: bool | None, pays: bool) -> tuple[RowFlag, ...]:
    """Flags of a connection stand at the row that its cost stands at; `coalesced` at every row of another host."""
    told = {
        RowFlag.PRECONNECTED: pays and used.preconnected,
        # In clear HTTP/2 is spoken with a proxy, whose connection is no other host's.
        RowFlag.COALESCED: used.host != host_and_port(url)[0] and not url.startswith(("http:", "ws:")),
        RowFlag.RESUMED: pays and used.resumed is True,
        RowFlag.EARLY_DATA: pays and early_data is True,
    }
    return tuple(flag for flag, is_so in told.items() if is_so)


def hop_flags(hop: NetHop | None) -> tuple[RowFlag, ...]:
    """What the network log says of an exchange."""
    if hop is None:
        return ()
    told = {
        RowFlag.EARLY_HINTS: hop.hints_ms is not None,
        RowFlag.PREFLIGHT: hop.preflight,
        RowFlag.PUSHED: hop.pushed,
        RowFlag.RETRIED: hop.transactions > 1,
        RowFlag.BROWSER_INTERNAL: hop.initiator == NOBODY and hop.kind not in DOCUMENTS,
    }
    return tuple(flag for flag, is_so in told.items() if is_so)
