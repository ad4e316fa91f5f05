"""What the page of tokens says: the sentence on top, and what to paste where. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from backend.accounts.permissions import Permission, Scope, allows
from backend.web.verdict import Verdict

SOON = timedelta(days=14)


class TokenLike(Protocol):
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """Something to copy, and where it goes."""

    title: str
    text: str
    lines: int


def verdict_of(tokens: Sequence[TokenLike], *, now: datetime) -> Verdict:
    """How many there are, and which need somebody."""
    expired = sum(token.expires_at <= now for token in tokens)
    soon = sum(now < token.expires_at <= now + SOON for token in tokens)
    valid = _count(len(tokens) - expired, "token is", "tokens are")
    if expired:
        title = f"{_count(expired, 'token has', 'tokens have')} expired"
        return Verdict(level="bad", title=title, text=f"What uses {_count_word(expired)} is refused. {valid} valid.")
    if soon:
        title = f"{_count(soon, 'token expires', 'tokens expire')} within {SOON.days} days"
        return Verdict(level="warn", title=title, text=f"{valid} valid.")
    return Verdict(level="good", title=f"{valid} valid", text=f"None expires within {SOON.days} days.")


def snippets_of(base_url: str, secret: str, *, role: str, scopes: Iterable[str]) -> tuple[Snippet, ...]:
    """Calls that this token can make."""
    snippets = [_snippet("The first call", _curl(base_url, secret))]
    if Scope.GATES in scopes and allows(role, Permission.EDIT_SITES):
        snippets.append(_snippet("A step of a GitHub workflow that tells of each deploy", _workflow(base_url)))
    return tuple(snippets)


def _curl(base_url: str, secret: str) -> str:
    return f"curl -sS {base_url}/api/v1/me -H 'Authorization: Bearer {secret}'"


def _workflow(base_url: str) -> str:
    """Without the secret: that belongs into the repository's own."""
    return f"""\
- name: Tell Firstbyte of the deploy
  env:
    FIRSTBYTE_URL: {base_url}
    FIRSTBYTE_TOKEN: ${{{{ secrets.FIRSTBYTE_TOKEN }}}}
  run: |
    curl --fail-with-body -sS "$FIRSTBYTE_URL/api/v1/deploys" \\
      -H "Authorization: Bearer $FIRSTBYTE_TOKEN" \\
      -H "Idempotency-Key: $GITHUB_RUN_ID-$GITHUB_RUN_ATTEMPT" \\
      -H "Content-Type: application/json" \\
      -d "{{\\"version\\": \\"$GITHUB_SHA\\"}}\""""


def _snippet(title: str, text: str) -> Snippet:
    return Snippet(title=title, text=text, lines=text.count("\n") + 2)


def _count_word(number: int) -> str:
    return "it" if number == 1 else "them"


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
