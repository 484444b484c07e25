"""`bench policy`: steps a second of policy-based Go-Explore, beside plain PPO with the same network and batch.

Actors that replay for self-imitation fill rows of the batch and take no steps of the game; plain PPO plays in those
rows as well, so that a ratio of 1 is out of reach.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from goexplore.bench._compare import compare
from goexplore.bench._trainees import Trainee, check_seconds, serve_ranks
from goexplore.control import ControlConfig, ControlTraining, control_preset
from goexplore.envs import EnvSpec
from goexplore.learn import Ranks, default_ranks, launch
from goexplore.policy_based import PolicyConfig, PolicyTraining, goals_of, policy_preset

WARM_UP = 2
"""Iterations before anything is measured, so that there is something to return to."""


@dataclass(frozen=True, slots=True)
class PolicyBenchmark:
    """Medians over rounds."""

    env: str
    cells: str
    actors: int
    imitators: int
    ranks: int
    steps_per_second: float
    """Of policy-based Go-Explore: agent steps of the game, learning and the archive included."""
    ppo_steps_per_second: float
    ratio_to_ppo: float
    ratio_to_ppo_interval: tuple[float, float]


def bench_policy(
    env_id: str = "ALE/MontezumaRevenge-v5",
    *,
    cells: str | None = None,
    rounds: int = 5,
    seconds: float = 12.0,
    ranks: int | None = None,
    say: Callable[[str], None] = lambda message: None,
) -> PolicyBenchmark:
    """Measures, with the preset `laptop`.

    Args:
        env_id: the environment.
        cells: its cells, by name; None takes those that are known for the game.
        rounds: times each measurement is taken.
        seconds: length of one measurement, at most 120; whole iterations are counted.
        ranks: processes that both train with; None takes one for each core.
        say: told how it goes.

    Raises:
        InputError: there are no cells for the environment.
    """
    check_seconds(seconds)
    config, named, used = policy_preset("laptop", env_id), goals_of(env_id, cells), ranks or default_ranks()
    plain = replace(control_preset("laptop", env_id, beside="policy"), cells=None)
    trainees: list[Trainee] = []
    try:
        for name, work, arguments in (
            ("plain PPO", _plain, (env_id, plain, used)),
            ("policy-based", _ours, (env_id, named, config, used)),
        ):
            trainees.append(Trainee(name, work, arguments))
            trainees[-1].ready()
            for _ in range(WARM_UP):
                trainees[-1].steps_per_second(0.0)
        baseline, ours = trainees
        found = compare(("plain PPO", baseline), ("ours", ours), rounds=rounds, seconds=seconds, say=say)
    finally:
        for trainee in trainees:
            trainee.close()
    return PolicyBenchmark(
        env=env_id,
        cells=named,
        actors=config.actors,
        imitators=config.imitators,
        ranks=used,
        steps_per_second=found.rate,
        ppo_steps_per_second=found.baseline_rate,
        ratio_to_ppo=found.ratio,
        ratio_to_ppo_interval=found.interval,
    )


def _ours(env_id: str, cells: str, config: PolicyConfig, ranks: int) -> None:
    launch(_our_rank, (env_id, cells, config), ranks=ranks)


def _our_rank(ranks: Ranks, env_id: str, cells: str, config: PolicyConfig) -> None:
    serve_ranks(PolicyTraining(EnvSpec(env_id), cells, config, seed=0, ranks=ranks), ranks)


def _plain(env_id: str, config: ControlConfig, ranks: int) -> None:
    launch(_plain_rank, (env_id, config), ranks=ranks)


def _plain_rank(ranks: Ranks, env_id: str, config: ControlConfig) -> None:
    serve_ranks(ControlTraining(EnvSpec(env_id), config, seed=0, ranks=ranks), ranks)
