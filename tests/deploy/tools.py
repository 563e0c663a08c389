"""Programs that only some machines have: a developer's may lack them, CI may not."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest

__all__ = ["absent", "require"]


def require(program: str, package: str) -> str:
    found = shutil.which(program)
    return found or absent(f"no {program} on this machine (Debian: apt-get install {package})")


def absent(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; with CI=true it must be there")
    pytest.skip(reason)
