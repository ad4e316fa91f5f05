"""`/api/v1/`, for programs. django-ninja routes, checks and describes; everything else is in the modules here.

What a route can rely on, and need not do itself: the caller is known (`request.caller`), the body is bounded JSON, a
POST with an Idempotency-Key runs once, limits are counted, errors are problems, a GET has an ETag and answers 304
unless it streams.

To add a router, say of deploys:

1.  `backend/api/v1/deploys.py`, with `router = Router(tags=["Deploys"])` and routes such as

        class Deploy(Out): ...            # what we send: `Out`, every field always there, units in names (`shapes`)
        class NewDeploy(In): ...          # what is sent to us: `In`, unknown fields are refused

        @router.get("/deploys", auth=needs(Scope.READ), response=Page[Deploy])
        def list_deploys(request: ApiRequest, limit: Limit = 50, cursor: Cursor = "") -> Page[Deploy]:
            \"\"\"Deploys, the newest first.\"\"\"
            rows = queries.deploys(request.caller.organisation, before=moment_of(request, cursor), limit=limit + 1)
            key = lambda row: [row.at.isoformat(), row.pk]
            return page_of(request, rows, Page[Deploy], limit=limit, shape=_deploy, key=key)

        @router.post("/deploys", auth=needs(Scope.GATES, permission=Permission.EDIT_SITES), response={201: Deploy})
        def create_deploy(request: ApiRequest, deploy: NewDeploy) -> Status[Deploy]:
            made = actions.record_deploy(actor=request.caller.actor, ...)
            request.out["Location"] = f"/api/v1/deploys/{made.public_id}"
            return Status(201, _deploy(made))

    Every route names its scope, and a permission when it changes something. The function's name is the operation's id,
    its docstring the reference. Paths are plural nouns without a slash at the end; ids are `{uuid:deploy_id}`. Start
    from `request.caller.organisation`; what may not be there goes through `existing(row, "Sentence.")`. An error of the
    domain is one of `backend.faults` or added to `errors.problem_of`; others raised as `invalid("#/field", "Text.")`
    or `ProblemError(CONFLICT, ...)`. Waiting (`?wait=`) is `waiting.wait_for`. Bodies hold no secret; what was sent as
    one is never sent back.
2.  One line in `ROUTERS` below.
3.  An example for every route in `tests/v1/examples.py`: the walking tests fail for a route without one.
4.  `./dev python manage.py openapi`, and commit the file.
"""

from importlib import import_module

from ninja import NinjaAPI

from backend.api.v1 import errors
from backend.api.v1.bodies import BodyParser
from backend.api.v1.door import door
from backend.api.v1.rendering import FastRenderer, operation_id

ROUTERS: tuple[str, ...] = (
    "me",
    "sites",
    "monitors",
    "tests_now",
    "runs",
    "differences",
    "findings",
    "series",
    "side_by_side",
    "uptime",
    "weekly",
    "regions",
    "channels",
    "rules",
    "incidents",
    "maintenance",
    "deploys",
    "gates",
    "experiments",
    "hosts",
    "pairings",
    "comparisons",
    "declarations",
    "status_pages",
    "announcements",
    "imports",
    "prometheus",
)

api = NinjaAPI(
    title="Firstbyte",
    version="1",
    urls_namespace="api",
    openapi_url=None,
    docs_url=None,
    parser=BodyParser(),
    renderer=FastRenderer(),
)
api.get_openapi_operation_id = operation_id  # type: ignore[method-assign]  # Ninja's own would hold the module's path
api.add_decorator(door, mode="view")
errors.install(api)
for _name in ROUTERS:
    api.add_router("", import_module(f"{__name__}.{_name}").router)
