"""Access rules that every request must meet before a route runs: host name, token, size and time."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import secrets
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tellapart.serve.wrong_tokens import WrongTokens

DESCRIBE = "/api/describe"
"""The only route that accepts large bodies."""
SMALL_BODY = 64 * 1024
DIGITS = 18
"""Of a content length that is worth reading as a number."""
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
SIGN_IN = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Sign in - Tellapart</title><h1>Tellapart</h1>
<form action="/"><p>%s</p><p><label>Token <input name="token" type="password" autofocus required
autocomplete="current-password"></label> <button>Sign in</button></p></form></html>"""


@dataclass(frozen=True)
class AccessRules:
    """Who may send requests, and how large and slow they may be."""

    token: str = ""
    """Empty: no token is needed."""
    hosts: frozenset[str] = frozenset()
    """Host names the server answers to; empty: any. Prevents DNS rebinding by other sites."""
    upload_bytes: int = 20_000_000
    upload_seconds: float = 60.0
    originals: bool = False
    """Whether files are sent as they are, with their metadata, on request."""

    @property
    def cookie_value(self) -> str:
        """A hash of the token, which proves that the client knows it."""
        return hashlib.sha256(self.token.encode()).hexdigest()

    @property
    def cookie_name(self) -> str:
        """One name per token: two servers on one machine share their cookies."""
        return f"tellapart-{self.cookie_value[:8]}"


class AccessMiddleware:
    """ASGI middleware that applies `AccessRules` and adds security headers."""

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self.app, self.rules = app, rules
        self.wrong_tokens = WrongTokens()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}

        only_head = scope["method"] == "HEAD"
        if only_head:  # answered as GET is, without the body
            scope = {**scope, "method": "GET"}

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = message.get("headers", [])
                given = {name.lower() for name, _ in own}
                extra = [
                    (name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in given
                ]
                message = {**message, "headers": [*own, *extra]}
            elif only_head:
                message = {**message, "body": b""}
            await send(message)

        if not self._is_known_host(headers.get("host", "")):
            await _send_problem(
                send_with_headers, 421, "The server does not answer to this host name; use the address it printed."
            )
        elif scope["method"] != "GET" and _from_another_site(headers):
            await _send_problem(send_with_headers, 403, "Other sites cannot send changes or uploads.")
        elif self.rules.token and not self._has_cookie(headers):
            await self._with_token(scope, headers, receive, send_with_headers)
        else:
            await self._answer(scope, headers, receive, send_with_headers)

    async def _with_token(self, scope: Scope, headers: dict[str, str], receive: Receive, send: Send) -> None:
        """Answer a request without a cookie: by its token, or with a request to sign in."""
        given = _given_token(scope, headers)
        address = (scope.get("client") or ("", 0))[0]
        if given and (wait := self.wrong_tokens.wait(address)):
            detail = f"Too many wrong tokens; try again in {wait:.0f} seconds."
            await _send_problem(send, 429, detail, (b"retry-after", str(math.ceil(wait)).encode()))
        elif given and not _equal(given, self.rules.token):
            self.wrong_tokens.add(address)
            await self._sign_in(scope, send, "This token is wrong.")
        elif not given:
            await self._sign_in(scope, send, "The server printed the token when it started.")
        elif "authorization" in headers:
            await self._answer(scope, headers, receive, send)
        else:
            await self._set_cookie(scope, send)

    async def _answer(self, scope: Scope, headers: dict[str, str], receive: Receive, send: Send) -> None:
        """Answer a request that may be sent, unless its body is too large."""
        max_bytes = self.rules.upload_bytes + SMALL_BODY if scope["path"] == DESCRIBE else SMALL_BODY
        length = headers.get("content-length", "0")
        if length.isdecimal() and (len(length) > DIGITS or int(length) > max_bytes):
            await _send_problem(send, 413, _too_large(max_bytes))
        else:
            await self.app(scope, self._limited(receive, max_bytes), send)

    def _is_known_host(self, host: str) -> bool:
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        return not self.rules.hosts or name.lower() in self.rules.hosts

    def _has_cookie(self, headers: dict[str, str]) -> bool:
        """Whether the cookie proves the token. Its value has 256 bits: nobody can guess it."""
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        cookie = cookies.get(self.rules.cookie_name)
        return cookie is not None and _equal(cookie.value, self.rules.cookie_value)

    async def _sign_in(self, scope: Scope, send: Send, message: str) -> None:
        """Ask for the token."""
        if scope["path"] == "/":
            await _send(send, 401, (SIGN_IN % message).encode(), "text/html; charset=utf-8")
        else:
            await _send_problem(send, 401, "Send the header `Authorization: Bearer TOKEN`, or sign in on the page.")

    async def _set_cookie(self, scope: Scope, send: Send) -> None:
        """Turn the token in the page's address into a cookie and redirect to the address without it."""
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        cookie = f"{self.rules.cookie_name}={self.rules.cookie_value}; Path=/; HttpOnly; SameSite=Strict{secure}"
        await _send(send, 303, b"", "text/plain", (b"location", b"/"), (b"set-cookie", cookie.encode()))

    def _limited(self, receive: Receive, max_bytes: int) -> Receive:
        """`receive`, with errors for a body that is too large or too slow."""
        deadline = time.monotonic() + self.rules.upload_seconds
        received, complete = 0, False

        async def limited() -> Message:
            nonlocal received, complete
            if complete:  # the only message left is that the client disconnects, at any time
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0.0, deadline - time.monotonic()))
            except TimeoutError as error:
                raise HTTPException(408, "The upload took too long; try again.") from error
            received += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if received > max_bytes:
                raise HTTPException(413, _too_large(max_bytes))
            return message

        return limited


def _given_token(scope: Scope, headers: dict[str, str]) -> str:
    """The token in the Authorization header, or in the address of the page; empty for none."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return given.strip()
    return parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0] if scope["path"] == "/" else ""


def _from_another_site(headers: dict[str, str]) -> bool:
    """Whether a page of another site sends this request. Every browser names the origin of a request that changes
    something; a program that is no browser sends none."""
    if headers.get("sec-fetch-site") == "cross-site":
        return True
    if "origin" not in headers:
        return False
    own = {headers.get(name, "").lower() for name in ("host", "x-forwarded-host")} - {""}
    scheme, _, place = headers["origin"].lower().partition("://")
    port = {"http": ":80", "https": ":443"}.get(scheme, "")
    return not {place, place.removesuffix(port) if port else place, f"{place}{port}"} & own


def _equal(given: str, expected: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def _too_large(max_bytes: int) -> str:
    return f"The request is larger than {max_bytes / 1e6:.2g} MB; send a smaller photo."


async def _send_problem(send: Send, status: int, detail: str, *headers: tuple[bytes, bytes]) -> None:
    await _send(send, status, json.dumps({"detail": detail}).encode(), "application/json", *headers)


async def _send(send: Send, status: int, body: bytes, media_type: str, *headers: tuple[bytes, bytes]) -> None:
    length = str(len(body)).encode()
    all_headers = [(b"content-type", media_type.encode()), (b"content-length", length), *headers]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body})
