"""The busy highway and its overpass."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import check_env

from goexplore.envs.highway import HEIGHT, MAP, WIDTH, Highway

NORTH, EAST, SOUTH, WEST = range(4)


def crosses(env, moves, seed: int) -> bool:
    env.reset(seed=seed)
    return not any(env.step(move)[2] for move in moves)


def test_it_passes_gymnasiums_checker():
    check_env(gym.make("goexplore/Highway-v0").unwrapped, skip_render_check=True)


def test_the_way_across_is_a_matter_of_luck_and_the_overpass_is_safe():
    env = Highway()
    lanes = sum("=" in row for row in MAP)
    straight = [NORTH] * (HEIGHT - 1)
    lucky = np.mean([crosses(env, straight, seed) for seed in range(2000)])
    assert abs(lucky - 0.75**lanes) < 0.03
    around = [EAST] * (WIDTH - 2) + [NORTH] * (HEIGHT - 1) + [WEST] * (WIDTH - 2)
    assert all(crosses(env, around, seed) for seed in range(50))
    assert MAP[env.y][env.x] == "G"


def test_a_saved_state_has_the_same_cars_ahead():
    env, other = Highway(), Highway()
    env.reset(seed=3)
    for move in (NORTH, NORTH):
        env.step(move)
    other.reset(seed=4)
    other.set_state(env.get_state())
    for _ in range(20):
        one, same = env.step(EAST), other.step(EAST)
        np.testing.assert_array_equal(one[0], same[0])
        assert one[1:] == same[1:]


def test_it_is_drawn():
    assert Highway(render_mode="rgb_array").render().shape == (16 * HEIGHT, 16 * WIDTH, 3)
