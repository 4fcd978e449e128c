"""`tellapart serve INDEX`: search an index in the browser."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from tellapart.core.precisions import Precision


@dataclass(frozen=True)
class ServeOptions:
    """Search an index in the browser, describe photos, and edit captions."""

    index: Annotated[str, tyro.conf.Positional]
    """An index made by `tellapart index`."""
    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 lets other machines connect, with a token."""
    port: int = 8000
    """Port to listen on; 0 chooses a free one."""
    token: str = ""
    """Token that visitors need. Empty: a random one if other machines can connect."""
    matcher: str = ""
    """Run that the index was made with. Empty: the path that the index stores."""
    captioner: str = ""
    """Captioner's run for dropped photos. Empty: the captioner of the index; "none": no captions."""
    neighbours: int = 10
    """Number of similar photos that a distinctive caption is compared with."""
    upload_megabytes: float = 20.0
    """Maximum size of a dropped photo's file."""
    upload_megapixels: float = 50.0
    """Maximum number of pixels of a dropped photo."""
    upload_seconds: float = 60.0
    """Maximum time for an upload."""
    originals: Literal["auto", "yes", "no"] = "auto"
    """Whether visitors can open the files of photos as they are, with metadata such as places. auto: if they need
    no token."""
    update: tuple[Path, ...] | None = None
    """Folders to update the index from while it is served; without a value, those that it has photos of. An index
    that does not exist is created."""
    device: str = "cpu"
    """cpu, cuda, …"""
    precision: Precision = "auto"
    """Of the backbone, or of models of transformers: float32, bfloat16, float16 (transformers only), or auto."""
    compile: bool = False
    """Compile models of transformers (torch.compile): the first photos take a minute."""
    batch: int = 64
    """With --update: photos encoded at once; more need more memory."""


def serve(options: ServeOptions) -> None:
    """Serve an index until interrupted."""
    from tellapart.serve.server import ServerSettings, open_server

    settings = ServerSettings(
        host=options.host,
        port=options.port,
        token=options.token,
        neighbours=options.neighbours,
        upload_megabytes=options.upload_megabytes,
        upload_megapixels=options.upload_megapixels,
        upload_seconds=options.upload_seconds,
        originals=options.originals,
    )
    captioner = None if options.captioner == "none" else options.captioner or "auto"
    server = open_server(
        options.index, settings, options.matcher, captioner, options.device, options.update,
        precision=options.precision, compile=options.compile, batch=options.batch,
    )  # fmt: skip
    print(f"Serving {options.index} at {server.address}\nPress Ctrl-C to stop.", flush=True)
    server.run()
