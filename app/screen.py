"""Whether there is a screen for a window; as a program it says so by its exit status, for `make run`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping


def has_screen(platform: str, environment: Mapping[str, str]) -> bool:
    """By what the system tells every process; a platform that is named for Qt is taken for one."""
    if environment.get("QT_QPA_PLATFORM"):
        return True
    if platform == "linux":
        return any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return platform != "darwin" or not environment.get("SSH_CONNECTION")


if __name__ == "__main__":
    sys.exit(not has_screen(sys.platform, os.environ))
