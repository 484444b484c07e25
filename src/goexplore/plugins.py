"""Third-party objects by name: `package.module:name` to the thing it names, and back."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Iterable
from typing import Any

from goexplore.errors import InputError


def load_object(reference: str, *, what: str) -> Any:
    """Imports `package.module:name`.

    The current folder is importable, as it is for `python -m`, so that a script's own module can be
    named without installing it.

    Raises:
        InputError: the reference is malformed, or there is no such module or name.
    """
    module_name, _, name = reference.partition(":")
    if not module_name or not name:
        raise InputError(f"{what} {reference!r} should look like package.module:name")
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise InputError(f"{what} {reference!r} cannot be imported: {error}") from error
    if not hasattr(module, name):
        hint = nearest(name, vars(module))
        raise InputError(f"{what} {reference!r}: module {module_name!r} has no {name!r}{hint}")
    return getattr(module, name)


BUILT_IN_PREFIXES = ("downscale:", "observation:", "ram:")


def is_plugin(name: str) -> bool:
    """Whether a name means code to import (`package.module:name`) and not one of our own forms."""
    return ":" in name and not name.startswith(BUILT_IN_PREFIXES)


def made(thing: Any) -> Any:
    """An instance: classes are called without arguments, everything else is taken as it is."""
    return thing() if isinstance(thing, type) else thing


def reference_to(thing: Any) -> str | None:
    """Returns `package.module:name` for a module-level function or class, or None.

    Lambdas, closures and whatever lives in `__main__` have no name that another process could import.
    """
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if not module or not name or module == "__main__" or "<" in name or "." in name:
        return None
    loaded = sys.modules.get(module)
    return f"{module}:{name}" if loaded is not None and getattr(loaded, name, None) is thing else None


def nearest(got: str, known: Iterable[str]) -> str:
    """Returns "; did you mean A or B?" for the known names closest to `got`, or an empty string."""
    by_lower = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(got.lower(), by_lower, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(by_lower[match] for match in matches)}?" if matches else ""


def missing_extra(package: str, extra: str) -> InputError:
    """The error for an optional dependency that is not installed."""
    return InputError(f"{package} is not installed; get it with: pip install 'goexplore[{extra}]'")
