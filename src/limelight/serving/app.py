"""The service as an ASGI application: routes, keys, bodies, errors in the form of each dialect, and metrics."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import time
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as Path
from starlette.types import Receive, Scope, Send

from limelight.serving.call import Api, Call, Events, Route, Upload, plain
from limelight.serving.fields import read_body, read_fields, read_form, read_query
from limelight.serving.logs import outcome_of
from limelight.serving.refusal import Refusal
from limelight.serving.service import Client, Service

LEFT = 499
"""The status in log and metrics of a request whose client has disconnected; it is not sent."""
SCHEMES = ("bearer", "deepl-auth-key")
"""Schemes of the header `Authorization`."""
HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
HEADER_BYTES = 16 * 1024
"""Maximum bytes of the address and the headers of a request."""
BODY_UNREAD = (408, 413, 415)
"""Statuses of refusals before the end of a body."""
MAX_UNREAD = 16 << 20
"""Announced bytes of a refused body that are read and discarded, so that its sender gets to the answer; after a larger
one, and one that announces nothing, the connection ends."""

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

    async def unknown(request: Request, error: Exception) -> Response:
        api = next((each for each in apis if request.url.path.startswith(PREFIXES.get(each.name, ()))), apis[-1])
        return await _Endpoint(service, Route(request.method, "", api, _nothing)).refused(request, error)

    app = Starlette(
        routes=paths, middleware=middleware if cors else [], exception_handlers={404: unknown, 405: unknown}
    )
    app.router.redirect_slashes = False
    return app


PREFIXES = {"limelight": ("/api/",), "deepl": ("/v2/", "/v3/"), "openai": ("/v1/",)}
"""Of the paths of APIs; another path looks like one of the last API."""


async def _nothing(call: Call) -> None:
    raise AssertionError


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
            if isinstance(answer, Events):
                await _streamed(answer, trace, receive, send)
                status = 200
            else:
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

    async def _answer(self, request: Request, trace: str) -> Response | Events:
        """Raises `ClientDisconnect` when the client has left."""
        try:
            answer = await self._handled(request)
            if isinstance(answer, Events):
                return answer
            if not isinstance(answer, Response):
                empty = self._route.status == 204
                answer = Response(None, 204) if empty else JSONResponse(plain(answer), self._route.status)
        except Refusal as refusal:
            announced = request.headers.get("content-length", "")
            unread = not announced.isdecimal() or int(announced) > MAX_UNREAD
            answer = self._failure(refusal, close=unread and refusal.status in BODY_UNREAD)
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
        if not route.public:
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
        size = sum(len(name) + len(value) for name, value in request.headers.raw)
        if size + len(request.scope["path"]) + len(request.scope["query_string"]) > HEADER_BYTES:
            raise Refusal(431, "headers", f"the headers have more than {HEADER_BYTES:,} bytes: send fewer")
        if service.keys is None:
            service.origins.require(request.method, request.headers)
        if route.counted:
            service.require_connection()
        return Client("") if route.public else identify(service, request, route.api)

    def _failure(self, refusal: Refusal, *, close: bool = False) -> Response:
        headers = {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
        if close or refusal.code == "too_many_connections":
            headers["Connection"] = "close"
        return JSONResponse(plain(self._route.api.failure(refusal)), refusal.status, headers)

    async def refused(self, request: Request, error: Exception) -> Response:
        """404 or 405 for a request that has no route; without a key, where one is needed, it is not told what there
        is."""
        refusal = Refusal(404, "not_found", "there is nothing at this path")
        allowed = (getattr(error, "headers", None) or {}).get("Allow", "")
        if getattr(error, "status_code", 404) == 405:
            message = f"this path takes {allowed or 'other methods'}, and not {request.method}"
            refusal = Refusal(405, "method_not_allowed", message)
        try:
            if self._admitted(request) is None:
                raise Refusal(self._route.api.denied, "no_key", "a key is needed")
        except Refusal as denied:
            refusal = denied
        answer = self._failure(refusal)
        self._service.metrics.begin()
        self._service.metrics.end("rejected", api=self._route.api.name, status=refusal.status, seconds=0.0)
        more = {"Allow": allowed} if refusal.status == 405 else {}
        answer.headers.update({**HEADERS, "X-Trace-ID": secrets.token_hex(8), **more})
        return answer


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


async def _streamed(events: Events, trace: str, receive: Receive, send: Send) -> None:
    """Send events as they come, until there are no more or the client leaves."""
    headers = {**HEADERS, "X-Trace-ID": trace, "Content-Type": "text/event-stream; charset=utf-8",
               "X-Accel-Buffering": "no"}  # fmt: skip
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def all_of_them() -> None:
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        async for event in events.items:
            await send({"type": "http.response.body", "body": event.encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    try:
        await _while_there(all_of_them(), receive)
    finally:
        events.close()


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
