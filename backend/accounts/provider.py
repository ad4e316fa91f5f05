"""The organisation's own sign-in, by OpenID Connect. allauth looks for providers in modules of this name."""

from hashlib import sha256
from typing import Any

from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider


class Provider(OpenIDConnectProvider):  # type: ignore[misc]  # allauth has no types
    pkce_enabled_default = True

    def extract_uid(self, data: dict[str, Any]) -> str:
        """A subject is somebody's at its issuer alone (OpenID Connect Core 1.0, 2): another one may know others so."""
        subject = super().extract_uid(data)
        return sha256(f"{self.app.settings['server_url']}\0{subject}".encode()).hexdigest()

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        """Nothing of what else the provider tells of people is kept."""
        return {}


provider_classes = [Provider]
