"""`bench learn`: steps a second of the whole training loop, beside two programs that people use.

All three play the same game with the same preprocessing and sticky actions, with as many environments, steps, epochs
and minibatches, and a network of the same layers. Each lives in processes of its own and works when it is its turn.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

from goexplore.bench._compare import compare
from goexplore.control import ControlConfig, ControlTraining, control_preset
from goexplore.envs import EnvSpec, atari_game_of
from goexplore.errors import GoExploreError, InputError
from goexplore.executors import available_cores
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
    if not 0 <= seconds <= 120:  # the others wait meanwhile, and not for ever
        raise InputError(f"seconds {seconds:g}: expected at most 120")
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
    trainees: dict[str, _Trainee] = {}
    try:
        threads = {}
        for name, (work, arguments) in programs.items():
            trainees[name] = _Trainee(name, work, arguments)
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


class _Trainee:
    """A program in processes of its own that trains when asked to, and waits otherwise."""

    def __init__(self, name: str, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        context = multiprocessing.get_context("spawn")
        self._name = name
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_begin, args=(work, theirs, arguments))
        self._process.start()
        theirs.close()

    def ready(self) -> int:
        """Waits until it is set up; returns the threads it computes with."""
        return int(self._answer())

    def steps_per_second(self, seconds: float) -> float:
        """Lets it train for some seconds, at least one iteration."""
        self._connection.send(seconds)
        return self._answer()

    def _answer(self) -> float:
        try:
            answer: float = self._connection.recv()
        except (EOFError, OSError) as error:
            raise GoExploreError(f"{self._name} has ended; its own message is above") from error
        return answer

    def close(self) -> None:
        """Ends it."""
        self._connection.close()
        self._process.join(timeout=20)
        if self._process.is_alive():
            self._process.terminate()


class _Orders:
    """In the process of a trainee: its connection. Not an argument, because `launch` would send it to all ranks."""

    connection: Connection

    @classmethod
    def next(cls) -> float | None:
        """For how many seconds to train; None when there are no more orders."""
        try:
            seconds: float = cls.connection.recv()
        except EOFError:
            return None
        return seconds

    @classmethod
    def answer(cls, number: float) -> None:
        """How fast it was, or with how many threads it is ready."""
        cls.connection.send(number)


def _begin(work: Callable[..., None], connection: Connection, arguments: tuple[Any, ...]) -> None:
    _Orders.connection = connection
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # all of them compute on the same processors
    work(*arguments)


def _serve(iterate: Callable[[], int]) -> None:
    _Orders.answer(_better_threads(iterate))
    while (seconds := _Orders.next()) is not None:
        begin, steps = time.perf_counter(), 0
        while not steps or time.perf_counter() - begin < seconds:
            steps += iterate()
        _Orders.answer(steps / (time.perf_counter() - begin))


def _better_threads(iterate: Callable[[], int]) -> int:
    """Sets the number of threads with which an iteration is faster: one, or one for each core."""
    import torch

    took = {}
    for threads in {1, available_cores()}:
        torch.set_num_threads(threads)
        iterate()
        begin = time.perf_counter()
        iterate()
        took[threads] = time.perf_counter() - begin
    best = min(took, key=lambda threads: took[threads])
    torch.set_num_threads(best)
    return best


def _ours(env_id: str, config: ControlConfig, ranks: int) -> None:
    launch(_our_rank, (env_id, config), ranks=ranks)


def _our_rank(ranks: Ranks, env_id: str, config: ControlConfig) -> None:
    training = ControlTraining(EnvSpec(env_id), config, seed=0, ranks=ranks)
    if ranks.leads:
        _Orders.answer(1)
    while (seconds := ranks.agree(_Orders.next() if ranks.leads else None)) is not None:
        begin, steps, going = time.perf_counter(), training.steps, True
        while going:
            training.iterate(done=0.0)
            going = ranks.agree(time.perf_counter() - begin < seconds)
        if ranks.leads:
            _Orders.answer((training.steps - steps) / (time.perf_counter() - begin))


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
    _serve(program.iterate)


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

    _serve(iterate)
