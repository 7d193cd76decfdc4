"""The ASGI application of the service: API, dashboard, error handlers and middleware."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError
from driftpeak._core.numerics.threads import single_threaded_lapack
from driftpeak.service._fleets import Fleets, router as fleets
from driftpeak.service._limits import Limits
from driftpeak.service._middleware import Guard
from driftpeak.service._problems import Problem, ProblemError, in_words, show_problem
from driftpeak.service._results import router as results
from driftpeak.service._routes import router
from driftpeak.service._studies import Studies
from driftpeak.service._study_directory import Folder, Place
from driftpeak.service._study_schemas import study_schemas, with_references

PAGE = Path(__file__).parent / "page"
LOCAL = ("localhost", "127.0.0.1", "[::1]")
TITLE = "driftpeak"


@checked
def make_app(
    place: Place,
    *,
    token: str | None = None,
    hosts: Iterable[str] | None = LOCAL,
    limits: Limits | None = None,
) -> Guard:
    """Return the service as an ASGI application.

    Arguments:
        place: the storage of the studies; see `driftpeak.service.open_place`.
        token: the token that requests to the API must have; None: no token is necessary.
        hosts: accepted names and addresses in Host headers; None: any.
        limits: maximum sizes, numbers and rates of requests.
    """
    limits = Limits() if limits is None else limits
    studies = Studies(place, limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with single_threaded_lapack():  # also for fleets, which set no limit of their own
            yield
            studies.close()
            studies.shut()

    app = FastAPI(
        title=TITLE,
        version=version("driftpeak"),
        description="Live studies: ask for settings to evaluate, and report their rewards.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # these pages load scripts from other sites
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.studies = studies
    app.state.fleets = Fleets(studies)
    app.state.folder = place.path if isinstance(place, Folder) else None
    app.add_exception_handler(ProblemError, show_problem)
    app.add_exception_handler(DriftpeakError, show_problem)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _failed)
    app.include_router(router)
    app.include_router(results)
    app.include_router(fleets)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    allowed = None if hosts is None else frozenset(host.lower() for host in hosts)
    return Guard(app, _page(), studies, token, allowed)


def _page() -> ASGIApp:
    """Return the application that serves the dashboard's files, which contain no data."""
    files = StaticFiles(directory=PAGE, html=True)
    handlers = {HTTPException: _http, Exception: _failed}
    return Starlette(routes=[Mount("/", files)], exception_handlers=handlers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    body = getattr(request.scope.get("route"), "body_field", None)
    fields = getattr(body and body.field_info.annotation, "model_fields", ())
    return await show_problem(request, ProblemError("invalid", in_words(error.errors(), fields)))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = error.status_code
    code = {404: "unknown-path", 405: "unknown-method"}.get(status, "unreadable")
    problem = ProblemError(code, str(error.detail), dict(error.headers or {}), status)
    return await show_problem(request, problem)


async def _failed(request: Request, _: Exception) -> Response:
    """Return an internal error; only the service's log has the details."""
    words = "internal error of the service; its log has the details. Please report it."
    return await show_problem(request, ProblemError("mistake", words))


def _document(app: FastAPI) -> dict[str, object]:
    """Return the OpenAPI document, with the schema of errors and the security scheme."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            servers=[{"url": "/", "description": "The service that returned this document."}],
        )
        parts = document.setdefault("components", {})
        schemas = parts.setdefault("schemas", {})
        schemas["Problem"] = Problem.model_json_schema()
        schemas.update(study_schemas())
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}, {}]
        app.openapi_schema = with_references(document)
    return app.openapi_schema
