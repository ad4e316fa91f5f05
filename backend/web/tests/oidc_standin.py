"""A provider of OpenID Connect that people are known to as a test says. It checks what a real one would check."""

import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from time import time
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from workers.tests.local_server import LocalServer

CLIENT, SECRET = "firstbyte", "a secret of the client"
_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class Provider(LocalServer):
    """`claims` are what it says of whoever comes; `audience` is for whom. `asked` are the authorisations, by code."""

    claims: dict[str, Any] = field(default_factory=dict)
    audience: str = CLIENT
    lives_s: int = 300
    asked: dict[str, dict[str, str]] = field(default_factory=dict)

    def handler(self) -> type[BaseHTTPRequestHandler]:
        return _handler(self)

    @property
    def issuer(self) -> str:
        return self.url

    def agree(self, address: str) -> str:
        """The person signs in there and agrees: where their browser is sent back to."""
        wanted = dict(parse_qsl(urlsplit(address).query))
        code = f"code-{len(self.asked)}"
        self.asked[code] = wanted
        return f"{urlsplit(wanted['redirect_uri']).path}?code={code}&state={wanted['state']}"

    def token(self, form: dict[str, str]) -> dict[str, Any] | None:
        """What a code is worth, once; None for what is not right about the request."""
        asked = self.asked.pop(form.get("code", ""), None)
        challenge = urlsafe_b64encode(sha256(form.get("code_verifier", "").encode()).digest()).rstrip(b"=").decode()
        if asked is None or (challenge, form.get("client_id"), form.get("client_secret"), form.get("redirect_uri")) != (
            asked["code_challenge"],
            CLIENT,
            SECRET,
            asked["redirect_uri"],
        ):
            return None
        now = int(time())
        about = {"iss": self.issuer, "aud": self.audience, "iat": now, "exp": now + self.lives_s} | self.claims
        return {"access_token": "t", "token_type": "Bearer", "id_token": jwt.encode(about, _KEY, algorithm="RS256")}

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = {"/.well-known/openid-configuration": provider.discovery(), "/userinfo": provider.claims}
            self._answer(known.get(self.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self._answer(provider.token(form) if self.path == "/token" else None)

        def _answer(self, document: dict[str, Any] | None) -> None:
            self.send_response(400 if document is None else 200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(document or {"error": "invalid_grant"}).encode())

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    return Handler
