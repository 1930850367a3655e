"""Access control of the workspace's HTTP server: host name, origin and key."""

from __future__ import annotations

import hmac
from collections.abc import Collection
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

COOKIE = "workspace"
PAGES = ("/", "/archives/", "/static/")  # without data: the page loads its data from /ui/
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
WRONG_HOST = "This workspace answers on its own address only."
NO_KEY = "Open the address, with its key, that this workspace printed when it started."


def access_control(hosts: Collection[str], key: str = "") -> Middleware:
    """A middleware that answers 403 to requests with another Host (DNS rebinding) or from another origin, WebSockets
    included. With a `key`, also to /ui/ requests without the cookie that opening the page with the key sets."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not _is_own_host(request.host, hosts) or _is_cross_site(request):
            raise web.HTTPForbidden(text=WRONG_HOST)
        if key and request.path == "/" and _equal(request.query.get("key", ""), key):
            redirect = web.HTTPSeeOther("/")
            redirect.set_cookie(COOKIE, key, httponly=True, samesite="Strict")
            raise redirect
        if key and request.path.startswith("/ui/") and not _equal(request.cookies.get(COOKIE, ""), key):
            raise web.HTTPForbidden(text=NO_KEY)
        return await handler(request)

    return middleware


async def add_security_headers(_: web.Request, response: web.StreamResponse) -> None:
    """Adds the security headers to a response; a handler of `on_response_prepare`."""
    response.headers.update(HEADERS)


def _is_own_host(host: str, hosts: Collection[str]) -> bool:
    try:
        return urlsplit(f"//{host}").hostname in hosts
    except ValueError:
        return False


def _is_cross_site(request: web.Request) -> bool:
    """Whether a page of another site sent this, by the browser's headers. Following a link to a page is allowed."""
    origin = request.headers.get("Origin")
    if origin is not None and origin != f"http://{request.host}":
        return True
    fetch_site = request.headers.get("Sec-Fetch-Site", "none")
    is_page = request.method == "GET" and (request.path == "/" or request.path.startswith(PAGES[1:]))
    return fetch_site not in ("same-origin", "none") and not is_page


def _equal(given: str, key: str) -> bool:
    return hmac.compare_digest(given.encode(), key.encode())
