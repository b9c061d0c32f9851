"""The service as an ASGI application: routes, keys, bodies, errors in the form of each dialect, and metrics."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Sequence
from typing import Any

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from limelight.serving.call import Api, Call, JSONResponse, Response, Route
from limelight.serving.fields import read_body, read_fields, read_form, read_query
from limelight.serving.logs import LEFT
from limelight.serving.refusal import FAULT, Refusal
from limelight.serving.service import Client, Service

SCHEMES = ("bearer", "deepl-auth-key")
"""Schemes of the header `Authorization`."""
HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


def build_app(service: Service, apis: Sequence[Api]) -> ASGIApp:
    """The application."""
    app = App(service, apis)
    if not service.origins.pages:
        return app
    return CORSMiddleware(
        app,
        allow_origins=service.origins.pages,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],  # the client of OpenAI sends some of its own
        expose_headers=["Retry-After", "X-Trace-ID"],
        max_age=86400,
    )


class App:
    """The application: from a request to its answer. The last API answers for paths that no API has."""

    def __init__(self, service: Service, apis: Sequence[Api]) -> None:
        self._service, self._apis = service, apis
        self._routes = [route for api in apis for route in api.routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever happens; its outcome is counted once."""
        service, request = self._service, Request(scope, receive)
        route = self._route_of(scope["method"], scope["path"])
        if route.counted:
            service.metrics.in_progress.inc()
        started, trace, status = time.perf_counter(), secrets.token_hex(8), LEFT
        try:
            answer = await self._answer(route, request, trace)
            await answer(scope, receive, send)
            status = answer.status_code
        except (ClientDisconnect, OSError):
            pass
        except Exception as error:  # the answer has begun, so no other can be given
            service.log.fault(error, request=trace)
            status = 500
        finally:
            seconds = time.perf_counter() - started
            if route.counted:
                service.metrics.end(route.api.name, status, seconds)
                service.log("request", request=trace, api=route.api.name, path=route.path, method=route.method,
                            status=status, milliseconds=round(1000 * seconds, 1))  # fmt: skip

    def _route_of(self, method: str, path: str) -> Route:
        """The route of a request; for an unknown path or method one that refuses."""
        by_method = {route.method: route for route in self._routes if route.pattern.fullmatch(path)}
        if (route := by_method.get("GET" if method == "HEAD" else method)) is not None:
            return route
        refusal = Refusal(404, "not_found", "there is nothing at this path")
        if allowed := ", ".join(sorted(by_method)):
            refusal = Refusal(405, "method_not_allowed", f"this path takes {allowed}", headers={"Allow": allowed})

        async def refuse(call: Call) -> None:
            raise refusal

        api = next((api for api in self._apis if path.startswith(api.prefixes)), self._apis[-1])
        return Route("", api.prefixes[0], api, refuse)

    async def _answer(self, route: Route, request: Request, trace: str) -> Response:
        """Raises `ClientDisconnect` when the client has left."""
        try:
            answer = await self._handled(route, request)
            if not isinstance(answer, Response):
                answer = Response(None, 204) if route.status == 204 else JSONResponse(answer, route.status)
        except ClientDisconnect:
            raise
        except Exception as error:
            refusal = error if isinstance(error, Refusal) else FAULT
            if refusal is FAULT:
                self._service.log.fault(error, request=trace)
            answer = JSONResponse(route.api.failure(refusal), refusal.status, refusal.headers)
        answer.headers.update({**HEADERS, "X-Trace-ID": trace})
        return answer

    async def _handled(self, route: Route, request: Request) -> Any:
        service, api = self._service, route.api
        if not service.guarded:
            service.origins.require(request.method, request.headers)
        if route.counted:
            service.require_connection()
        fields = read_query(request.scope["query_string"])
        needs_key = service.guarded and not route.public
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        header = secret.strip() if scheme.lower() in SCHEMES else ""
        key: Any = header or (api.key_field and fields.get(api.key_field))
        client = Client(request.client.host if request.client else "")
        if needs_key and (key or not api.key_field):  # the body is not read before the key is known
            client = of_key(service, key, api)
        if route.method and not route.public:
            fields |= await read_fields(request, await read_body(request, service.limits, upload=route.upload))
        in_body = fields.pop(api.key_field, "")
        if needs_key and not client.key:
            client = of_key(service, in_body, api)
        fields = {name: value for name, value in fields.items() if value is not None}  # typed clients send empty fields
        match = route.pattern.fullmatch(request.scope["path"])
        call = Call(service, client, request, fields, match.groupdict() if match else {})
        arguments = [] if route.form is None else [read_form(route.form, fields)]
        return await _while_there(route.handler(call, *arguments), request.receive)


def of_key(service: Service, secret: object, api: Api) -> Client:
    """The client of a key. Raises `Refusal` for an unknown key."""
    if not isinstance(secret, str) or not secret:
        raise Refusal(api.denied, "no_key", "a key is needed: ask the operator of this service for one")
    key = service.keys.find(secret)
    if key is None:
        raise Refusal(api.denied, "invalid_key", "this key is not known, or no longer")
    return Client(f"key {key.name}", key.name)


async def _while_there(work: Awaitable[Any], receive: Receive) -> Any:
    """The result of `work`, which is canceled when the client leaves. Raises `ClientDisconnect` then."""
    working = asyncio.ensure_future(work)

    async def leave() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        working.cancel()

    leaving = asyncio.create_task(leave())
    try:
        return await working
    except asyncio.CancelledError:
        if leaving.done():
            raise ClientDisconnect from None
        raise
    finally:
        leaving.cancel()
