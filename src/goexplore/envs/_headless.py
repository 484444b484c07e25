"""Drawing with MuJoCo on machines without a screen."""

from __future__ import annotations

import os
import sys


def prefer_egl() -> None:
    """Has MuJoCo draw through EGL where there is no screen for its default, unless the user has chosen something.

    It reads the variable when it is first imported, so this must come before.
    """
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("MUJOCO_GL", "egl")
