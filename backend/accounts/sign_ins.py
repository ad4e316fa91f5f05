"""Who comes in and goes, who is refused, and new passwords: told in the log of every organisation of the person."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from backend.accounts.audit import acting_address, record
from backend.accounts.models import AuditEntry, Organisation, User

# An owner looks for refusals and for places they came from. Somebody who tries from everywhere must not fill the log:
# what comes on top of this many entries of a person is counted in the newest of them.
REFUSALS_AN_HOUR = 10
_COUNTED_FOR = timedelta(hours=1)
# The one act that is not its actor's: it says whose account it was about.
REFUSED = "refuse_sign_in"


@transaction.atomic
def note_sign_in(*, actor: User) -> None:
    """A person has come in."""
    _tell(actor, "sign_in")


@transaction.atomic
def note_sign_out(*, actor: User) -> None:
    """A person leaves by the door; a session that only ends is not noted."""
    _tell(actor, "sign_out")


@transaction.atomic
def change_password(*, actor: User, password: str, by_mail: bool) -> None:
    """Gives a person another password; `by_mail` if a link in a mail was the proof of who they are."""
    actor.set_password(password)
    actor.save(update_fields=["password"])
    proof = {"with": "a link sent by mail"} if by_mail else {}
    _tell(actor, "change_password", **proof)


@transaction.atomic
def note_refusal(*, email: str) -> None:
    """Somebody was not let in as a member. Put down to the member's account: who it was, nobody knows.

    What comes from one address within an hour is one entry that counts. An address that is nobody's leaves none.
    """
    # Locked, so that two tries at once are counted as two.
    user = User.objects.select_for_update().filter(email=email.lower()).first()
    if user is not None:
        for organisation in _homes(user):
            _count_refusal(user, organisation)


def _count_refusal(user: User, organisation: Organisation) -> None:
    since = timezone.now() - _COUNTED_FOR
    entries = list(organisation.audit.filter(actor=user, action=REFUSED, at__gt=since).order_by("-at", "-pk"))
    from_here = [entry for entry in entries if entry.address == acting_address()]
    if from_here:
        _count_up(from_here[0], "tries_within_an_hour")
    elif len(entries) >= REFUSALS_AN_HOUR:
        _count_up(entries[0], "tries_from_other_addresses")
    else:
        detail = {"email": user.email, "tries_within_an_hour": 1}
        record(REFUSED, user, actor=user, organisation=organisation, **detail)


def _count_up(entry: AuditEntry, key: str) -> None:
    entry.detail[key] = entry.detail.get(key, 0) + 1
    entry.save(update_fields=["detail"])


def _tell(user: User, action: str, **detail: str) -> None:
    for organisation in _homes(user):
        record(action, user, actor=user, organisation=organisation, **detail)


def _homes(user: User) -> list[Organisation]:
    return list(Organisation.objects.filter(memberships__user=user))
