"""A policy on disk, and in a few lines of anybody's code.

    policy = Policy.load("runs/mz-policy")
    play = policy.make_play(seed=0)             # the game as it was trained on: sticky actions, preprocessing
    player = policy.player(seed=0)
    play.reset()
    reward, over = play.step(player.act(play.observation))

`NAME.safetensors` holds the parameters, `NAME.json` everything needed to use them. Reading both runs no code.
"""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from goexplore.envs import EnvSpec
from goexplore.errors import InputError
from goexplore.learn import ActorCritic, NetworkConfig, Spaces
from goexplore.play import Play, View, make_play, view_from_json, view_to_json
from goexplore.plugins import missing_extra
from goexplore.runs import read_json, write_atomically, write_json

FORMAT, FORMAT_VERSION = "goexplore-policy", 1
TOLD_GOALS = "told_goals"
"""In `about`: the attributes of the goals that a policy is told beside what it sees."""


@dataclass(slots=True, eq=False)
class Policy:
    """A network, and the game it plays."""

    network: ActorCritic
    env: EnvSpec
    view: View
    about: dict[str, Any] = field(default_factory=dict)
    """Where it comes from, for people."""

    def make_play(self, *, seed: int | np.random.SeedSequence = 0, render: bool = False) -> Play:
        """The game as the policy was trained on it."""
        return make_play(self.env, self.view, np.random.default_rng(seed), render=render)

    def player(self, *, seed: int = 0, temperature: float = 1.0) -> Player:
        """Somebody who plays one game, with a memory of its own.

        Raises:
            InputError: the policy has to be told where to go.
        """
        self.require_no_goals()
        return Player(self.network, seed=seed, temperature=temperature)

    def require_no_goals(self) -> None:
        """Refuses a policy that has to be told where to go.

        Raises:
            InputError: it is one.
        """
        if TOLD_GOALS in self.about:
            raise InputError(
                "this policy has to be told where to go: test returns with goexplore evaluate and its run folder, or"
                " play with goexplore.policy_based"
            )

    def save(self, path: Path) -> Path:
        """Writes `path`.safetensors and `path`.json, each whole or not at all."""
        write_json(
            path.with_suffix(".json"),
            {
                "format": FORMAT,
                "format_version": FORMAT_VERSION,
                "env": self.env.to_json(),
                "view": view_to_json(self.view),
                "network": dataclasses.asdict(self.network.config),
                "spaces": dataclasses.asdict(self.network.spaces),
                "about": self.about,
            },
        )
        # Last, because this is the file that is looked for.
        parameters = {name: value.contiguous().cpu() for name, value in self.network.state_dict().items()}
        data = _safetensors().torch.save(parameters)
        target = path.with_suffix(".safetensors")
        write_atomically(target, lambda file: file.writelines([data]))
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, trust: bool = False) -> Policy:
        """Reads a policy.

        Args:
            path: a .safetensors file, or a run folder, whose newest policy is taken.
            trust: allow it to name an environment of third parties (`package.module:name`), whose import runs code.

        Raises:
            InputError: it is missing, damaged, or of another version.
        """
        path = find_policy(path)
        about = read_json(path.with_suffix(".json"))
        try:
            if about["format"] != FORMAT or about["format_version"] != FORMAT_VERSION:
                raise InputError(
                    f"{path.with_suffix('.json')} is a {about['format']} of version {about['format_version']}, and"
                    f" expected was a {FORMAT} of version {FORMAT_VERSION}"
                )
            spaces = dict(about["spaces"])
            spaces |= {name: tuple(value) for name, value in spaces.items() if isinstance(value, list)}
            network = ActorCritic(NetworkConfig.from_json(about["network"]), Spaces(**spaces))
            network.load_state_dict(_safetensors().torch.load(path.read_bytes()))
            made = cls(network, EnvSpec(**about["env"]), view_from_json(about["view"]), dict(about["about"]))
        except (KeyError, TypeError, ValueError, RuntimeError, OSError, json.JSONDecodeError) as error:
            raise InputError(f"the policy {path} is damaged ({type(error).__name__}: {error})") from error
        except _safetensors().SafetensorError as error:
            raise InputError(f"the policy {path} is damaged ({error})") from error
        made.env.require_trust(f"{path} plays", by="using it", trust=trust)
        network.eval()
        return made


class Player:
    """Plays one game after another with a policy.

    Args:
        network: what it knows.
        seed: seed of its choices.
        temperature: 1 plays as trained; lower is more decided, 0 takes the likeliest action.
    """

    def __init__(self, network: ActorCritic, *, seed: int = 0, temperature: float = 1.0) -> None:
        self._network, self._temperature = network, temperature
        self._generator = torch.Generator().manual_seed(seed)
        self.reset()

    def reset(self) -> None:
        """Forgets the game so far."""
        self._state, self._first = self._network.initial_state(1), torch.ones(1, dtype=torch.bool)

    @torch.no_grad()
    def act(self, observation: NDArray[Any]) -> Any:
        """Chooses an action."""
        output = self._network.act(torch.from_numpy(np.array(observation))[None], self._state, self._first)
        self._state, self._first = output.state, torch.zeros(1, dtype=torch.bool)
        if self._temperature == 0:
            return output.policy.mode()[0].numpy()
        return output.policy.at_temperature(self._temperature).sample(self._generator)[0].numpy()


def find_policy(path: str | os.PathLike[str]) -> Path:
    """The file that is meant: itself, or the newest of a run.

    Raises:
        InputError: there is none.
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(path.glob("policies/*.safetensors")) or sorted(path.glob("*.safetensors"))
        if not files:
            raise InputError(f"there is no policy in {path} yet")
        return files[-1]
    if not path.exists():
        raise InputError(f"there is no policy {path}")
    return path


def _safetensors() -> Any:
    try:
        import safetensors
        import safetensors.torch
    except ImportError as error:
        raise missing_extra("safetensors (policies on disk)", "learn") from error
    return safetensors
