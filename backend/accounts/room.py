"""Limits of an organisation hold as well when several add to it at once."""

from backend.accounts.models import Organisation


def hold(organisation: Organisation) -> None:
    """Before what there is is counted: until the transaction ends, nobody else who counts goes on. So two who add at
    once do not both find the last place, or the same name free.

    Who only refers to the organisation is not held up.
    """
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
