"""Open an index as a web server: models loaded, access rules chosen, port bound."""

from __future__ import annotations

import importlib.util
import ipaddress
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tellapart.core.errors import InputError
from tellapart.search.embedded import BATCH
from tellapart.serve.heaps import share_heaps

if TYPE_CHECKING:
    import uvicorn

    from tellapart.serve.access import AccessRules
    from tellapart.serve.updating import Updater

REQUIRED = ("fastapi", "uvicorn", "python_multipart")
MIN_TOKEN = 12


@dataclass(frozen=True)
class ServerSettings:
    """Where a server listens and what it accepts."""

    host: str = "127.0.0.1"
    port: int = 8000
    """0 chooses a free port."""
    token: str = ""
    """Empty: a random token if other machines can reach `host`, none otherwise."""
    neighbours: int = 10
    upload_megabytes: float = 20.0
    upload_megapixels: float = 50.0
    upload_seconds: float = 60.0
    originals: Literal["auto", "yes", "no"] = "auto"
    """Whether to send files as they are, with their metadata; auto: if visitors need no token."""

    def __post_init__(self) -> None:
        if self.token and (len(self.token) < MIN_TOKEN or not self.token.isalnum()):
            raise InputError(f"`token` must be at least {MIN_TOKEN} letters and digits.")
        if not 0 <= self.port <= 65535:
            raise InputError(f"`port` must be between 0 and 65535, not {self.port}.")
        if self.neighbours < 1:
            raise InputError(f"`neighbours` must be at least 1, not {self.neighbours}.")
        for name in ("upload_megabytes", "upload_megapixels", "upload_seconds"):
            if getattr(self, name) <= 0:
                raise InputError(f"`{name}` must be greater than 0, not {getattr(self, name):g}.")


@dataclass(frozen=True)
class Server:
    """A server whose port is bound. It answers once `run` is called."""

    uvicorn: uvicorn.Server
    socket: socket.socket
    address: str
    """URL of the page, with the token if there is one."""
    updater: Updater | None = None
    """What updates the index meanwhile."""

    def run(self) -> None:
        """Answer requests until interrupted."""
        share_heaps()
        try:
            if self.updater is not None:
                self.updater.start()
            self.uvicorn.run(sockets=[self.socket])
        finally:
            self.socket.close()
            if self.updater is not None:
                self.updater.stop()


def open_server(
    index: str,
    settings: ServerSettings | None = None,
    matcher: str = "",
    captioner: str | None = "auto",
    device: str = "cpu",
    update: Sequence[Path] | None = None,
    *,
    precision: str = "auto",
    compile: bool = False,
    batch: int = BATCH,
) -> Server:
    """A server for an index.

    matcher: the run that the index was made with; by default the path that the index stores.
    captioner: a run for uploaded photos; "auto" for the captioner of the index, None for no captions.
    update: folders to update the index from while it is served; none: those that it has photos of. An index that does
    not exist is created.
    precision, compile: of the models; see `load_matcher`. batch: photos encoded at once by an update.
    """
    settings = settings or ServerSettings()
    if any(importlib.util.find_spec(name) is None for name in REQUIRED):
        raise InputError("The server needs FastAPI and uvicorn: run `pip install fastapi uvicorn python-multipart`.")
    import uvicorn

    from tellapart.search.about_models import about_models
    from tellapart.search.photo_index import PhotoIndex
    from tellapart.search.store import open_or_make
    from tellapart.search.update import checked_roots
    from tellapart.serve.app import create_app
    from tellapart.serve.timeouts import TimeoutProtocol
    from tellapart.serve.updating import Updater

    rules = _access_rules(settings)
    if update:
        checked_roots(update)  # before models are loaded and an index is made
    photos = PhotoIndex(index, matcher or None, captioner, device, precision=precision, compile=compile, batch=batch)
    if update:
        open_or_make(index, about_models(photos.matcher, photos.captioner))
    updater = None if update is None else Updater(photos, update)
    app = create_app(photos, rules, int(settings.upload_megapixels * 1e6), settings.neighbours)
    config = uvicorn.Config(
        app, http=TimeoutProtocol, ws="none", lifespan="off", access_log=False, log_level="warning",
        timeout_keep_alive=15, timeout_graceful_shutdown=5, server_header=False,
    )  # fmt: skip
    bound = _bind(settings.host, settings.port)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http://{host}:{bound.getsockname()[1]}/"
    token = f"?token={rules.token}" if rules.token else ""
    return Server(uvicorn.Server(config), bound, address + token, updater)


def _access_rules(settings: ServerSettings) -> AccessRules:
    from tellapart.serve.access import AccessRules

    token = settings.token or ("" if is_loopback(settings.host) else secrets.token_hex(16))
    hosts = frozenset() if token else frozenset(("localhost", "127.0.0.1", "[::1]", settings.host.lower()))
    originals = settings.originals == "yes" or (settings.originals == "auto" and not token)
    return AccessRules(token, hosts, int(settings.upload_megabytes * 1e6), settings.upload_seconds, originals)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on `host`.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("0.0.0.0"), is_loopback("photos.example")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bind(host: str, port: int) -> socket.socket:
    """A socket that listens on a host and port."""
    try:
        family, type_, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, type_, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(address)
            bound.listen()  # whoever reads the address may connect at once; the request waits until `run`
        except OSError:
            bound.close()
            raise
    except OSError as error:
        raise InputError(
            f"Cannot listen on {host}:{port} ({error.strerror or error}); choose another `port` or `host`."
        ) from error
    return bound
