"""`python -m benchmarks [NAME …] [--device cuda]`: run all benchmarks, or the named ones."""

from __future__ import annotations

import argparse
import importlib
import pkgutil

import benchmarks


def main() -> None:
    names = sorted(
        module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")
    )
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*names, []], help="which benchmarks; all of them if none is named")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    for name in options.names or names:
        print(f"\n== {name} ==", flush=True)
        importlib.import_module(f"benchmarks.{name}").main(device=options.device)


if __name__ == "__main__":
    main()
