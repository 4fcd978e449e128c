"""An S3 server on this machine (moto), for tests of object storage."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def local_s3() -> Iterator[str]:
    """The address of an empty bucket; every client in this process, and in those it starts, finds the server by
    environment variables."""
    moto = pytest.importorskip("moto.server", reason="needs a local S3 server: pip install 'tellapart[s3-tests]'")
    pytest.importorskip("s3fs", reason="needs s3fs: pip install 'tellapart[remote]'")
    bucket = f"tellapart-{uuid.uuid4().hex}"  # servers of one process share what they store
    import boto3
    import fsspec

    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ENDPOINT": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing", "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true", "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as environment:
        for name, value in settings.items():
            environment.setenv(name, value)
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        boto3.client("s3").create_bucket(Bucket=bucket)
        try:
            yield f"s3://{bucket}"
        finally:
            fsspec.get_filesystem_class("s3").clear_instance_cache()
            server.stop()
