"""DNS messages as bytes (RFC 1035, 6891): a question, and what an answer to it says. No socket, no clock.

dnspython reads any message into objects; a lookup every minute needs two types of record, at a fifth of the time.
"""

import secrets
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import dns.exception
import dns.name
import dns.rdata
from dns.rdataclass import RdataClass
from dns.rdatatype import RdataType
from dns.rdtypes.IN.HTTPS import HTTPS

from workers.measurement.evidence import Alias

NXDOMAIN = 3
_HEADER = struct.Struct(">6H")
_QUESTION = struct.Struct(">2H")
_RECORD = struct.Struct(">HHIH")
_IS_ANSWER, _OPCODE, _TRUNCATED, _RECURSE, _CODE = 0x8000, 0x7800, 0x0200, 0x0100, 0x000F
# What passes without fragments (DNS flag day 2020), said in an OPT record: root, type, size, flags, no data.
_UDP_BYTES = 1232
_OPT = b"\0" + _RECORD.pack(RdataType.OPT, _UDP_BYTES, 0, 0)
_POINTER = 0xC0
_MAX_LABEL_BYTES, _MAX_NAME_BYTES = 63, 254
_MAX_RECORDS = 512
# As many as BIND ever followed for one question; 11 today (`max-query-restarts`), as does Unbound.
MAX_ALIASES = 16
# RFC 2181, 8: a time to live with the highest bit set is none.
_MAX_TTL_S = 0x7FFFFFFF
# For how long "there is none" is kept where no SOA says it: what dnspython and others take.
_NEGATIVE_TTL_S = 300
_SOA_BYTES = 22
_FAMILIES = {RdataType.A: (socket.AF_INET, 4), RdataType.AAAA: (socket.AF_INET6, 16)}

Name = tuple[bytes, ...]


