"""A folder or file that may not be read, though whoever runs the tests may read everything."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest


def forbid(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listing the folder, or asking for the file's size, fails as it does where the right is missing."""

    def unless_forbidden(real: Any) -> Any:
        def asked(given: Any = ".", *others: Any, **more: Any) -> Any:
            if not isinstance(given, int) and Path(os.fsdecode(given)) == path:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return real(given, *others, **more)

        return asked

    monkeypatch.setattr(os, "scandir", unless_forbidden(os.scandir))
    monkeypatch.setattr(os, "stat", unless_forbidden(os.stat))
