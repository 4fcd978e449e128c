"""`PYTHONPATH=tests python -m supply_chain`: check licences, pins, the list of packages, and known vulnerabilities.

`write-sbom` writes the list of packages. Vulnerabilities are checked with pip-audit where it is installed and reaches
its data base; otherwise a line says why not.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

from supply_chain import licences, pins, sbom
from supply_chain.closure import ROOT, closure

SECONDS = 120
UNREACHABLE = ("ConnectionError", "NameResolution", "Max retries", "Timeout", "ProxyError", "ServiceError", "HTTPError")


def main() -> int:
    """1 if something is wrong."""
    packages = closure()
    if sys.argv[1:] == ["write-sbom"]:
        sbom.FILE.write_text(sbom.text(packages), encoding="utf-8")
        print(f"{sbom.FILE}: {len(packages)} packages")
        return 0
    found = [fault for check in (licences, pins, sbom) for fault in check.faults(packages)]
    print(
        "\n".join(found)
        or f"{len(packages)} packages at run time: licences read, versions pinned, listed in the wheel."
    )
    return 1 if found or audit() else 0


def audit() -> bool:
    """Whether a pinned package has a known vulnerability. A machine without network or pip-audit knows of none."""
    if importlib.util.find_spec("pip_audit") is None:
        print("Known vulnerabilities are not checked: run `pip install pip-audit` to do so.")
        return False
    call = [sys.executable, "-m", "pip_audit", "--requirement", str(ROOT / "constraints.txt"), "--no-deps",
            "--disable-pip", "--progress-spinner", "off", "--format", "json"]  # fmt: skip
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        print(f"Known vulnerabilities are not checked: no answer within {SECONDS} seconds.")
        return False
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        unreachable = any(word in done.stderr for word in UNREACHABLE)
        reason = "their data base cannot be reached." if unreachable else f"pip-audit says\n{done.stderr}"
        print(f"Known vulnerabilities are not checked: {reason}")
        return not unreachable
    found = [f"{one['name']} {one['version']}: {bad['id']}" for one in packages for bad in one.get("vulns", ())]
    checked = sum("skip_reason" not in one for one in packages)
    print(f"Known vulnerabilities: {len(found)} in {checked} of {len(packages)} pinned packages;", end=" ")
    print("the index knows nothing about the others." if checked < len(packages) else "all were checked.")
    print("".join(f"{line}\n" for line in found), end="")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
