"""What hosts are to a site, as somebody said it. Of the others the file says nothing: their roles are proposed."""

from collections.abc import Collection, Mapping, Sequence

from backend.declared.carrying import Carrying
from backend.declared.changes import Act, FieldChange, What
from backend.declared.wanted import WantedHost
from backend.faults import InvalidError
from backend.sites.hosts import canonical_host, choose_role, foretell_role
from backend.sites.models import Host, HostRole, Site


def carry_out_hosts(carrying: Carrying, path: str, site: Site, wanted: Sequence[WantedHost]) -> None:
    """Gives hosts the roles that are wanted, also before a page asked for them. Pairs of the site must have been
    carried out, since they say of two hosts what they are. One statement where nothing differs.
    """
    hosts = Host.objects.filter(site=site).select_related("site__organisation")
    known = {host.name: host for host in hosts.order_by("name")}
    roles = _roles(carrying, path, wanted, known)
    for name, (place, role) in roles.items():
        with carrying.at(place):
            _carry_out(carrying, site, known.get(name), name, role)
    for host in known.values():
        is_left = host.chosen is not None and host.name not in roles
        if is_left and carrying.deletes(What.HOST, site=site.name, name=host.name):
            choose_role(actor=carrying.actor, host=host, role=None)


def _roles(
    carrying: Carrying, path: str, wanted: Sequence[WantedHost], known: Collection[str]
) -> Mapping[str, tuple[str, HostRole]]:
    """The place and the role by the name; what is no name, or there twice, is noted as a fault."""
    roles: dict[str, tuple[str, HostRole]] = {}
    for index, one in enumerate(wanted):
        place = f"{path}/{index}"
        with carrying.at(place):
            # Pages ask for hosts by names that nobody would type, such as with a dot at the end.
            name = one.name if one.name in known else canonical_host(one.name)
            if name in roles:
                raise InvalidError({"name": f"{name[:80]} is named twice."})
            roles[name] = (place, one.role)
    return roles


def _carry_out(carrying: Carrying, site: Site, host: Host | None, name: str, role: HostRole) -> None:
    """Raises InvalidError."""
    before = None if host is None else host.chosen
    if before == role:
        return
    if host is None:
        foretell_role(actor=carrying.actor, site=site, name=name, role=role)
    else:
        choose_role(actor=carrying.actor, host=host, role=role)
    act = Act.CREATE if before is None else Act.CHANGE
    fields = (FieldChange(name="role", before=before, after=role.value),)
    carrying.note(act, What.HOST, site=site.name, name=name, fields=fields)
