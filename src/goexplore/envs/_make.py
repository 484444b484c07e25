"""From an id, a `package.module:name` or a factory to a restorable environment, in any process."""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym

from goexplore.envs._atari import AtariEnv, atari_game_of, atari_games
from goexplore.envs._gymnasium import AUTO, GymnasiumEnv
from goexplore.envs._protocol import RestorableEnv
from goexplore.errors import InputError
from goexplore.plugins import load_object, nearest, reference_to


@dataclass(frozen=True, slots=True)
class EnvSpec:
    """Everything another process needs to build the same environment."""

    id: str
    """A Gymnasium id, an Atari game, or `package.module:name` of a factory or environment class."""
    kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the environment: of `AtariEnv` for Atari, of `gymnasium.make` or the factory otherwise."""
    reset_seed: int = 0
    """Seed of every reset of a Gymnasium environment."""
    return_method: str = AUTO
    """How to return: native, mujoco, copy, replay, or auto. Atari always restores the emulator."""
    factory: Callable[..., Any] | None = None
    """A Python callable in place of an importable id; crosses processes, but cannot be written to a file."""

    def to_json(self) -> dict[str, Any]:
        """As plain values; a callable is left out."""
        return {name: getattr(self, name) for name in ("id", "kwargs", "reset_seed", "return_method")}

    def require_trust(self, what: str, *, by: str, trust: bool) -> None:
        """Refuses third-party code that was named by a file and not by the user.

        Args:
            what: the file and what it has to do with the environment, for example "x.npz is of".
            by: what would run the code, for example "reading it".
            trust: whether the user trusts it.

        Raises:
            InputError: the environment is `package.module:name`, whose import runs code, and not trusted.
        """
        if ":" in self.id and not trust:
            raise InputError(
                f"{what} {self.id}, code that {by} would run; if you trust it, say so with --trust (trust=True from"
                " Python)"
            )


def env_spec(env: str | Callable[..., Any], **settings: Any) -> EnvSpec:
    """Builds a spec from an id or from a callable that returns a new environment.

    A callable is kept by name where it has one that can be imported, so that the run can be resumed
    from the command line.
    """
    if isinstance(env, str):
        return EnvSpec(env, **settings)
    if not callable(env):
        raise InputError(
            f"got an environment object ({type(env).__name__}); give its id, or a function that makes a new"
            " one, because every worker process needs its own"
        )
    reference = reference_to(env)
    if reference is not None:
        return EnvSpec(reference, **settings)
    return EnvSpec(getattr(env, "__name__", repr(env)), factory=env, **settings)


def make_env(spec: EnvSpec, *, render: bool = False) -> RestorableEnv:
    """Builds the environment that a spec describes.

    Args:
        spec: what to build.
        render: whether pictures will be asked for.

    Raises:
        InputError: there is no such environment, or it does not take these arguments.
    """
    if spec.factory is not None:
        return _adapt(_call(spec.factory, spec, render=render), spec)
    rom = atari_game_of(spec.id)
    if rom is not None:
        if "game" in spec.kwargs:
            raise InputError(f"the id {spec.id!r} already names the game: leave out game={spec.kwargs['game']}")
        kwargs = {"game": rom, **spec.kwargs}
        try:
            return AtariEnv(**kwargs)
        except TypeError as error:
            known = [name for name in inspect.signature(AtariEnv).parameters if name != "game"]
            raise InputError(f"Atari environment: {error}; known settings: {', '.join(known)}") from error
    if ":" in spec.id:
        factory = _factory_named(spec.id)
        if factory is not None:
            return _adapt(_call(factory, spec, render=render), spec)
    return _adapt(_make_registered(spec, render=render), spec)


def is_atari(env_id: str) -> bool:
    """Whether an id means an Atari game that ale-py has."""
    return atari_game_of(env_id) is not None


def resolved(spec: EnvSpec, env: RestorableEnv) -> EnvSpec:
    """The spec with `auto` settled, so that every worker returns in the same way."""
    return replace(spec, return_method=getattr(env, "return_method", spec.return_method))


def _factory_named(reference: str) -> Callable[..., Any] | None:
    """`package.module:Name` is a factory if the module has that name; otherwise a registered id."""
    module_name, _, name = reference.partition(":")
    try:
        has_name = hasattr(importlib.import_module(module_name), name)
    except ImportError:
        has_name = True  # let load_object say what is wrong with the module
    factory: Callable[..., Any] | None = load_object(reference, what="environment") if has_name else None
    return factory


def _call(factory: Callable[..., Any], spec: EnvSpec, *, render: bool) -> Any:
    kwargs = dict(spec.kwargs)
    if render and "render_mode" in inspect.signature(factory).parameters:
        kwargs.setdefault("render_mode", "rgb_array")
    try:
        return factory(**kwargs)
    except InputError:
        raise
    except Exception as error:  # whatever a third party's constructor does
        raise InputError(f"environment {spec.id!r} could not be made: {type(error).__name__}: {error}") from error


def _make_registered(spec: EnvSpec, *, render: bool) -> gym.Env[Any, Any]:
    kwargs = dict(spec.kwargs)
    if render:
        kwargs.setdefault("render_mode", "rgb_array")
    if spec.id.startswith("MiniGrid-") or spec.id.startswith("BabyAI-"):
        try:
            importlib.import_module("minigrid")
        except ImportError as error:
            raise InputError("MiniGrid is not installed; get it with: pip install minigrid") from error
    try:
        return gym.make(spec.id, **kwargs)
    except InputError:
        raise
    except (gym.error.NameNotFound, gym.error.NamespaceNotFound, gym.error.VersionNotFound) as error:
        known = list(gym.registry)
        with contextlib.suppress(InputError):
            known += [f"ALE/{camel}-v5" for camel in atari_games()]
        raise InputError(f"there is no environment {spec.id!r}{nearest(spec.id, known)}") from error
    except gym.error.DependencyNotInstalled as error:
        raise InputError(f"environment {spec.id!r} needs a package that is missing: {error}") from error
    except Exception as error:  # whatever a third party's constructor does
        raise InputError(f"environment {spec.id!r} could not be made: {type(error).__name__}: {error}") from error


def _adapt(env: Any, spec: EnvSpec) -> RestorableEnv:
    if isinstance(env, gym.Env):
        return GymnasiumEnv(env, reset_seed=spec.reset_seed, return_method=spec.return_method)
    if isinstance(env, RestorableEnv):
        return env
    raise InputError(
        f"{spec.id!r} made a {type(env).__name__}; expected a gymnasium.Env or an object with the methods of"
        " goexplore.envs.RestorableEnv"
    )
