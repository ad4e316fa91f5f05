"""What an address for guests holds: a random number and a signature with the service's own key, so that nothing that is
stored opens anything.
"""

from uuid import UUID

from django.core.signing import BadSignature, Signer


def link_to(public_id: UUID, *, salt: str) -> str:
    """The last part of such an address; the salt tells one kind of link from others."""
    return _signer(salt).sign(public_id.hex)


def public_id_in(link: str, *, salt: str) -> UUID | None:
    """What a link names; None for what no key of ours has signed."""
    try:
        return UUID(hex=_signer(salt).unsign(link))
    except (BadSignature, ValueError):
        return None


def _signer(salt: str) -> Signer:
    """Made when it is asked for: without a key the service says so at its start, which the import comes before."""
    return Signer(salt=salt, sep=".")
