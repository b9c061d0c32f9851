"""The service as an ASGI application: routes, keys, bodies, errors in the form of each dialect, and metrics."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.routing import Route as Path
from starlette.types import Message, Receive, Scope, Send

from limelight.serving.body import ClientLeftError, closes, read_body, read_fields, read_query
from limelight.serving.call import Call, Dialect, Reply, Route, Upload
from limelight.serving.logs import outcome_of
from limelight.serving.refusal import Refusal
from limelight.serving.service import Client, Service

LEFT = 499
"""The status in log and metrics of a request whose client has disconnected; it is not sent."""

SCHEMES = ("bearer", "deepl-auth-key")
"""Schemes of the header `Authorization`."""

OWN_API = "limelight"

HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


def build_app(
    service: Service, routes: Sequence[Route], of_path: Callable[[str], Dialect], cors: Sequence[str] = ()
) -> Starlette:
    """The application.

    Args:
        of_path: the dialect of the refusal of an unknown path.
        cors: origins whose pages may call it, `*` for all; none where it is empty.
    """
    service.origins = service.origins._replace(pages=cors)
    unknown = _Unknown(service, of_path)
    middleware = []
    if cors:
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
    endpoints = {(route.method, route.path): Endpoint(service, route) for route in routes}
    paths = [Path(path, endpoint, methods=[method]) for (method, path), endpoint in endpoints.items()]
    app = Starlette(
        routes=[_FixedPaths(endpoints), *paths],
        middleware=middleware,
        exception_handlers={404: unknown, 405: unknown},
    )
    app.router.redirect_slashes = False
    return app


class _FixedPaths(BaseRoute):
    """Finds a path without variable parts at once. One route after the other is tried for what is not found here: for
    the last of the routes that takes a fifth of the time of a refusal."""

    def __init__(self, endpoints: Mapping[tuple[str, str], Endpoint]) -> None:
        self._endpoints = {place: each for place, each in endpoints.items() if "{" not in place[1]}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        endpoint = self._endpoints.get((scope["method"], scope["path"]))
        return (Match.NONE, {}) if endpoint is None else (Match.FULL, {"endpoint": endpoint, "path_params": {}})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["endpoint"](scope, receive, send)


class Endpoint:
    """One route: from the bytes of a request to those of its answer."""

    def __init__(self, service: Service, route: Route) -> None:
        self._service, self._route = service, route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever happens; what becomes of it is counted once."""
        service, route = self._service, self._route
        if route.counted:
            service.metrics.begin()
        started, trace, status, outcome = time.perf_counter(), secrets.token_hex(8), LEFT, "canceled"
        try:
            status = await self._answer(Request(scope, receive), send, trace)
            outcome = outcome_of(status)
        except (ClientLeftError, OSError):
            pass
        except Exception as error:  # the answer has begun, so no other can be given
            service.log.fault(error, request=trace)
            status, outcome = 500, "failed"
        finally:
            seconds = time.perf_counter() - started
            if route.counted:
                service.metrics.end(outcome, api=route.dialect.name, status=status, seconds=seconds)
            if not service.log.quiet and route.counted:
                service.log("request", request=trace, api=route.dialect.name, path=route.path, method=route.method,
                            status=status, milliseconds=round(1000 * seconds, 1))  # fmt: skip

    async def _answer(self, request: Request, send: Send, trace: str) -> int:
        """Returns the status. Raises `ClientLeftError` when the client has left."""
        close = False
        try:
            reply = await self._reply(request)
        except Refusal as refusal:
            reply = _refused(self._route.dialect, refusal)
            close = refusal.status in (408, 413, 415) and closes(request.headers)
            close = close or refusal.code == "too_many_connections"
        except (ClientLeftError, asyncio.CancelledError):
            raise
        except Exception as error:
            self._service.log.fault(error, request=trace)
            message = "something went wrong in the service; it is in its log"
            reply = _refused(self._route.dialect, Refusal(500, "internal", message))
        headers = {**HEADERS, "X-Trace-ID": trace, **reply.headers, **({"Connection": "close"} if close else {})}
        if reply.events is not None:
            await _stream(reply, headers, request.receive, send)
        else:
            await _response(reply, headers)(request.scope, request.receive, send)
        return reply.status

    async def _reply(self, request: Request) -> Reply:
        service, route = self._service, self._route
        require_origin(service, request)
        if route.counted:
            service.require_connection()
        client = identify(service, request, route.dialect) if not route.public else Client("")
        fields: dict[str, Any] = {}
        uploads: Mapping[str, Upload] = {}
        if not route.public:  # such a route reads no body
            fields, uploads = await self._sent(request, known=client is not None)
        fields = {**read_query(request.scope["query_string"]), **fields}
        if client is None:
            client = of_key(service, fields.pop(route.dialect.key_field, ""), route.dialect)
        else:
            fields.pop(route.dialect.key_field, None)
        if route.dialect.name != OWN_API:  # clients of others send empty fields as null
            fields = {name: value for name, value in fields.items() if value is not None}
        base_url = str(request.base_url).rstrip("/") if route.upload else ""
        call = Call(client, fields, request.path_params, uploads, base_url)
        return await _while_there(route.handler(service, call), request.receive)

    async def _sent(self, request: Request, *, known: bool) -> tuple[dict[str, Any], dict[str, Upload]]:
        """The fields and files of a body; less memory is for those of clients that are not `known` yet."""
        service, route = self._service, self._route
        limits, option = service.limits, "--max-upload" if route.upload else "--max-body"
        body = await read_body(
            request.receive,
            request.headers,
            limit=limits.document if route.upload else limits.body,
            seconds=limits.body_seconds,
            option=option,
        )
        return await read_fields(body, request.headers)


