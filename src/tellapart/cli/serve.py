"""`tellapart serve INDEX`: an index in the browser."""

from __future__ import annotations

import importlib.util
import ipaddress
import secrets
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from tellapart.core.device import usable_device
from tellapart.core.errors import InputError

if TYPE_CHECKING:
    import uvicorn

    from tellapart.serve.guard import Admission

NEEDED = ("fastapi", "uvicorn", "python_multipart")
SHORTEST_TOKEN = 12


@dataclass(frozen=True)
class ServeOptions:
    """Show an index in the browser: search it, drop photos to have them told, and mend captions."""

    index: Annotated[str, tyro.conf.Positional]
    """An index, as `tellapart index` made it."""
    host: str = "127.0.0.1"
    """Where to listen. Anything but this machine itself asks visitors for a token."""
    port: int = 8000
    """0 takes one that is free."""
    token: str = ""
    """What visitors must know; left out, one is made up where others can reach the server."""
    matcher: str = ""
    """The run the index was made with; left out, where it lay then."""
    captioner: str = ""
    """A captioner's run for dropped photos; left out, the index's own; "none" for no captions."""
    neighbours: int = 10
    """How many of the index's images, those most like it, a photo is told apart from."""
    upload_megabytes: float = 20.0
    """The largest photo that may be dropped."""
    upload_megapixels: float = 50.0
    """The same in pixels, whatever its file's size."""
    upload_seconds: float = 60.0
    """How long an upload may take to arrive."""
    device: str = "cpu"
    """cpu, cuda, …"""


@dataclass(frozen=True)
class Opened:
    """A server that is ready to run, listening already."""

    server: uvicorn.Server
    socket: socket.socket
    address: str
    """With the token, where one is asked for."""


def serve(options: ServeOptions) -> None:
    """Listen until interrupted."""
    opened = open_server(options)
    print(f"{options.index} is at {opened.address}\nStop with Ctrl-C.", flush=True)
    try:
        opened.server.run(sockets=[opened.socket])
    finally:
        opened.socket.close()


def open_server(options: ServeOptions) -> Opened:
    """Everything loaded and the port taken; `server.run(sockets=[socket])` answers."""
    _reject(options)
    import uvicorn

    from tellapart.search.embedder import Embedder
    from tellapart.search.store import open_store, reject_others
    from tellapart.serve.app import make_app
    from tellapart.serve.library import Library
    from tellapart.serve.patience import ImpatientProtocol

    admission = _admission(options)
    store = open_store(options.index)
    matcher = options.matcher or store.about.matcher
    captioner = "" if options.captioner == "none" else options.captioner or store.about.captioner
    embedder = Embedder(matcher, captioner, usable_device(options.device))
    reject_others(store, embedder.fingerprint, matcher)
    app = make_app(Library(store, embedder), admission, int(options.upload_megapixels * 1e6), options.neighbours)
    config = uvicorn.Config(
        app, http=ImpatientProtocol, ws="none", lifespan="off", access_log=False, log_level="warning",
        timeout_keep_alive=15, timeout_graceful_shutdown=5, server_header=False,
    )  # fmt: skip
    listening = _listen(options.host, options.port)
    shown = f"[{options.host}]" if ":" in options.host else options.host
    address = f"http://{shown}:{listening.getsockname()[1]}/"
    address += f"?token={admission.token}" if admission.token else ""
    return Opened(uvicorn.Server(config), listening, address)


def _reject(options: ServeOptions) -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError("The page needs FastAPI and uvicorn; run `pip install 'tellapart[serve,search]'`.")
    if options.token and (len(options.token) < SHORTEST_TOKEN or not options.token.isalnum()):
        raise InputError(f"A token is letters and digits, at least {SHORTEST_TOKEN} of them; leave it out to get one.")
    if not 0 <= options.port <= 65535:
        raise InputError(f"A port lies between 0 and 65535, not {options.port}.")
    if options.neighbours < 1:
        raise InputError("--neighbours is at least 1.")
    if min(options.upload_megabytes, options.upload_megapixels, options.upload_seconds) <= 0:
        raise InputError("--upload-megabytes, --upload-megapixels and --upload-seconds are more than 0.")


def _admission(options: ServeOptions) -> Admission:
    from tellapart.serve.guard import Admission

    token = options.token or ("" if is_here(options.host) else secrets.token_hex(16))
    hosts = frozenset() if token else frozenset(("localhost", "127.0.0.1", "[::1]", options.host.lower()))
    return Admission(token, hosts, int(options.upload_megabytes * 1e6), options.upload_seconds)


def is_here(host: str) -> bool:
    """Whether only this machine itself can reach a server that listens there.

    >>> is_here("localhost"), is_here("127.0.0.1"), is_here("0.0.0.0"), is_here("photos.example")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(place)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise InputError(
            f"{host}:{port} cannot be listened at ({error.strerror or error}); choose another --port or --host."
        ) from error
    return listening
