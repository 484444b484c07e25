"""Games as policies play them: frames counted, sticky actions as the emulator's own, exact restores."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch")

from goexplore.cells import make_cells
from goexplore.envs import AtariEmulator, EnvSpec, make_env
from goexplore.errors import InputError
from goexplore.play import AtariPlay, AtariView, PlainView, flattened, make_play

SMALL = AtariView(width=64, height=64, gray=True)
MEMORY = AtariView(memory=True, stack=2)
MAZE = "goexplore/KeyDoorMaze-v0"


def montezuma(view=SMALL, seed=0) -> AtariPlay:
    return make_play(EnvSpec("ALE/MontezumaRevenge-v5"), view, np.random.default_rng(seed))


@pytest.mark.atari
@pytest.mark.parametrize("noise", [True, False])
@pytest.mark.parametrize("game", ["montezuma_revenge", "venture"])
def test_a_step_is_four_raw_frames_on_every_path(game, noise):
    play = make_play(EnvSpec(game), SMALL, np.random.default_rng(0))
    frames = lambda: play._emulator.episode_frames  # noqa: E731
    play.reset()
    before = frames()
    take = play.step if noise else play.replay
    take(1)
    assert frames() - before == 4
    play.restore(play.snapshot())
    take(2)
    assert frames() - before == 8
    play.do_nothing(7)
    assert frames() - before == 15
    play.reset(no_ops=30)
    assert frames() - before == 30


@pytest.mark.atari
def test_memory_is_seen_bit_by_bit_newest_last():
    play = montezuma(MEMORY)
    start = np.unpackbits(play._emulator.ram)
    assert play.spaces.observation_shape == (2 * 1024,)
    np.testing.assert_array_equal(play.observation, np.tile(start, 2) * 255)
    play.do_nothing(4)
    np.testing.assert_array_equal(play.observation[:1024], start * 255)
    np.testing.assert_array_equal(play.observation[1024:], np.unpackbits(play._emulator.ram) * 255)
    assert (play.observation[:1024] != play.observation[1024:]).any()


@pytest.mark.atari
@pytest.mark.parametrize("game", ["montezuma_revenge", "berzerk"])
@pytest.mark.parametrize("pool_frames", [1, 2])
def test_policies_play_from_the_start_that_searches_explore_from(game, pool_frames):
    """Berzerk starts itself with actions that are held for a frame skip, so that its start depends on it."""
    env = make_env(EnvSpec(game, {"pool_frames": pool_frames}))
    play = make_play(EnvSpec(game), SMALL, np.random.default_rng(0))
    screen = np.zeros((210, 160), np.uint8)
    for _ in range(2):
        first = env.reset().copy()
        play.reset()
        if not screen.any():
            play._emulator.read(screen)
            np.testing.assert_array_equal(screen, first)
        for _ in range(40):
            assert play.fingerprint() == env.fingerprint()
            play.replay(4)
            env.step(4)
    np.testing.assert_array_equal(make_env(EnvSpec(game)).reset(), first)


@pytest.mark.atari
@pytest.mark.parametrize("game", ["montezuma_revenge", "tetris"])
def test_a_start_that_was_made_before_is_as_good_as_new(game):
    """After any number of frames of doing nothing; the cell is read from the screen, which is stale after a restore."""
    used, cells = make_play(EnvSpec(game), SMALL, np.random.default_rng(0)), make_cells("downscale:8x8x8")
    for no_ops in (0, 1, 4, 5, 30, 30, 5, 4, 1, 0):
        new = make_play(EnvSpec(game), SMALL, np.random.default_rng(0))
        for play in (used, new):
            play.reset(no_ops)
        for action in (2, 3, 4):
            np.testing.assert_array_equal(used.observation, new.observation)
            assert used.fingerprint() == new.fingerprint()
            assert used.cell_key(cells) == new.cell_key(cells)
            assert used.replay(action) == new.replay(action)


@pytest.mark.atari
@pytest.mark.parametrize("view", [SMALL, MEMORY])
def test_a_restored_game_shows_and_does_what_it_would_have(view):
    play, other = montezuma(view), montezuma(view, seed=1)
    actions = np.random.default_rng(0).integers(18, size=80)
    play.reset(no_ops=5)
    for action in actions[:40]:
        play.step(action)
    seen, snapshot = play.observation.copy(), play.snapshot()
    other.reset()
    other.restore(snapshot)
    np.testing.assert_array_equal(other.observation, seen)
    for action in actions[40:]:
        assert play.replay(action) == other.replay(action)
        np.testing.assert_array_equal(play.observation, other.observation)
        assert play.fingerprint() == other.fingerprint()


@pytest.mark.atari
@pytest.mark.parametrize("game", ["solaris", "tennis"])
def test_a_reset_is_the_same_whatever_came_before(game):
    """Also where the first thing that ever happened was a restore."""
    fresh, used = (make_play(EnvSpec(game), SMALL, np.random.default_rng(seed)) for seed in range(2))
    fresh.reset()
    for action in np.random.default_rng(0).integers(fresh.spaces.choices, size=60):
        fresh.step(action)
    used.restore(fresh.snapshot())
    used.step(1)
    used.reset()
    fresh.reset()
    for _ in range(30):
        assert used.replay(2) == fresh.replay(2)
        assert used.fingerprint() == fresh.fingerprint()


@pytest.mark.atari
def test_the_last_action_travels_with_a_snapshot():
    """A sticky first step repeats the action before the snapshot, in whichever emulator."""
    always = AtariView(width=8, height=8, gray=True, sticky=0.999999999)
    play, other = montezuma(always), montezuma(always)
    play.reset()
    play.replay(3)
    snapshot = play.snapshot()
    other.reset()
    other.restore(snapshot)
    other.step(5)
    play.replay(3)
    assert play.fingerprint() == other.fingerprint()


@pytest.mark.atari
def test_sticky_actions_are_those_of_the_emulator():
    """Native stickiness also draws at every raw frame: equal rates of frames with the wrong action."""
    from ale_py import Action, ALEInterface, LoggerMode, roms

    ALEInterface.setLoggerMode(LoggerMode.Error)
    ale = ALEInterface()
    ale.setInt("random_seed", 1)
    ale.setFloat("repeat_action_probability", 0.25)
    ale.setInt("frame_skip", 4)
    ale.loadROM(roms.get_rom_path("breakout"))
    ale.reset_game()
    start = ale.cloneState()
    ours = make_play(EnvSpec("breakout"), AtariView(width=8, height=8, gray=True), np.random.default_rng(0))

    def distances(begin, step, memory):
        """How far the paddle is after two steps: it depends on the frames for which the first one stuck."""
        found = []
        for _ in range(600):
            begin()
            step(0)
            step(1)
            found.append(int(memory()[72]))
        return np.array(found)

    chosen = [Action.NOOP, Action.RIGHT]

    def begin():
        for _ in range(4):
            ale.act(Action.NOOP)  # the last action of the emulator's own stickiness is no part of a state
        ale.restoreState(start)

    native = distances(begin, lambda index: ale.act(chosen[index]), ale.getRAM)
    mine = distances(ours.reset, lambda index: ours.step([0, 2][index]), lambda: ours._emulator.ram)
    assert len(np.unique(native)) > 2
    for place in np.unique(native):
        assert np.mean(mine == place) == pytest.approx(np.mean(native == place), abs=0.07)


@pytest.mark.atari
def test_the_stack_holds_the_newest_frames_pooled_and_shrunk():
    import cv2

    play = montezuma(AtariView(width=32, height=40, gray=True, stack=3))
    play.reset()
    assert play.observation.shape == (40, 32, 3)
    assert (play.observation == play.observation[..., :1]).all(), "copies of the first frame"
    emulator = AtariEmulator("montezuma_revenge")
    emulator.reset()
    screens = []
    for action in (2, 3, 4, 1):
        play.replay(action)
        frames = []
        for _ in range(4):
            emulator.act(action)
            screen = np.zeros((210, 160), np.uint8)
            emulator.read(screen)
            frames.append(screen)
        pooled = np.maximum(frames[2], frames[3])
        screens.append(cv2.resize(pooled, (32, 40), interpolation=cv2.INTER_AREA))
    np.testing.assert_array_equal(play.observation, np.stack(screens[1:], axis=-1))


@pytest.mark.atari
def test_the_paper_s_view():
    play = montezuma(AtariView())
    play.reset()
    assert play.observation.shape == (80, 105, 12)
    assert make_play(EnvSpec("gravitar"), AtariView(), np.random.default_rng(0))._pooled == 4


@pytest.mark.atari
def test_a_game_is_over_after_the_frame_limit():
    play = montezuma(AtariView(width=8, height=8, gray=True, max_frames=100))
    play.reset()
    steps = 1
    while not play.step(0)[1]:
        steps += 1
    assert steps == 25


TAKEN: list[int] = []


class Recording(gym.Env):
    action_space = gym.spaces.Discrete(5, start=2)
    observation_space = gym.spaces.Box(0, 100, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        TAKEN.clear()
        return np.zeros(1, np.float32), {}

    def step(self, action):
        TAKEN.append(int(action))
        return np.zeros(1, np.float32), 0.0, False, False, {}


def test_random_actions_replace_as_many_as_they_should():
    spec = EnvSpec("recording", factory=Recording)
    play = make_play(spec, PlainView(random_actions=0.5), np.random.default_rng(0))
    assert play.spaces.choices == 5
    play.reset()
    for _ in range(1000):
        play.step(0)
    assert len(TAKEN) == 1000
    assert np.mean(np.array(TAKEN) == 2) == pytest.approx(0.6, abs=0.05), "half of them, and a fifth of the others"
    assert play.policy_action(4) == 2


def test_elsewhere_too_actions_may_stick_and_the_last_one_travels_with_a_snapshot():
    play = make_play(EnvSpec("goexplore/PointRooms-v0"), PlainView(sticky=0.3), np.random.default_rng(0))
    actions = np.random.default_rng(1).uniform(-1, 1, (2_000, 2))
    taken, wanted = [], []
    play.reset()
    for action in actions:
        if play.step(action)[1]:
            play.reset()
        taken.append(play.taken()[-1] if len(play.taken()) else taken[-1])
        wanted.append(np.tanh(action).astype(np.float32))
    stuck = [bool((one == before).all()) for one, before in zip(taken[1:], taken, strict=False)]
    assert np.mean(stuck) == pytest.approx(0.3, abs=0.04)
    play.reset()
    play.replay(np.array([0.5, -0.5], np.float32))
    snapshot = play.snapshot()
    for _ in range(5):
        play.step(np.zeros(2))
    play.restore(snapshot)
    seen = set()
    for _ in range(40):
        play.restore(snapshot)
        play.step(np.zeros(2))
        seen.add(tuple(play.taken()[0].tolist()))
    assert seen == {(0.0, 0.0), (0.5, -0.5)}


def test_other_environments_are_seen_as_numbers_in_a_row():
    play = make_play(EnvSpec(MAZE), PlainView(), np.random.default_rng(0))
    play.reset()
    assert play.observation.dtype == np.float32
    saved = play.snapshot()
    before = play.observation.copy()
    for action in (0, 1, 2, 3, 1, 1):
        play.step(action)
    play.restore(saved)
    np.testing.assert_array_equal(play.observation, before)
    np.testing.assert_array_equal(
        flattened({"b": (1, [2.0, 3.0]), "a": np.ones((2, 2)), "mission": "text"}), [1, 1, 1, 1, 1, 2, 3]
    )


def test_numbers_are_squashed_into_their_bounds_and_back():
    play = make_play(EnvSpec("Pendulum-v1"), PlainView(), np.random.default_rng(0))
    assert play.spaces.action_shape == (1,)
    for torque in (-2.0, -0.5, 0.0, 1.9, 2.0):
        chosen = play.policy_action(np.array([torque], np.float32))
        assert np.isfinite(chosen).all()
        assert -2.0 + (np.tanh(chosen) + 1) * 2.0 == pytest.approx(torque, abs=1e-4)


def test_a_view_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="cannot be seen through"):
        make_play(EnvSpec(MAZE), AtariView(), np.random.default_rng(0))
    with pytest.raises(InputError, match=r"sticky 1\.5"):
        AtariView(sticky=1.5)
