"""TLS records as they are on the wire."""

# As OpenSSL calls it.
TLS13 = "TLSv1.3"
# A tag, and the type of what is inside (RFC 8446, 5.2).
_SEALED_13 = 17
# A tag, and before it a nonce (RFC 5288, 3), or none (RFC 7905, 2).
_SEALED_GCM, _SEALED_CHACHA = 24, 16
# A block, the shortest of codes and a byte of padding (RFC 5246, 6.2.3.2).
_SEALED_CBC = 37


def sealed_bytes(version: str | None, cipher: str | None) -> int:
    """What an encrypted record has besides its data, at least; by OpenSSL's names of version and cipher."""
    if version == TLS13:
        return _SEALED_13
    name = cipher or ""
    if "CHACHA20" in name:
        return _SEALED_CHACHA
    return _SEALED_GCM if "GCM" in name or "CCM" in name else _SEALED_CBC