class _Unknown:
    """The handler of unknown paths; it answers in the form of the dialect that the path resembles."""

    def __init__(self, service: Service, of_path: Callable[[str], Dialect]) -> None:
        self._service, self._of_path = service, of_path

    async def __call__(self, request: Request, error: Exception) -> Response:
        """404 or 405; without a key, where one is needed, it is not told what there is."""
        status = error.status_code if isinstance(error, HTTPException) else 404
        dialect = self._of_path(request.url.path)
        refusal = Refusal(404, "not_found", "there is nothing at this path")
        allowed = (error.headers or {}).get("Allow", "") if isinstance(error, HTTPException) else ""
        if status == 405:
            message = f"this path takes {allowed or 'other methods'}, and not {request.method}"
            refusal = Refusal(405, "method_not_allowed", message)
        try:
            require_origin(self._service, request)
            if identify(self._service, request, dialect) is None:
                raise Refusal(dialect.denied, "no_key", "a key is needed")
        except Refusal as denied:
            refusal = denied
        reply = _refused(dialect, refusal)
        metrics = self._service.metrics
        metrics.begin()
        metrics.end("rejected", api=dialect.name, status=reply.status, seconds=0.0)
        more = {"Allow": allowed} if reply.status == 405 else {}
        return _response(reply, {**HEADERS, "X-Trace-ID": secrets.token_hex(8), **more, **reply.headers})


def require_origin(service: Service, request: Request) -> None:
    """Raises `Refusal` for what a page of another site asks of a service without keys."""
    if service.keys is None:
        service.origins.require(request.method, request.headers)


def identify(service: Service, request: Request, dialect: Dialect) -> Client | None:
    """The client of the key in the header or the query; None where the key may be in the body. Raises `Refusal` for a
    wrong key, or none."""
    if service.keys is None:
        return Client(network_of(request.client.host) if request.client else "")
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in SCHEMES and secret.strip():
        return of_key(service, secret.strip(), dialect)
    if not dialect.key_field:
        return of_key(service, "", dialect)
    if (secret := read_query(request.scope["query_string"]).get(dialect.key_field, "")) != "":
        return of_key(service, secret, dialect)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" and not dialect.key_in_json:
        return of_key(service, "", dialect)
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


def of_key(service: Service, secret: object, dialect: Dialect) -> Client:
    """The client of a key. Raises `Refusal` for an unknown key."""
    assert service.keys is not None
    if not isinstance(secret, str) or not secret:
        raise Refusal(dialect.denied, "no_key", "a key is needed: ask the operator of this service for one")
    key = service.keys.find(secret)
    if key is None:
        raise Refusal(dialect.denied, "invalid_key", "this key is not known, or no longer")
    return Client(f"key {key.name}", key.name)


def _refused(dialect: Dialect, refusal: Refusal) -> Reply:
    reply = dialect.error(refusal)
    headers = dict(reply.headers)
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(refusal.retry_after)
    return Reply(reply.value, refusal.status, headers, reply.content, reply.media_type)


def _response(reply: Reply, headers: dict[str, str]) -> Response:
    if reply.content is not None:
        return Response(reply.content, reply.status, headers, media_type=reply.media_type)
    if reply.value is None:
        return Response(None, reply.status, headers)
    return JSONResponse(reply.value, reply.status, headers)


async def _while_there(work: Awaitable[Reply], receive: Receive) -> Reply:
    """The result of `work`, which is canceled when the client leaves. Raises `ClientLeftError` then."""
    tasks: list[asyncio.Future[Any]] = [working := asyncio.ensure_future(work)]
    try:
        await asyncio.sleep(0)  # enough for a refusal, which needs no watch over its client
        if not working.done():
            tasks.append(asyncio.ensure_future(_left(receive)))
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise ClientLeftError
        return working.result()
    finally:
        await _end(*tasks)


async def _stream(reply: Reply, headers: dict[str, str], receive: Receive, send: Send) -> None:
    """Send events as they come, until there are no more or the client leaves."""
    assert reply.events is not None
    raw = {**headers, "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}
    encoded = [(key.lower().encode("latin-1"), value.encode("latin-1")) for key, value in raw.items()]
    events = reply.events

    async def all_of_them() -> Reply:
        await send({"type": "http.response.start", "status": reply.status, "headers": encoded})
        async for event in events:
            await send(_part(event.encode(), more=True))
        await send(_part(b"", more=False))
        return reply

    try:
        await _while_there(all_of_them(), receive)
    finally:
        if reply.close is not None:
            reply.close()


def _part(body: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def _left(receive: Receive) -> None:
    """Wait until the client has closed its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError, Exception):
            await task
