"""The table of twins: every cause that a probe can see, with and without it."""

from workers.measurement.finding import FindingId as Id
from workers.tests.netlab.twin import Twin
from workers.tests.netlab.twins_http import HTTP_TWINS
from workers.tests.netlab.twins_offers import OFFER_TWINS
from workers.tests.netlab.twins_others import OTHER_TWINS
from workers.tests.netlab.twins_tls import TLS_TWINS

# Seen on pages only.
PAGE_LEVEL = frozenset(id for id in Id if id.startswith("page."))
# These two are the lab's own: a far one, and one that loses packets.
OF_THE_NETWORK = frozenset({Id.TCP_RTT_HIGH, Id.TCP_LOSS})
TWINS: tuple[Twin, ...] = (*HTTP_TWINS, *TLS_TWINS, *OFFER_TWINS, *OTHER_TWINS)
