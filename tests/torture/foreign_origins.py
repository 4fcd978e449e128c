"""Pages of other origins in Chromium: they neither read the index nor change it, whatever they send."""

from __future__ import annotations

import functools
import json
import os
import resource
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from torture.campaign import Campaign, Case, Skipped, check, number_of
from torture.served_index import MODULES, Running, get, make, start

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
ORIGINS = ("http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://evil.localhost:{port}/", "data:")
"""Another port, another name of this machine, a name that leads here (as after DNS rebinding), and no origin."""
ATTACKS = """
const [server, id, done] = arguments, got = {};
const attempt = async (name, work) => { try { got[name] = await work() } catch (error) { got[name] = "blocked" } };
const text = async (path, how) => (await fetch(server + path, how)).text();
const edit = JSON.stringify({caption: "stolen"});
(async () => {
  await attempt("read", () => text("/api/photos"));
  await attempt("credentials", () => text("/api/photos", {credentials: "include"}));
  await attempt("edit", () => text(`/api/photos/${id}/caption`, {method: "PUT", body: edit}));
  await attempt("typed", () => text(`/api/photos/${id}/caption`, {method: "PUT", body: edit,
                                    headers: {"content-type": "application/json"}}));
  await attempt("opaque", async () => (await fetch(server + "/api/photos", {mode: "no-cors"})).status);
  await attempt("upload", async () => (await fetch(server + "/api/describe",
                                       {mode: "no-cors", method: "POST", body: new FormData()})).status);
  await attempt("image", () => new Promise((good, bad) => { const one = new Image();
    one.onload = () => good("shown"); one.onerror = bad; one.src = `${server}/api/photos/${id}/image`; }));
  await attempt("frame", () => new Promise((good) => { const one = document.createElement("iframe");
    one.onload = () => { try { good(one.contentDocument.body.innerText || "") } catch (error) { good("blocked") } };
    one.src = server + "/"; document.body.append(one); setTimeout(() => good("blocked"), 3000); }));
  done(got);
})();
"""


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><body>other</body>")

    def log_message(self, *arguments: object) -> None:
        pass


def _browser(folder: Path) -> Any:
    from selenium import webdriver

    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))  # a browser takes a terabyte of addresses
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver"), env=plain))
    driver.set_script_timeout(60)
    return driver


@functools.cache
def _running(world: Path, scratch: Path) -> Running:
    return start(world, scratch, patience=30)


def visit(case: Case) -> None:
    """Open a page of another origin, and let it try everything."""
    home = case.folder.parent / "foreign"
    home.mkdir(exist_ok=True)
    server = _running(case.folder, home)
    photos = json.loads(server.request(get("/api/photos")).split(b"\r\n\r\n", 1)[1])["photos"]
    site = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    origin = ORIGINS[case.number % len(ORIGINS)].format(port=site.server_address[1])
    browser = _browser(case.scratch)
    try:
        browser.get(origin if origin != "data:" else "data:text/html,<body>other</body>")
        got = browser.execute_async_script(ATTACKS, f"http://127.0.0.1:{server.port}", photos[0]["id"])
    finally:
        site.shutdown()
        browser.quit()
    for name in ("read", "credentials", "edit", "typed", "image"):
        check(got[name] == "blocked", f"{origin} {name}: {str(got[name])[:200]}")
    check(got["opaque"] in (0, "blocked") and got["upload"] in (0, "blocked"), f"{origin} reads a status: {got}")
    check("photo" not in str(got["frame"]), f"{origin} frames the page: {got['frame'][:200]}")
    now = json.loads(server.request(get("/api/photos")).split(b"\r\n\r\n", 1)[1])["photos"]
    check(now == photos, f"{origin} changed the index")


def count(folder: Path) -> int:
    """One case per origin, where there is a browser."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        raise Skipped("needs chromium and chromedriver")
    return number_of(len(ORIGINS))(folder)


FOREIGN_ORIGINS = Campaign(
    run=visit, count=count, sample=1, make=make, preload=(*MODULES, "selenium.webdriver"), chunk=len(ORIGINS)
)