class ContradictionError(ValueError):
    """An answer that cannot be followed: aliases in a circle, or records of a name that is said not to exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question with its id; `name` is in lower case."""

    id: int
    name: Name
    kind: RdataType
    wire: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What an answer says. `truncated`: there is more, and nothing of it was read.

    `aliases` lead from the name asked for to the records at their end, of which there may be none; `ttl_s` is how long
    those may be kept, or that there are none. `services` are HTTPS records.
    """

    code: int
    truncated: bool = False
    aliases: tuple[Alias, ...] = ()
    addresses: tuple[str, ...] = ()
    services: tuple[HTTPS, ...] = ()
    ttl_s: int = 0


class _Record(NamedTuple):
    name: Name
    kind: int
    ttl_s: int
    at: int
    size: int


@lru_cache(maxsize=4096)
def _wire_name(name: str) -> bytes:
    return dns.name.from_text(name).to_wire() or b"\0"


def make_query(name: str, kind: RdataType) -> Query:
    """Raises ValueError for what cannot be a name in the DNS."""
    try:
        wire = _wire_name(name)
    except dns.exception.DNSException as error:
        raise ValueError(f"{name[:60]} is not a host name") from error
    id = secrets.randbits(16)
    header = _HEADER.pack(id, _RECURSE, 1, 0, 0, 1)
    labels, _ = _read_name(wire, 0)
    question = wire + _QUESTION.pack(kind, RdataClass.IN)
    return Query(id=id, name=_folded(labels), kind=kind, wire=header + question + _OPT)


def read_reply(data: bytes, query: Query) -> Reply | None:
    """None for what is no answer to this question, or cannot be read. Raises ContradictionError."""
    try:
        return _read(data, query)
    except (IndexError, struct.error, dns.exception.DNSException):
        return None
    except ContradictionError:
        raise
    except ValueError:
        return None


def _read(data: bytes, query: Query) -> Reply | None:
    id, flags, questions, answers, authorities, others = _HEADER.unpack_from(data)
    if id != query.id or not flags & _IS_ANSWER or flags & _OPCODE or questions != 1:
        return None
    name, at = _read_name(data, _HEADER.size)
    if _folded(name) != query.name or _QUESTION.unpack_from(data, at) != (query.kind, RdataClass.IN):
        return None
    if flags & _TRUNCATED:
        return Reply(code=flags & _CODE, truncated=True)
    records = list(_records(data, at + _QUESTION.size, answers + authorities + others))
    extended = next((record.ttl_s >> 24 for record in records if record.kind == RdataType.OPT), 0)
    code = flags & _CODE | extended << 4
    return _followed(data, query, code, records[:answers], records[answers : answers + authorities])


def _records(data: bytes, at: int, count: int) -> Iterator[_Record]:
    """Each record, those of other classes too. Raises ValueError, IndexError or struct.error for what is none."""
    if count > _MAX_RECORDS:
        raise ValueError("too many records")
    for _ in range(count):
        name, at = _read_name(data, at)
        kind, cls, ttl_s, size = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        if at + size > len(data):
            raise ValueError("a record is cut off")
        known = cls == RdataClass.IN or kind == RdataType.OPT
        yield _Record(_folded(name), kind if known else 0, ttl_s, at, size)
        at += size


def _followed(data: bytes, query: Query, code: int, answers: list[_Record], authorities: list[_Record]) -> Reply:
    sets: dict[tuple[Name, int], list[_Record]] = {}
    for record in answers:
        sets.setdefault((record.name, record.kind), []).append(record)
    name = query.name
    aliases: list[Alias] = []
    passed: set[Name] = set()
    while not (found := sets.get((name, query.kind), [])) and (name, RdataType.CNAME) in sets:
        if name in passed:
            raise ContradictionError("aliases in a circle")
        if len(aliases) == MAX_ALIASES:
            raise ContradictionError(f"more than {MAX_ALIASES} aliases")
        alias = sets[name, RdataType.CNAME][0]
        target, _ = _read_name(data, alias.at)
        aliases.append(Alias(name=_text(name), target=_text(target), ttl_s=_ttl_s(alias)))
        passed.add(name)
        name = _folded(target)
    if found and code == NXDOMAIN:
        raise ContradictionError("a name that does not exist has records")
    family = _FAMILIES.get(query.kind)
    return Reply(
        code=code,
        aliases=tuple(aliases),
        addresses=() if family is None else tuple(_address(data, record, *family) for record in found),
        services=tuple(_service(data, record) for record in found) if query.kind == RdataType.HTTPS else (),
        ttl_s=min(map(_ttl_s, found)) if found else _negative_ttl_s(data, name, authorities),
    )


def _ttl_s(record: _Record) -> int:
    return record.ttl_s if record.ttl_s <= _MAX_TTL_S else 0


def _address(data: bytes, record: _Record, family: socket.AddressFamily, size: int) -> str:
    if record.size != size:
        raise ValueError("an address of another size")
    return socket.inet_ntop(family, data[record.at : record.at + size])


def _service(data: bytes, record: _Record) -> HTTPS:
    service = dns.rdata.from_wire(RdataClass.IN, RdataType.HTTPS, data, record.at, record.size)
    if not isinstance(service, HTTPS):
        raise ValueError("no HTTPS record")
    return service


def _negative_ttl_s(data: bytes, name: Name, authorities: list[_Record]) -> int:
    """RFC 2308, 5: what the SOA of a zone above the name says of what is not there."""
    for record in authorities:
        above = not record.name or name[-len(record.name) :] == record.name
        if record.kind == RdataType.SOA and above and record.size >= _SOA_BYTES:
            minimum_s = int.from_bytes(data[record.at + record.size - 4 : record.at + record.size])
            return min(_ttl_s(record), minimum_s)
    return _NEGATIVE_TTL_S


def _read_name(data: bytes, at: int) -> tuple[Name, int]:
    """The labels of a name, and where the next thing begins. Pointers only lead back, so there is an end."""
    labels: list[bytes] = []
    after, earliest, size = None, at, 0
    while length := data[at]:
        if length >= _POINTER:
            after = at + 2 if after is None else after
            at = (length & ~_POINTER) << 8 | data[at + 1]
            if at >= earliest:
                raise ValueError("a pointer that leads nowhere")
            earliest = at
            continue
        label = data[at + 1 : at + 1 + length]
        size += length + 1
        if length > _MAX_LABEL_BYTES or len(label) != length or size > _MAX_NAME_BYTES:
            raise ValueError("a name that is too long")
        labels.append(label)
        at += 1 + length
    return tuple(labels), at + 1 if after is None else after


def _folded(name: Name) -> Name:
    return tuple(label.lower() for label in name)


def _text(name: Name) -> str:
    return dns.name.Name((*name, b"")).to_text(omit_final_dot=True)
