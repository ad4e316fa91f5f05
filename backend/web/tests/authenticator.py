"""A passkey in software, as the standard has it (WebAuthn, Level 3, 7.1 and 7.2): makes credentials and shows them."""

import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData

# Where a service is that passkeys can be made for.
HOME, ORIGIN = "watch.example", "https://watch.example"
_FLAG = AuthenticatorData.FLAG


@dataclass(slots=True, kw_only=True)
class Authenticator:
    """A passkey for one home; `verifies` says whether it asks for a finger, `owner` whose it is as the service says."""

    home: str
    origin: str
    verifies: bool = True
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    credential_id: bytes = field(default_factory=lambda: os.urandom(32))
    owner: str = ""

    def made(self, options: dict[str, Any], **said: object) -> dict[str, Any]:
        """What a browser sends for a new one."""
        self.owner = options["publicKey"]["user"]["id"]
        public = AttestedCredentialData.create(bytes(16), self.credential_id, ES256.from_cryptography_key(self._public))  # type: ignore[no-untyped-call]
        data = AuthenticatorData.create(self._home_hash, self._flags | _FLAG.AT, 0, public)
        client = self._client_data("webauthn.create", options, said)
        return self._wrapped(
            {"clientDataJSON": _text(client), "attestationObject": _text(AttestationObject.create("none", data, {}))}
        ) | {"clientExtensionResults": {"credProps": {"rk": True}}}

    def shown(self, options: dict[str, Any], **said: object) -> dict[str, Any]:
        """What a browser sends of one that is asked for."""
        data = AuthenticatorData.create(self._home_hash, self._flags, 0)
        client = self._client_data("webauthn.get", options, said)
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(SHA256()))
        return self._wrapped(
            {
                "clientDataJSON": _text(client),
                "authenticatorData": _text(data),
                "signature": _text(signature),
                "userHandle": self.owner,
            }
        )

    @property
    def _public(self) -> ec.EllipticCurvePublicKey:
        return self.key.public_key()

    @property
    def _home_hash(self) -> bytes:
        return hashlib.sha256(self.home.encode()).digest()

    @property
    def _flags(self) -> AuthenticatorData.FLAG:
        return _FLAG.UP | _FLAG.UV if self.verifies else _FLAG.UP

    def _client_data(self, kind: str, options: dict[str, Any], said: dict[str, object]) -> bytes:
        challenge = options["publicKey"]["challenge"]
        data = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False} | said
        return json.dumps(data).encode()

    def _wrapped(self, response: dict[str, str]) -> dict[str, Any]:
        name = _text(self.credential_id)
        return {
            "id": name,
            "rawId": name,
            "type": "public-key",
            "response": response,
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
        }


def _text(data: bytes) -> str:
    return str(websafe_encode(data))
