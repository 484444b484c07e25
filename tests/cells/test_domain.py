"""Cells from knowledge of a game, read from pixels and checked against the emulator's memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scripts.check_classifiers import PITFALL_ROOMS, walk

from goexplore.cells import MontezumaCells, PitfallCells, cell_key, domain_cells, make_cells
from goexplore.envs import AtariEnv
from goexplore.errors import InputError
from goexplore.exploration import start_episode

DATA = Path(__file__).parent.parent / "data"
pytestmark = pytest.mark.atari


def play(env: AtariEnv, cells, steps: int, seed: int):
    """Plays at random; yields memory one frame before the picture and with it, since pictures lag behind."""
    rng = np.random.default_rng(seed)
    start_episode(env, cells)
    for action in env.action_space.sample_repeating(rng, steps, 0.95):
        ended = False
        for frame in range(4):
            observation, _, terminated, truncated, _ = env.step(int(action))
            ended = ended or terminated or truncated
            if frame == 2:
                before = env.ram.copy()
        if ended:
            return
        key = cells.key(observation, env)
        yield key, before, env.ram


def single_frames(game: str) -> AtariEnv:
    return AtariEnv(game, frame_skip=1, observation="palette")


def test_montezuma_agrees_with_memory():
    env, cells = single_frames("montezuma_revenge"), MontezumaCells()
    steps = rooms = places = 0
    for seed in range(12):
        for key, before, now in play(env, cells, 400, seed):
            reading = cells.describe(key)
            steps += 1
            rooms += reading["room"] in (before[3], now[3])
            places += abs(reading["x"] - (before[42] + 2) // 8) <= 1
            assert reading["level"] == before[57]
            assert len(reading["keys"]) == bin(before[65] & 0b11110).count("1")
    assert steps > 2_000
    assert rooms >= 0.999 * steps
    assert places >= 0.99 * steps


def test_pitfall_agrees_with_memory():
    env, cells, numbers = single_frames("pitfall"), PitfallCells(), PITFALL_ROOMS
    steps = rooms = places = 0
    seen = set()
    for seed in range(8):
        for key, _, now in play(env, cells, 400, seed):
            reading = cells.describe(key)
            steps += 1
            seen.add(reading["room"])
            rooms += reading["room"] == numbers[int(now[1])]
            places += abs(reading["x"] - (now[97] + 3) // 8) <= 1
    assert len(seen) > 3
    assert rooms == steps
    assert places >= 0.99 * steps


def test_pitfall_player_waits_above_the_screen_once_a_life_is_gone():
    cells, two_lives = PitfallCells(), screen_with_face(100, 70)
    two_lives[22, [21, 23]] = 7
    cells.look_at(two_lives)
    sunk = np.where(two_lives == 0x4A, 2, two_lives).astype(np.uint8)
    cells.look_at(sunk)
    assert cells.place.x > 99
    sunk[22, 23] = 2
    cells.look_at(sunk)
    assert cells.place.x < 30


def test_pitfall_passages_underground_count_three_rooms():
    cells = PitfallCells()
    cells.look_at(screen_with_face(5, 111))
    cells.look_at(screen_with_face(152, 111))
    assert cells.room == 252
    cells.look_at(screen_with_face(8, 111))
    assert cells.room == 0
    cells.look_at(screen_with_face(152, 56))
    assert cells.room == 254


def screen_with_face(x: int, y: int, background: int = 2) -> np.ndarray:
    screen = np.full((210, 160), background, np.uint8)
    screen[50 + y, x : x + 2] = 0x4A
    return screen


def blank_screen() -> np.ndarray:
    return np.zeros((210, 160), np.uint8)


def test_montezuma_rooms_follow_the_edges():
    cells = MontezumaCells()
    cells.look_at(screen_with_face(150, 30))
    cells.look_at(screen_with_face(4, 30))
    assert cells.room == 2
    cells.look_at(screen_with_face(78, 130))
    cells.look_at(screen_with_face(78, 14))
    assert cells.room == 6


def test_montezuma_moves_on_while_the_screen_is_blank():
    cells = MontezumaCells()
    cells.look_at(screen_with_face(6, 30))
    cells.look_at(blank_screen())
    assert cells.room == 0
    cells.look_at(screen_with_face(152, 30))
    assert cells.room == 0, "the room was counted twice"


def test_an_impossible_reading_changes_nothing():
    cells = MontezumaCells()
    cells.look_at(screen_with_face(78, 12))
    cells.look_at(screen_with_face(78, 130))  # there is no room above the first row
    assert cells.room == 1
    for garbage in (np.full((210, 160), 0x4A, np.uint8), blank_screen(), screen_with_face(0, 0)):
        cells.look_at(garbage)
        assert cells.room in range(24)


def test_death_may_put_the_player_back_into_the_room_he_came_from():
    cells = MontezumaCells()
    cells.look_at(screen_with_face(150, 30, background=2))
    cells.look_at(screen_with_face(4, 30, background=8))
    assert cells.room == 2
    for _ in range(5):
        cells.look_at(np.full((210, 160), 8, np.uint8))  # dead
    cells.look_at(screen_with_face(152, 30, background=2))
    assert cells.room == 1
    for _ in range(5):
        cells.look_at(np.full((210, 160), 2, np.uint8))
    cells.look_at(screen_with_face(80, 30, background=2))
    assert cells.room == 1


def test_the_treasure_room_leads_to_the_next_level():
    """Memory is altered to get there: nothing else does in a few seconds."""
    env, cells = single_frames("montezuma_revenge"), MontezumaCells()
    start_episode(env, cells)
    for _ in range(10):
        cells.key(env.step(0)[0], env)
    env._ale.setRAM(3, 16)
    env._ale.setRAM(42, 12)
    cells.room = 16
    left = env.action_names.index("LEFT")
    rooms = []
    for step in range(300):
        for _ in range(4):
            observation = env.step(left if step < 10 else 0)[0]
        cells.key(observation, env)
        rooms.append((cells.level, cells.room))
        assert cells.level == env.ram[57]
    assert dict.fromkeys(rooms) == dict.fromkeys([(0, 16), (0, 15), (1, 1)])


@pytest.mark.parametrize("name", ["montezuma", "pitfall"])
def test_what_is_tracked_travels_in_snapshots(name):
    env = AtariEnv({"montezuma": "montezuma_revenge"}.get(name, name), observation="palette")
    cells, other = make_cells(name), make_cells(name)
    rng = np.random.default_rng(3)
    start_episode(env, cells)
    for action in env.action_space.sample_repeating(rng, 200, 0.95):
        cells.key(env.step(int(action))[0], env)
    snapshot, state = env.snapshot(), cells.save()
    actions = env.action_space.sample_repeating(rng, 100, 0.95).tolist()
    keys = [cell_key(cells, env.step(action)[0], env) for action in actions]
    env.restore(snapshot)
    other.load(state)
    assert [cell_key(other, env.step(action)[0], env) for action in actions] == keys


def test_keys_remember_where_they_were_found():
    cells = MontezumaCells()
    screen = screen_with_face(78, 30)
    screen[28:43, 56:104] = 0
    cells.look_at(screen)
    assert cells.keys == ()
    screen[28:36, 56:61] = 15  # forty pixels in the first place
    cells.look_at(screen)
    assert cells.keys == (1,)
    cells.look_at(blank := screen.copy())
    blank[28:43, 56:104] = 0
    cells.look_at(blank)
    assert cells.keys == ()


def test_other_observations_are_refused_with_the_remedy():
    env = AtariEnv("montezuma_revenge")
    with pytest.raises(InputError, match="observation=palette"):
        MontezumaCells().key(env.reset(), env)


def test_games_that_nobody_knows():
    assert domain_cells("pitfall") == "pitfall"
    with pytest.raises(InputError, match="montezuma_revenge, pitfall, goexplore/FetchShelves-v0 only"):
        domain_cells("pong")


def test_palette_pictures_have_the_emulators_colours():
    env = AtariEnv("pitfall", observation="palette")
    env.reset()
    for _ in range(20):
        observation = env.step(3)[0]
    assert np.array_equal(env.to_rgb(observation), env.render())


@pytest.mark.parametrize(
    ("game", "rooms", "exact"), [("montezuma_revenge", 15, ("level", "keys")), ("pitfall", 60, ())]
)
def test_walks_through_many_rooms_agree_with_memory(game, rooms, exact):
    """Trajectories that searches found, deaths included; `scripts/check_classifiers.py --save` wrote them."""
    with np.load(DATA / f"{game}_walks.npz") as walks:
        results = [walk(game, actions) for actions in walks.values()]
    agreed = sum((one for one, _ in results), Counter())
    assert len(set().union(*(visited for _, visited in results))) >= rooms
    assert agreed["room"] >= 0.999 * agreed["steps"]
    assert agreed["position"] >= 0.99 * agreed["steps"]
    for name in exact:
        assert agreed[name] == agreed["steps"]


def test_the_treasure_room_is_known_though_it_is_still_being_drawn():
    """The first picture of it shows neither the player nor a blank; a search then took it for the room beside it."""
    with np.load(DATA / "montezuma_treasure_walk.npz") as walks:
        agreed, rooms = walk("montezuma_revenge", walks["walk0"])
    assert 15 in rooms
    assert agreed["room"] >= 0.999 * agreed["steps"]
