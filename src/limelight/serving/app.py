"""The service as an ASGI application: routes, keys, bodies, errors in the form of each dialect, and metrics."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as Path
from starlette.types import Receive, Scope, Send

from limelight.serving.call import Api, Call, Route, Upload, plain
from limelight.serving.fields import read_body, read_fields, read_form, read_query
from limelight.serving.logs import outcome_of
from limelight.serving.refusal import Refusal
from limelight.serving.service import Client, Service

LEFT = 499
"""The status in log and metrics of a request whose client has disconnected; it is not sent."""
SCHEMES = ("bearer", "deepl-auth-key")
"""Schemes of the header `Authorization`."""
HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}

Value = TypeVar("Value")


def build_app(service: Service, apis: Sequence[Api], cors: Sequence[str] = ()) -> Starlette:
    """The application; `cors` are origins whose pages may call it, `*` for all. The last API answers for paths that
    none has."""
    service.origins = service.origins._replace(pages=cors)
    middleware = [
        Middleware(
            CORSMiddleware,
            allow_origins=list(cors),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["*"],  # the client of OpenAI sends some of its own
            expose_headers=["Retry-After", "X-Trace-ID"],
            max_age=86400,
        )
    ]
    routes = [route for api in apis for route in api.routes]
    routes.sort(key=lambda route: "{" in route.path)  # a fixed path is tried first
    paths = [Path(route.path, _Endpoint(service, route), methods=[route.method]) for route in routes]
    for api in apis:
        for prefix in PREFIXES.get(api.name, ("/",)):
            missing = _Endpoint(service, Route("", prefix, api, _missing(api, prefix, tuple(paths))))
            paths.append(Path(prefix + "{rest:path}", missing))
    app = Starlette(routes=paths, middleware=middleware if cors else [])
    app.router.redirect_slashes, app.router.default = False, missing  # for `*`, which is not a path
    return app


PREFIXES = {"limelight": ("/api/",), "deepl": ("/v2/", "/v3/"), "openai": ("/v1/",)}
"""Of the paths of APIs; another path looks like one of the last API."""


def _missing(api: Api, prefix: str, paths: Sequence[Path]) -> Callable[[Call], Awaitable[Response]]:
    """The handler for paths and methods that an API does not have."""

    async def missing(call: Call) -> Response:
        found = [path for path in paths if path.path_regex.match(prefix + call.path.get("rest", ""))]
        allowed = ", ".join(sorted(method for path in found for method in path.methods or ()))
        refusal = Refusal(404, "not_found", "there is nothing at this path")
        if allowed:
            refusal = Refusal(405, "method_not_allowed", f"this path takes {allowed}")
        return JSONResponse(plain(api.failure(refusal)), refusal.status, {"Allow": allowed} if allowed else None)

    return missing


class _Endpoint:
    """One route: from the bytes of a request to those of its answer."""

    def __init__(self, service: Service, route: Route) -> None:
        self._service, self._route = service, route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever happens; its outcome is counted once."""
        service, route, request = self._service, self._route, Request(scope, receive)
        if route.counted:
            service.metrics.begin()
        started, trace, status, outcome = time.perf_counter(), secrets.token_hex(8), LEFT, "canceled"
        try:
            answer = await self._answer(request, trace)
            await answer(scope, receive, send)
            status = answer.status_code
            outcome = outcome_of(status)
        except (ClientDisconnect, OSError):
            pass
        except Exception as error:  # the answer has begun, so no other can be given
            service.log.fault(error, request=trace)
            status, outcome = 500, "failed"
        finally:
            seconds = time.perf_counter() - started
            if route.counted:
                service.metrics.end(outcome, api=route.api.name, status=status, seconds=seconds)
            if not service.log.quiet and route.counted:
                service.log("request", request=trace, api=route.api.name, path=route.path, method=route.method,
                            status=status, milliseconds=round(1000 * seconds, 1))  # fmt: skip

    async def _answer(self, request: Request, trace: str) -> Response:
        """Raises `ClientDisconnect` when the client has left."""
        try:
            answer = await self._handled(request)
            if not isinstance(answer, Response):
                empty = self._route.status == 204
                answer = Response(None, 204) if empty else JSONResponse(plain(answer), self._route.status)
        except Refusal as refusal:
            answer = self._failure(refusal)
        except ClientDisconnect:
            raise
        except Exception as error:
            self._service.log.fault(error, request=trace)
            message = "something went wrong in the service; it is in its log"
            answer = self._failure(Refusal(500, "internal", message))
        answer.headers.update({**HEADERS, "X-Trace-ID": trace})
        return answer

    async def _handled(self, request: Request) -> Any:
        service, route = self._service, self._route
        client = self._admitted(request)
        fields = read_query(request.scope["query_string"])
        uploads: dict[str, Upload] = {}
        if route.method and not route.public:
            body = await read_body(request, service.limits, upload=route.upload)
            sent, uploads = await read_fields(request, body)
            fields |= sent
        key = fields.pop(route.api.key_field, "")
        client = client or of_key(service, key, route.api)
        if not route.api.own:
            fields = {name: value for name, value in fields.items() if value is not None}
        base_url = str(request.base_url).rstrip("/") if route.upload else ""
        call = Call(service, client, fields, request.path_params, uploads, base_url)
        arguments = [] if route.form is None else [read_form(route.form, fields)]
        return await _while_there(route.handler(call, *arguments), request.receive)

    def _admitted(self, request: Request) -> Client | None:
        """The client; None if its key may be in the body. Raises `Refusal`."""
        service, route = self._service, self._route
        if service.keys is None:
            service.origins.require(request.method, request.headers)
        if route.counted:
            service.require_connection()
        return Client("") if route.public else identify(service, request, route.api)

    def _failure(self, refusal: Refusal) -> Response:
        headers = {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
        if refusal.code == "too_many_connections":
            headers["Connection"] = "close"
        return JSONResponse(plain(self._route.api.failure(refusal)), refusal.status, headers)


def identify(service: Service, request: Request, api: Api) -> Client | None:
    """The client of the key in the header or the query; None if the key may be in the body. Raises `Refusal` for a
    wrong key, or none."""
    if service.keys is None:
        return Client(network_of(request.client.host) if request.client else "")
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in SCHEMES and secret.strip():
        return of_key(service, secret.strip(), api)
    if api.key_field and (given := read_query(request.scope["query_string"]).get(api.key_field, "")) != "":
        return of_key(service, given, api)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not api.key_field or (kind == "application/json" and not api.key_in_json):
        return of_key(service, "", api)
    return None


def network_of(address: str) -> str:
    """What counts as one client: an address, or in version 6 its network, whose 2^64 addresses are those of one."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return address


def of_key(service: Service, secret: object, api: Api) -> Client:
    """The client of a key. Raises `Refusal` for an unknown key."""
    assert service.keys is not None
    if not isinstance(secret, str) or not secret:
        raise Refusal(api.denied, "no_key", "a key is needed: ask the operator of this service for one")
    key = service.keys.find(secret)
    if key is None:
        raise Refusal(api.denied, "invalid_key", "this key is not known, or no longer")
    return Client(f"key {key.name}", key.name)


async def _while_there(work: Awaitable[Value], receive: Receive) -> Value:
    """The result of `work`, which is canceled when the client leaves. Raises `ClientDisconnect` then."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        for task in (working, leaving):
            with suppress(asyncio.CancelledError, Exception):
                await task


async def _left(receive: Receive) -> None:
    """Wait until the client has closed its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
