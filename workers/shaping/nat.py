"""Packets of a shaped network leave this machine under its own address: <linux/netfilter/nf_tables.h>.

The tables belong to a socket and go with it, so that nothing of them is left when the process ends, however it ends.
"""

import os
import socket
import struct
from ipaddress import IPv4Address, IPv6Address

from workers.shaping.faults import NotPermittedError, ShapingError
from workers.shaping.netlink import attribute, error_codes, nested, text

_HEADER = struct.Struct("=IHHII")
_NETFILTER = 12
_SUBSYSTEM = 10
_BATCH_BEGIN, _BATCH_END = 0x10, 0x11
_NEWTABLE, _NEWCHAIN, _NEWRULE = (_SUBSYSTEM << 8 | kind for kind in (0, 3, 6))
_REQUEST, _REQUEST_ACK, _CREATE, _APPEND = 0x1, 0x5, 0x400, 0x800
_IPV4, _IPV6 = 2, 10
# Since Linux 5.12: a table that only its socket may change, and that ends with it.
_OWNED = 0x2
_TABLE_NAME, _TABLE_FLAGS = 1, 2
_CHAIN_TABLE, _CHAIN_NAME, _CHAIN_HOOK, _CHAIN_TYPE = 1, 3, 4, 7
_HOOK_NUMBER, _HOOK_PRIORITY, _POSTROUTING, _SOURCE_NAT = 1, 2, 4, 100
_RULE_TABLE, _RULE_CHAIN, _RULE_EXPRESSIONS = 1, 2, 4
_LIST_ELEMENT, _EXPRESSION_NAME, _EXPRESSION_DATA = 1, 1, 2
_REGISTER, _NETWORK_HEADER, _EQUAL = 1, 1, 0
_CHAIN = "leave"


class Masquerade:
    """Source addresses that are replaced by this machine's own on the way out, until `close()`."""

    def __init__(self, name: str, addresses: tuple[IPv4Address | IPv6Address, ...]) -> None:
        """Raises ShapingError, and NotPermittedError without CAP_NET_ADMIN. Acts in the caller's network."""
        self._sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETFILTER)
        try:
            self._sock.bind((0, 0))
            for address in addresses:
                self._replace(name, address)
        except BaseException:
            self._sock.close()
            raise

    def close(self) -> None:
        self._sock.close()

    def _replace(self, name: str, address: IPv4Address | IPv6Address) -> None:
        family = _IPV4 if address.version == 4 else _IPV6
        table = text(_TABLE_NAME, name)
        hook = nested(_CHAIN_HOOK, _be32(_HOOK_NUMBER, _POSTROUTING) + _be32(_HOOK_PRIORITY, _SOURCE_NAT))
        chain = text(_CHAIN_TABLE, name) + text(_CHAIN_NAME, _CHAIN) + hook + text(_CHAIN_TYPE, "nat")
        rule = text(_RULE_TABLE, name) + text(_RULE_CHAIN, _CHAIN) + nested(_RULE_EXPRESSIONS, _masquerade(address))
        self._carry_out(
            _message(_BATCH_BEGIN, _REQUEST, 0, b"", resource=_SUBSYSTEM),
            _message(_NEWTABLE, _REQUEST_ACK | _CREATE, family, table + _be32(_TABLE_FLAGS, _OWNED)),
            _message(_NEWCHAIN, _REQUEST_ACK | _CREATE, family, chain),
            _message(_NEWRULE, _REQUEST_ACK | _CREATE | _APPEND, family, rule),
            _message(_BATCH_END, _REQUEST, 0, b"", resource=_SUBSYSTEM),
        )

    def _carry_out(self, *messages: bytes) -> None:
        self._sock.send(b"".join(messages))
        answered = 0
        while answered < 3:
            codes = error_codes(self._sock.recv(65536))
            answered += len(codes)
            for code in codes:
                if code in (1, 13):
                    raise NotPermittedError(
                        "this process may not give a network a way out: it needs CAP_NET_ADMIN. Run it as root."
                    )
                if code:
                    raise ShapingError(f"nftables refuse to give a network a way out: {os.strerror(code)}")


def _masquerade(address: IPv4Address | IPv6Address) -> bytes:
    """Expressions: the packet's source address is this one; then replace it."""
    offset, size = (12, 4) if address.version == 4 else (8, 16)
    load = _be32(1, _REGISTER) + _be32(2, _NETWORK_HEADER) + _be32(3, offset) + _be32(4, size)
    same = _be32(1, _REGISTER) + _be32(2, _EQUAL) + nested(3, attribute(1, address.packed))
    return _expression("payload", load) + _expression("cmp", same) + _expression("masq", b"")


def _expression(name: str, data: bytes) -> bytes:
    return nested(_LIST_ELEMENT, text(_EXPRESSION_NAME, name) + nested(_EXPRESSION_DATA, data))


def _be32(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("!I", value))


def _message(kind: int, flags: int, family: int, body: bytes, *, resource: int = 0) -> bytes:
    payload = struct.pack("!BBH", family, 0, resource) + body
    return _HEADER.pack(_HEADER.size + len(payload), kind, flags, kind, 0) + payload
