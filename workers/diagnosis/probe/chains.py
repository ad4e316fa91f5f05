"""Certificate chains as servers send them: which belong to the way from the leaf to a root."""

from collections.abc import Sequence

from workers.measurement.evidence import ChainCertificate, Handshake

Chain = Sequence[ChainCertificate]


def path_of(chain: Chain) -> tuple[ChainCertificate, ...]:
    """From the leaf upwards, each followed by the first of its issuer's certificates, as far as those were sent."""
    path = [chain[0]]
    rest = list(chain[1:])
    while not signed_by_itself(path[-1]) and (uppers := _issuers(path[-1], rest)):
        path.append(uppers[0])
        rest.remove(uppers[0])
    return tuple(path)


def of_use(chain: Chain) -> tuple[ChainCertificate, ...]:
    """The certificates that help some client: on a way from the leaf, each once, and no root but a leaf itself.

    All of an issuer's certificates count, since cross-signed ones lead different clients to different roots.
    """
    useful, waiting = [chain[0]], [chain[0]]
    while waiting:
        lower = waiting.pop()
        for upper in _issuers(lower, chain[1:]):
            if upper not in useful and not signed_by_itself(upper):
                useful.append(upper)
                waiting.append(upper)
    return tuple(useful)


def is_in_order(chain: Chain) -> bool:
    """Whether each issuer comes after what it signed, as TLS 1.2 demands (RFC 5246, 7.4.2) and some clients need it."""
    path = [one for one in path_of(chain) if not signed_by_itself(one)]
    places = [chain.index(one) for one in path]
    return places == sorted(places)


def signed_by_itself(one: ChainCertificate) -> bool:
    return one.subject == one.issuer


def leaf_signed_itself(shaken: Handshake, leaf: ChainCertificate) -> bool:
    """By its signature, not by its names alone."""
    return bool(shaken.chain) and leaf.issued_by == shaken.chain[0]


def total_bytes(chain: Chain) -> int:
    return sum(one.der_bytes for one in chain)


def _issuers(one: ChainCertificate, among: Chain) -> list[ChainCertificate]:
    return [other for other in among if other.subject == one.issuer and other.sha256 != one.sha256]
