"""How to act after returning to a cell (Methods, "Exploration phase")."""

from __future__ import annotations

from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from goexplore.envs import ActionSpace, repeating
from goexplore.errors import InputError
from goexplore.plugins import load_object, made

MIXED_SHARE = 0.5
"""Rollouts of `mixed` in which actions are repeated, and of `partial` in which numbers are uniform."""
REDRAWN_SHARE = 0.5
"""Numbers of an action that `partial` draws anew when it changes."""


class Explorer(Protocol):
    """Chooses actions after the return. All randomness comes from the generator it is given.

        explorer.begin(rng, action_space, observation, steps)
        for _ in range(steps):
            action = explorer.act(observation)
            observation, ... = env.step(action)

    One explorer serves many rollouts: `begin` forgets the one before.
    """

    def begin(self, rng: np.random.Generator, action_space: ActionSpace, observation: Any, steps: int) -> None:
        """Prepares for a rollout of at most `steps` steps."""

    def act(self, observation: Any) -> Any:
        """Returns the next action: an int, or an array of the action space's shape."""


class RandomExplorer:
    """Uniform random actions, each repeated with a fixed probability.

    Args:
        repeat_probability: probability of taking the previous action again. 0 is pure random.
    """

    def __init__(self, repeat_probability: float = 0.95) -> None:
        self._repeat_probability = repeat_probability
        self._actions: list[Any] = []

    def begin(self, rng: np.random.Generator, action_space: ActionSpace, observation: Any, steps: int) -> None:
        """Draws the whole rollout at once; the action that led to the cell is not continued."""
        self._draw(rng, action_space, steps, self._repeat_probability)

    def _draw(self, rng: np.random.Generator, action_space: ActionSpace, steps: int, repeat_probability: float) -> None:
        actions = action_space.sample_repeating(rng, steps, repeat_probability)
        scalars = action_space.discrete and action_space.shape == ()
        self._actions = (actions.tolist() if scalars else list(actions))[::-1]

    def act(self, observation: Any) -> Any:
        """Returns the next of the drawn actions."""
        return self._actions.pop()


class MixedExplorer(RandomExplorer):
    """Rollouts with repeated actions, and as many without.

    Holding an action goes far; changing it all the time is what scores in games of reaction.
    """

    def begin(self, rng: np.random.Generator, action_space: ActionSpace, observation: Any, steps: int) -> None:
        """Draws which kind of rollout it is, then the whole rollout."""
        self._draw(rng, action_space, steps, self._repeat_probability if rng.random() < MIXED_SHARE else 0.0)


class TanhNormalExplorer(RandomExplorer):
    """Numbers drawn as tanh(2 N(0, 1)), scaled to the action's bounds: mostly near one bound or the other.

    What the authors' code does with the robot, where the paper says uniform.
    """

    def begin(self, rng: np.random.Generator, action_space: ActionSpace, observation: Any, steps: int) -> None:
        """Draws the whole rollout at once.

        Raises:
            InputError: actions are choices.
        """
        fresh = _near_bounds("tanh-normal", rng, action_space, steps)
        self._actions = list(repeating(fresh, rng, self._repeat_probability))
        self._actions.reverse()


class PartialExplorer(RandomExplorer):
    """When an action changes, each of its numbers does so with a probability of a half.

    A hand may stay closed while the arm turns. Numbers are uniform in half of the rollouts, and as
    `TanhNormalExplorer` draws them in the others.
    """

    def begin(self, rng: np.random.Generator, action_space: ActionSpace, observation: Any, steps: int) -> None:
        """Draws the whole rollout at once.

        Raises:
            InputError: actions are choices.
        """
        fresh = _near_bounds("partial", rng, action_space, steps)
        if rng.random() < MIXED_SHARE:
            fresh = action_space.sample(rng, steps)
        changes = rng.random((steps, *[1] * len(action_space.shape))) >= self._repeat_probability
        changed = changes & (rng.random(fresh.shape) < REDRAWN_SHARE)
        changed[0] = True
        numbers = np.arange(steps).reshape(changes.shape)
        latest = np.maximum.accumulate(np.where(changed, numbers, 0), axis=0)
        self._actions = list(np.take_along_axis(fresh, latest, axis=0))
        self._actions.reverse()


def _near_bounds(name: str, rng: np.random.Generator, action_space: ActionSpace, steps: int) -> NDArray[Any]:
    if action_space.discrete:
        raise InputError(f"explorer {name!r}: expected actions that are numbers, and got choices")
    fresh = np.tanh(2.0 * rng.standard_normal((steps, *action_space.shape)))
    middle, half = (action_space.high + action_space.low) / 2.0, (action_space.high - action_space.low) / 2.0
    drawn: NDArray[Any] = (middle + half * fresh).astype(action_space.dtype)
    return drawn


EXPLORERS: dict[str, type[RandomExplorer]] = {
    "random": RandomExplorer,
    "mixed": MixedExplorer,
    "tanh-normal": TanhNormalExplorer,
    "partial": PartialExplorer,
}


def make_explorer(explorer: str | Explorer, *, repeat_probability: float) -> Explorer:
    """Returns the explorer of that name (`EXPLORERS`, "pure-random", `package.module:name`), or the object."""
    if not isinstance(explorer, str):
        return _own(explorer)
    if explorer in EXPLORERS:
        return EXPLORERS[explorer](repeat_probability)
    if explorer == "pure-random":
        return RandomExplorer(0.0)
    if ":" not in explorer:
        raise InputError(
            f"explorer {explorer!r}: expected {', '.join(EXPLORERS)}, pure-random or package.module:name of your own"
        )
    return _own(load_object(explorer, what="explorer"))


def _own(explorer: Any) -> Explorer:
    return cast(Explorer, made(explorer, what="explorer", methods=("begin", "act")))
