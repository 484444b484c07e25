"""Third-party objects by name: `package.module:name` to the thing it names, and back."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Iterable, Sequence
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
    if module_name.endswith(".py"):
        raise InputError(f"{what} {reference!r}: give the module's name, without .py")
    if not module_name or not name:
        raise InputError(f"{what} {reference!r} should look like package.module:name")
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever a third party's module does when it is imported
        raise InputError(f"{what} {reference!r} cannot be imported: {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        hint = nearest(name, vars(module))
        raise InputError(f"{what} {reference!r}: module {module_name!r} has no {name!r}{hint}")
    return getattr(module, name)


def import_paths() -> str:
    """Where this process imports from, for the PYTHONPATH of another one."""
    return os.pathsep.join(os.path.abspath(path) for path in sys.path)


def made(thing: Any, *, what: str, methods: Sequence[str]) -> Any:
    """An instance: classes are called without arguments, everything else is taken as it is.

    Raises:
        InputError: it lacks one of the methods.
    """
    instance = thing() if isinstance(thing, type) else thing
    if not all(callable(getattr(instance, name, None)) for name in methods):
        raise InputError(f"{what} {thing!r}: expected a class or an object with {' and '.join(methods)}")
    return instance


def reference_to(thing: Any) -> str | None:
    """Returns `package.module:name` for a module-level function or class, or None.

    Lambdas, closures and whatever lives in `__main__` have no name that another process could import.
    """
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if not module or not name or module == "__main__" or "<" in name or "." in name:
        return None
    loaded = sys.modules.get(module)
    return f"{module}:{name}" if loaded is not None and getattr(loaded, name, None) is thing else None


def named(part: Any) -> Any:
    """A function or class by its importable name where it has one, so that anyone can resume a run that uses it."""
    return part if part is None or isinstance(part, str) else reference_to(part) or part


def nearest(got: str, known: Iterable[str]) -> str:
    """Returns "; did you mean A or B?" for the known names closest to `got`, or an empty string."""
    by_lower = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(got.lower(), by_lower, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(by_lower[match] for match in matches)}?" if matches else ""


def missing_extra(package: str, extra: str) -> InputError:
    """The error for an optional dependency that is not installed."""
    return InputError(f"{package} is not installed; get it with: pip install 'goexplore[{extra}]'")
