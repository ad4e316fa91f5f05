"""Chains as servers send them: of a wished size, with what does not belong there, or without what does.

A `Vault` makes each chain once and trusts one root, whose certificate is its `ca_file`.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from threading import Lock

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from workers.tests.netlab.ahead import with_others
from workers.tests.netlab.certificates import (
    USUAL_LIFE,
    Holder,
    KeyKind,
    LeafWish,
    Life,
    make_authority,
    make_leaf,
    make_staple,
)

# A name that fills a certificate: this long, with two bytes of DER before it.
_FILLER_BYTES = 40


class Signer(StrEnum):
    """Who vouches for the leaf."""

    TRUSTED = "trusted"
    UNKNOWN = "unknown"
    ITSELF = "itself"


class Extra(StrEnum):
    """What a server sends though nobody needs it."""

    ROOT = "root"
    DUPLICATE = "duplicate"
    UNRELATED = "unrelated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A chain in words; the default is a faultless one of about 1 KB. `size_bytes` counts all certificates sent;
    `authorities` have keys of that kind, but for the root."""

    names: tuple[str, ...]
    key: KeyKind = KeyKind.P256
    life: Life = USUAL_LIFE
    signer: Signer = Signer.TRUSTED
    intermediates: int = 1
    authorities: KeyKind = KeyKind.P256
    intermediates_sent: bool = True
    size_bytes: int | None = None
    extras: tuple[Extra, ...] = ()
    issuer_url: str | None = None
    ocsp_url: str | None = None
    must_staple: bool = False
    stapled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A chain on disk. `sent` is DER in the order of sending; `issuer` is who signed the leaf, whether sent or not."""

    sent: tuple[bytes, ...]
    issuer: bytes
    chain_file: Path
    key_file: Path
    staple_file: Path | None = None

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.sent))


class Vault:
    """Makes chains, each once, and keeps them in its folder. May be asked from several threads."""

    def __init__(self, folder: Path) -> None:
        self.ca_file = folder / "root.pem"
        self._folder = folder
        self._lock = Lock()
        self._chains: dict[Recipe, Chain] = {}
        self._roots = {
            Signer.TRUSTED: make_authority("Lab Root"),
            Signer.UNKNOWN: make_authority("Root That Nobody Knows"),
        }
        self.ca_file.write_bytes(_pem(self._roots[Signer.TRUSTED].certificate))

    def chain(self, recipe: Recipe) -> Chain:
        with self._lock:
            if recipe not in self._chains:
                with with_others():
                    self._chains[recipe] = self._make(recipe)
            return self._chains[recipe]

    def _make(self, recipe: Recipe) -> Chain:
        path = self._path(recipe)
        signer = path[0] if path else None
        sent = self._others(recipe, path)
        leaf = make_leaf(_wish(recipe), signer)
        if recipe.size_bytes is not None:
            lacking = recipe.size_bytes - len(_der(leaf.certificate)) - sum(len(_der(one)) for one in sent)
            leaf = make_leaf(_filled(_wish(recipe), lacking), signer)
        if Extra.DUPLICATE in recipe.extras:
            sent = [leaf.certificate, *sent]
        return self._write(recipe, leaf, sent, signer)

    def _path(self, recipe: Recipe) -> list[Holder]:
        """From the leaf's signer up to the root; nobody for a leaf that vouches for itself."""
        if recipe.signer is Signer.ITSELF:
            return []
        path = [self._roots[recipe.signer]]
        for number in range(recipe.intermediates):
            name = f"Lab Intermediate {recipe.signer} {number + 1}"
            path.insert(0, make_authority(name, signer=path[0], kind=recipe.authorities))
        return path

    def _others(self, recipe: Recipe, path: list[Holder]) -> list[x509.Certificate]:
        """What is sent after the leaf."""
        others = [holder.certificate for holder in path[:-1]] if recipe.intermediates_sent else []
        if Extra.ROOT in recipe.extras:
            others.append(path[-1].certificate)
        if Extra.UNRELATED in recipe.extras:
            stranger = make_authority("Lab Stranger", signer=self._roots[Signer.UNKNOWN])
            others.append(stranger.certificate)
        return others

    def _write(self, recipe: Recipe, leaf: Holder, others: list[x509.Certificate], signer: Holder | None) -> Chain:
        place = self._folder / f"chain-{len(self._chains)}"
        chain_file, key_file, staple_file = (place.with_suffix(end) for end in (".pem", ".key", ".ocsp"))
        sent = (leaf.certificate, *others)
        chain_file.write_bytes(b"".join(map(_pem, sent)))
        key_file.write_bytes(leaf.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        if recipe.stapled and signer is not None:
            staple_file.write_bytes(make_staple(leaf.certificate, signer))
        return Chain(
            sent=tuple(map(_der, sent)),
            issuer=_der((signer or leaf).certificate),
            chain_file=chain_file,
            key_file=key_file,
            staple_file=staple_file if recipe.stapled else None,
        )


def _wish(recipe: Recipe) -> LeafWish:
    return LeafWish(
        names=recipe.names,
        key=recipe.key,
        life=recipe.life,
        issuer_url=recipe.issuer_url,
        ocsp_url=recipe.ocsp_url,
        must_staple=recipe.must_staple,
    )


def _filled(wish: LeafWish, lacking: int) -> LeafWish:
    """With so many more names that the leaf grows by about that many bytes."""
    whole, rest = divmod(max(0, lacking - _FILLER_BYTES), _FILLER_BYTES)
    lengths = [_FILLER_BYTES - 2] * whole + ([_FILLER_BYTES + rest - 2] if lacking >= _FILLER_BYTES else [])
    fillers = tuple(_filler(number, length) for number, length in enumerate(lengths))
    return replace(wish, names=wish.names + fillers)


def _filler(number: int, length: int) -> str:
    """A name of exactly that length, unlike the others: labels hold at most 63 characters."""
    head, tail = f"shop-{number:04d}.", ".lab.test"
    return f"{head}{'x' * (length - len(head) - len(tail))}{tail}"


def _der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)
