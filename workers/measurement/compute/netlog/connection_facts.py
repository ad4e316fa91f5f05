"""What Chrome says of a connection, in the words that the raw probe uses too."""

from urllib.parse import SplitResult, urlsplit

from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.target import DEFAULT_PORTS

# IANA's numbers of the suites that Chrome offers, by OpenSSL's names, as the raw probe tells them.
_CIPHERS = {
    0x1301: "TLS_AES_128_GCM_SHA256",
    0x1302: "TLS_AES_256_GCM_SHA384",
    0x1303: "TLS_CHACHA20_POLY1305_SHA256",
    0xC02B: "ECDHE-ECDSA-AES128-GCM-SHA256",
    0xC02C: "ECDHE-ECDSA-AES256-GCM-SHA384",
    0xC02F: "ECDHE-RSA-AES128-GCM-SHA256",
    0xC030: "ECDHE-RSA-AES256-GCM-SHA384",
    0xCCA8: "ECDHE-RSA-CHACHA20-POLY1305",
    0xCCA9: "ECDHE-ECDSA-CHACHA20-POLY1305",
}


def host_and_port(url: str) -> tuple[str, int]:
    try:
        parts: SplitResult = urlsplit(url.partition(" ")[0])
        scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
        return (parts.hostname or "")[:255], parts.port or DEFAULT_PORTS.get(scheme, 0)
    except ValueError:
        return "", 0


def bare_address(text: str | None) -> str | None:
    """An address alone: the log writes "127.0.0.1:443" and "[::1]:443", DevTools "[::1]"."""
    if not text:
        return None
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text


def certificate_error(log: NetworkLog, code: object) -> str | None:
    name = log.errors.get(code, "") if isinstance(code, int) else ""
    return name if name.startswith("ERR_CERT_") else None


def tls_version(text: object) -> str | None:
    return text.replace("TLS ", "TLSv")[:16] if isinstance(text, str) else None


def cipher_name(number: object) -> str | None:
    return _CIPHERS.get(number, f"0x{number:04X}") if isinstance(number, int) else None


def flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
