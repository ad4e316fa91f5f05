"""The keys of programs."""

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts import actions, queries
from backend.accounts.permissions import Permission
from backend.web.access import MemberRequest, needs
from backend.web.confirm import Question, ask
from backend.web.forms.tokens import TokenForm
from backend.web.tokens import snippets_of, verdict_of


@require_safe
@needs(Permission.READ)
def overview(request: MemberRequest) -> HttpResponse:
    return _page(request, TokenForm())


@never_cache
@require_POST
@needs(Permission.MANAGE_TOKENS)
def add(request: MemberRequest) -> HttpResponse:
    """Makes a token. Its secret is in this answer and nowhere else."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=400)
    try:
        made = actions.create_token(actor=request.user, organisation=request.organisation, wanted=form.wanted())
    except actions.TokenError as error:
        form.add_error(None, str(error))
        return _page(request, form, status=400)
    snippets = snippets_of(settings.BASE_URL, made.secret, role=made.token.role, scopes=made.token.scopes)
    return render(request, "tokens/made.html", {"made": made, "snippets": snippets, "section": "tokens"})


@require_http_methods(["GET", "POST"])
@needs(Permission.MANAGE_TOKENS)
def revoke(request: MemberRequest, token_id: UUID) -> HttpResponse:
    """Asks first; then the token is refused."""
    token = queries.token(request.organisation, token_id)
    if token is None:
        raise Http404
    if request.method == "GET":
        question = Question(
            title=f"Revoke {token.name}?",
            text="Whoever uses it is refused from then on. This cannot be undone: a new token has another secret.",
            verb="Revoke it",
            back=reverse("web:tokens"),
            section="tokens",
        )
        return ask(request, question)
    actions.revoke_token(actor=request.user, token=token)
    messages.success(request, f"{token.name} is revoked: whoever uses it is refused from now on.")
    return redirect("web:tokens")


def _page(request: MemberRequest, form: TokenForm, status: int = 200) -> HttpResponse:
    now = timezone.now()
    tokens = queries.tokens(request.organisation)
    context = {
        "tokens": [(token, token.expires_at <= now) for token in tokens],
        "verdict": verdict_of(tokens, now=now) if tokens else None,
        "form": form,
        "section": "tokens",
    }
    return render(request, "tokens/list.html", context, status=status)
