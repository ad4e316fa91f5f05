"""Who comes in and goes, who is refused, new passwords and second factors: told in every organisation of the person."""

from datetime import timedelta

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.db import transaction
from django.utils import timezone

from backend.accounts.audit import acting_address, record
from backend.accounts.models import AuditEntry, Organisation, User
from backend.as_it_is import as_it_is

# An owner looks for refusals and for places they came from. Somebody who tries from everywhere must not fill the log:
# what comes on top of this many entries of a person is counted in the newest of them.
REFUSALS_AN_HOUR = 10
_COUNTED_FOR = timedelta(hours=1)
# The one act that is not its actor's: it says whose account it was about.
REFUSED = "refuse_sign_in"
# Of the tries that an entry counts, those that were not refused for a wrong password.
OVER_THE_LIMIT = "of_these_over_the_limit"
WRONG_CODE = "of_these_right_password_wrong_code"
WRONG_PASSKEY = "of_these_right_password_wrong_passkey"


@transaction.atomic
def note_sign_in(*, actor: User, first_proof: str = "", second_proof: str = "") -> None:
    """A person has come in by their password, or by what `first_proof` names; `second_proof` says by what besides."""
    how = {"by": first_proof, "with": second_proof}
    _tell(actor, "sign_in", **{word: proof for word, proof in how.items() if proof})


@transaction.atomic
def note_sign_out(*, actor: User) -> None:
    """A person leaves by the door; a session that only ends is not noted."""
    _tell(actor, "sign_out")


@transaction.atomic
def change_password(*, actor: User, password: str, by_mail: bool) -> None:
    """Gives a person another password; `by_mail` if a link in a mail was the proof of who they are."""
    actor.set_password(password)
    if by_mail:
        _prove(actor)
    actor.save(update_fields=["password", "proved_at"])
    proof = {"with": "a link sent by mail"} if by_mail else {}
    _tell(actor, "change_password", **proof)


@transaction.atomic
def prove_by_provider(*, user: User) -> User:
    """A provider vouches for who has the account's address. A password that whoever made the account has seen is worth
    nothing from then on. Gives the account as it is then.
    """
    user = as_it_is(user)
    if user.proved_at is None:
        _prove(user)
        user.set_unusable_password()
        user.save(update_fields=["password", "proved_at"])
    return user


def _prove(user: User) -> None:
    """Who has the address is there. Before, whoever made the account may have come in, and left a way in."""
    if user.proved_at is None:
        _remove_passkeys(user)
        disconnect(actor=user)
    user.proved_at = timezone.now()


def _remove_passkeys(user: User) -> None:
    factors = Authenticator.objects.filter(user=user)
    passkeys = factors.filter(type=Authenticator.Type.WEBAUTHN)
    for passkey in passkeys:
        note_passkey_removed(actor=user, name=passkey.data["name"])
    passkeys.delete()
    if not factors.filter(type=Authenticator.Type.TOTP).exists():
        factors.delete()


@transaction.atomic
def note_connected(*, actor: User) -> None:
    """A person can come by the provider of single sign-on from now on."""
    _tell(actor, "connect_single_sign_on")


@transaction.atomic
def disconnect(*, actor: User) -> None:
    """A person comes by the provider no longer."""
    removed, _ = SocialAccount.objects.filter(user=actor).delete()
    if removed:
        _tell(actor, "disconnect_single_sign_on")


@transaction.atomic
def note_second_factor_on(*, actor: User) -> None:
    """A person is asked for a code from now on."""
    _tell(actor, "enable_second_factor")


@transaction.atomic
def note_second_factor_off(*, actor: User) -> None:
    """A person's password is enough again, by their own choice."""
    _tell(actor, "disable_second_factor")


@transaction.atomic
def note_passkey_added(*, actor: User, name: str) -> None:
    """A person can come in by this passkey from now on, and by the password alone no longer."""
    _tell(actor, "add_passkey", name=name)


@transaction.atomic
def note_passkey_removed(*, actor: User, name: str) -> None:
    """That passkey opens nothing any more."""
    _tell(actor, "remove_passkey", name=name)


@transaction.atomic
def note_new_recovery_codes(*, actor: User) -> None:
    """A person has new recovery codes, and the old ones are worth nothing."""
    _tell(actor, "renew_recovery_codes")


@transaction.atomic
def remove_second_factor(*, user: User) -> bool:
    """For somebody who has lost their phone, passkeys and recovery codes, by the operator; False if there was none."""
    removed, _ = Authenticator.objects.filter(user=user).delete()
    if removed:
        for organisation in _homes(user):
            record("remove_second_factor", user, actor=None, organisation=organisation, email=user.email)
    return bool(removed)


@transaction.atomic
def note_refusal(*, email: str, why: str = "") -> None:
    """Somebody was not let in as a member. Put down to the member's account: who it was, nobody knows.

    `why` is OVER_THE_LIMIT, WRONG_CODE, WRONG_PASSKEY, or nothing for a wrong password or a closed account. What comes
    from one address within an hour is one entry that counts. An address that is nobody's leaves none.
    """
    # Locked, so that two tries at once are counted as two.
    user = User.objects.select_for_update().filter(email=email.lower()).first()
    if user is not None:
        for organisation in _homes(user):
            entry, word = _entry_of_refusals(user, organisation)
            _count_up(entry, word, why)


def _entry_of_refusals(user: User, organisation: Organisation) -> tuple[AuditEntry, str]:
    """The entry that counts a refusal now, and under which word: a new one unless there is one of this hour."""
    since = timezone.now() - _COUNTED_FOR
    entries = list(organisation.audit.filter(actor=user, action=REFUSED, at__gt=since).order_by("-at", "-pk"))
    from_here = [entry for entry in entries if entry.address == acting_address()]
    if not from_here and len(entries) >= REFUSALS_AN_HOUR:
        return entries[0], "tries_from_other_addresses"
    entry = (
        from_here[0] if from_here else record(REFUSED, user, actor=user, organisation=organisation, email=user.email)
    )
    return entry, "tries_within_an_hour"


def _count_up(entry: AuditEntry, *words: str) -> None:
    for word in filter(None, words):
        entry.detail[word] = entry.detail.get(word, 0) + 1
    entry.save(update_fields=["detail"])


def _tell(user: User, action: str, **detail: str) -> None:
    for organisation in _homes(user):
        record(action, user, actor=user, organisation=organisation, **detail)


def _homes(user: User) -> list[Organisation]:
    return list(Organisation.objects.filter(memberships__user=user))
