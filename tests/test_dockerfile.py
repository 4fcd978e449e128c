"""The Dockerfile agrees with what it copies, installs, runs and checks. `benchmarks.container` builds it."""

import http.server
import json
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import tyro

from tellapart.cli.serve import ServeOptions

ROOT = Path(__file__).resolve().parents[1]
PORT = "8000"


def instructions() -> list[tuple[str, str]]:
    """Instructions with their arguments; lines that go on are joined."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, rest) for name, rest in (line.split(" ", 1) for line in lines)]


def arguments(name: str) -> list[str]:
    return [rest for found, rest in instructions() if found == name]


def last_stage() -> list[tuple[str, str]]:
    found = instructions()
    return found[max(place for place, (name, _) in enumerate(found) if name == "FROM") :]


def project() -> dict[str, object]:
    found: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def test_python_is_one_that_the_project_supports() -> None:
    images = {rest.split(" AS ")[0] for rest in arguments("FROM")}
    assert len(images) == 1  # an environment moves only between images with the same Python
    version = re.fullmatch(r"python:3\.(\d+)-slim", images.pop())
    least = re.fullmatch(r">=3\.(\d+)", str(project()["requires-python"]))
    assert version is not None and least is not None
    assert int(version[1]) >= int(least[1])


def test_everything_copied_exists_and_is_let_in() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    copied = [part for rest in arguments("COPY") if not rest.startswith("--from") for part in rest.split()[:-1]]
    assert copied
    for name in copied:
        assert (ROOT / name).exists()
        assert f"!{name.removeprefix('./')}" in ignored
    built = {project()["readme"], "LICENSE", "pyproject.toml"}
    assert built <= set(copied)


def test_installs_an_extra_that_exists() -> None:
    (extra,) = re.findall(r"'\.\[([a-z,]+)\]'", " ".join(arguments("RUN")))
    extras = project()["optional-dependencies"]
    assert isinstance(extras, dict) and set(extra.split(",")) <= set(extras)


def test_runs_as_a_user_who_owns_the_data() -> None:
    names = [name for name, _ in last_stage()]
    (user,) = [rest for name, rest in last_stage() if name == "USER"]
    assert user not in ("root", "0")
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert not {"RUN", "COPY", "ADD"} & set(names[names.index("USER") :])
    (volume,) = arguments("VOLUME")
    made = next(rest for name, rest in last_stage() if name == "RUN")
    assert re.search(rf"useradd .*--uid [1-9]\d* {user}\b", made) and f"chown {user} {volume}" in made


def test_serves_the_index_at_one_port() -> None:
    assert json.loads(arguments("ENTRYPOINT")[0]) == ["tellapart"]
    verb, *flags = json.loads(arguments("CMD")[0])
    assert verb == "serve"
    options = tyro.cli(ServeOptions, args=flags)
    assert options.index.startswith(f"{arguments('VOLUME')[0]}/")
    assert options.host == "0.0.0.0"
    assert str(options.port) == PORT == arguments("EXPOSE")[0]


@pytest.fixture
def answering(request: pytest.FixtureRequest) -> Iterator[int]:
    """A server that answers every request with one status: its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(request.param)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def health(port: int) -> int:
    """The status of the health check with the server at another port."""
    (check,) = arguments("HEALTHCHECK")
    program, *rest = json.loads(check.split("CMD ", 1)[1])
    assert program == "python" and PORT in rest[-1]
    command = [sys.executable, *(part.replace(PORT, str(port)) for part in rest)]
    return subprocess.run(command, capture_output=True, check=False, timeout=30).returncode


@pytest.mark.parametrize(("answering", "healthy"), [(200, True), (401, True), (500, False)], indirect=["answering"])
def test_health_check_passes_for_a_server_that_answers(answering: int, healthy: bool) -> None:
    assert (health(answering) == 0) is healthy


def test_health_check_fails_without_a_server() -> None:
    assert health(9) != 0  # the port of the discard service
