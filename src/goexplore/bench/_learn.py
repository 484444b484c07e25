"""`bench learn`: steps a second of the whole training loop, beside two programs that people use.

All three play the same game with the same preprocessing and sticky actions, with as many environments, steps, epochs
and minibatches, and a network of the same layers. Each lives in processes of its own and works when it is its turn.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from goexplore.bench._compare import compare
from goexplore.bench._trainees import Trainee, check_seconds, serve, serve_ranks
from goexplore.control import ControlConfig, ControlTraining, control_preset
from goexplore.envs import EnvSpec, atari_game_of
from goexplore.errors import InputError
from goexplore.learn import Ranks, default_ranks, launch
from goexplore.play import AtariView

SINGLE_FILE, SB3 = "single-file PPO", "sb3-contrib"
MEMORY = 128
"""Units of the recurrent layer, here in all programs."""


@dataclass(frozen=True, slots=True)
class LearnBenchmark:
    """Medians over rounds."""

    env: str
    environments: int
    steps: int
    epochs: int
    minibatches: int
    ranks: int
    steps_per_second: float
    """Of ours: agent steps, learning included."""
    single_file_steps_per_second: float
    """Recurrent PPO in the shape of CleanRL's."""
    ratio_to_single_file: float
    ratio_to_single_file_interval: tuple[float, float]
    sb3_steps_per_second: float | None
    """RecurrentPPO of sb3-contrib; None if it is not installed. Its memory is an LSTM, a third more work than a GRU."""
    ratio_to_sb3: float | None
    ratio_to_sb3_interval: tuple[float, float] | None
    ratio_to_fastest_baseline: float
    threads: dict[str, int]
    """Threads with which each of the others was faster, one or one for each core; ours has one in each rank."""


def bench_learn(
    env_id: str = "ALE/MontezumaRevenge-v5",
    *,
    rounds: int = 5,
    seconds: float = 12.0,
    ranks: int | None = None,
    environments: int = 54,
    say: Callable[[str], None] = lambda message: None,
) -> LearnBenchmark:
    """Measures; takes some minutes with the defaults.

    Args:
        env_id: an Atari game.
        rounds: times each measurement is taken.
        seconds: length of one measurement, at most 120; whole iterations are counted.
        ranks: processes that ours trains with; None takes one for each core.
        environments: how many are played at a time.
        say: told how it goes.

    Raises:
        InputError: it is not an Atari game.
    """
    if atari_game_of(env_id) is None:
        raise InputError(f"{env_id}: bench learn compares on Atari games")
    check_seconds(seconds)
    preset = control_preset("laptop", env_id)
    config = replace(preset, network=replace(preset.network, memory=MEMORY), actors=environments)
    used = ranks or default_ranks()
    programs: dict[str, tuple[Callable[..., None], tuple[Any, ...]]] = {
        "ours": (_ours, (env_id, config, used)),
        SINGLE_FILE: (_single_file, (env_id, config)),
    }
    if importlib.util.find_spec("sb3_contrib") is None:
        say("sb3-contrib is not installed, and left out")
    else:
        programs[SB3] = (_sb3, (env_id, config))
    trainees: dict[str, Trainee] = {}
    try:
        threads = {}
        for name, (work, arguments) in programs.items():
            trainees[name] = Trainee(name, work, arguments)
            threads[name] = trainees[name].ready()
            trainees[name].steps_per_second(0.0)  # one iteration to warm up
        ours = trainees["ours"]
        found = {
            name: compare((name, rival), ("ours", ours), rounds=rounds, seconds=seconds, say=say)
            for name, rival in trainees.items()
            if rival is not ours
        }
    finally:
        for trainee in trainees.values():
            trainee.close()
    single, sb3 = found[SINGLE_FILE], found.get(SB3)
    return LearnBenchmark(
        env=env_id,
        environments=environments,
        steps=config.ppo.steps,
        epochs=config.ppo.epochs,
        minibatches=config.ppo.minibatches,
        ranks=used,
        steps_per_second=single.rate,
        single_file_steps_per_second=single.baseline_rate,
        ratio_to_single_file=single.ratio,
        ratio_to_single_file_interval=single.interval,
        sb3_steps_per_second=sb3.baseline_rate if sb3 else None,
        ratio_to_sb3=sb3.ratio if sb3 else None,
        ratio_to_sb3_interval=sb3.interval if sb3 else None,
        ratio_to_fastest_baseline=min(each.ratio for each in found.values()),
        threads=threads,
    )


def _ours(env_id: str, config: ControlConfig, ranks: int) -> None:
    launch(_our_rank, (env_id, config), ranks=ranks)


def _our_rank(ranks: Ranks, env_id: str, config: ControlConfig) -> None:
    serve_ranks(ControlTraining(EnvSpec(env_id), config, seed=0, ranks=ranks), ranks)


def _game(env_id: str, view: AtariView) -> Callable[[], Any]:
    """The same game for the others, through Gymnasium's own preprocessing."""

    def make() -> Any:
        import ale_py
        import gymnasium as gym

        gym.register_envs(ale_py)
        env = gym.make(env_id, frameskip=1, repeat_action_probability=view.sticky)
        env = gym.wrappers.AtariPreprocessing(env, noop_max=view.max_no_ops, screen_size=(view.width, view.height))
        return gym.wrappers.FrameStackObservation(env, view.stack)

    return make


def _single_file(env_id: str, config: ControlConfig) -> None:
    import gymnasium as gym

    from goexplore.bench._single_file_ppo import SingleFilePPO

    assert isinstance(config.view, AtariView)
    make = _game(env_id, config.view)
    program = SingleFilePPO(gym.vector.SyncVectorEnv([make] * config.actors), config.network, config.ppo)
    serve(program.iterate)


def _sb3(env_id: str, config: ControlConfig) -> None:
    import torch
    from sb3_contrib import RecurrentPPO
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from stable_baselines3.common.vec_env import DummyVecEnv
    from torch import nn

    assert isinstance(config.view, AtariView)
    ppo, network = config.ppo, config.network

    class Features(BaseFeaturesExtractor):  # type: ignore[misc]
        """The layers below the memory."""

        def __init__(self, observation_space: Any) -> None:
            super().__init__(observation_space, network.hidden[-1])
            layers: list[nn.Module] = []
            channels = observation_space.shape[0]
            for out, kernel, stride in network.convolutions:
                layers += [nn.Conv2d(channels, out, kernel, stride), nn.ReLU()]
                channels = out
            layers.append(nn.Flatten())
            with torch.no_grad():
                width = nn.Sequential(*layers)(torch.zeros(1, *observation_space.shape)).shape[1]
            units = network.hidden[-1]
            self.layers = nn.Sequential(*layers, nn.Linear(width, units), nn.LayerNorm(units), nn.ReLU())

        def forward(self, observations: Any) -> Any:
            return self.layers(observations)

    model = RecurrentPPO(
        "CnnLstmPolicy",
        DummyVecEnv([_game(env_id, config.view)] * config.actors),
        n_steps=ppo.steps,
        batch_size=ppo.steps * config.actors // ppo.minibatches,
        n_epochs=ppo.epochs,
        learning_rate=ppo.learning_rate,
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip,
        ent_coef=ppo.entropy_coefficient,
        device="cpu",
        policy_kwargs={
            "features_extractor_class": Features,
            "lstm_hidden_size": network.memory,
            "shared_lstm": True,
            "enable_critic_lstm": False,
            "net_arch": [],
        },
    )

    def iterate() -> int:
        model.learn(ppo.steps * config.actors, reset_num_timesteps=False)
        return ppo.steps * config.actors

    serve(iterate)
