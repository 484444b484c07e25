"""The robot and the shelf: what the scene does, what is rewarded, and what is seen."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check

import goexplore
from goexplore.cells import make_cells
from goexplore.envs import EnvSpec, check_env, make_env
from goexplore.errors import InputError

mujoco = pytest.importorskip("mujoco")

from goexplore.envs.shelves import COMPARTMENTS, Block, FetchShelves, _env  # noqa: E402

ID = "goexplore/FetchShelves-v0"
STILL = np.zeros(9, np.float32)


def actions(count, seed=0):
    return np.tanh(2 * np.random.default_rng(seed).standard_normal((count, 9))).astype(np.float32).repeat(5, axis=0)


def put_block(env, position, turn=(1.0, 0.0, 0.0, 0.0)):
    """Puts the block somewhere, at rest."""
    joint = env.model.joint("obj0")
    env.data.qpos[joint.qposadr[0] :][:7] = [*position, *turn]
    env.data.qvel[joint.dofadr[0] :][:6] = 0
    mujoco.mj_forward(env.model, env.data)


def wait(env, count):
    for _ in range(count):
        result = env.step(STILL)
    return result


def contacts(env):
    body = env.model.geom_bodyid
    return {
        frozenset(env.model.body(int(body[geom])).name for geom in pair)
        for pair in env.data.contact.geom.reshape(-1, 2)
    }


def test_it_passes_gymnasiums_checker_and_ours():
    gymnasium_check(FetchShelves("top-right"), skip_render_check=True)
    assert gym.spec(ID).max_episode_steps == 4_000
    checks = check_env(EnvSpec(ID, {"target": "bottom-right"}), steps=150)
    assert all(check.passed for check in checks), checks


def test_the_arm_is_stretched_out_and_nothing_touches_at_the_start():
    env = FetchShelves()
    env.reset()
    np.testing.assert_allclose(env.look.gripper, (0.30, 1.398, 0.786), atol=1e-3)
    assert not env.data.ncon
    assert env.action_space.shape == (9,)
    names = [env.model.actuator(index).name for index in range(9)]
    assert names[0] == "shoulder_pan"
    assert names[7:] == ["r_gripper_finger", "l_gripper_finger"]
    np.testing.assert_allclose(env.model.actuator_ctrlrange[[0, 1, 8]], [[-33.82, 33.82], [-131.76, 131.76], [0, 0.05]])


def test_one_action_is_eight_hundredths_of_a_second_whatever_the_time_step():
    for time_step in (0.001, 0.002, 0.004):
        env = FetchShelves(time_step=time_step)
        env.reset()
        env.step(STILL)
        assert env.data.time == pytest.approx(0.08)


def test_the_block_falls_onto_the_table_and_lies_there():
    env = FetchShelves()
    env.reset()
    wait(env, 12)
    assert frozenset({"obj0", "Table"}) in contacts(env)
    assert env.data.body("obj0").xpos[2] == pytest.approx(0.53, abs=2e-3)


@pytest.mark.parametrize("target", COMPARTMENTS)
def test_reward_is_for_entering_and_a_penalty_for_leaving(target):
    env = FetchShelves(target)
    env.reset()
    inside = COMPARTMENTS[target].zone.middle
    put_block(env, (inside[0], inside[1], inside[2] - 0.15))
    assert env.step(STILL)[1] == 1
    assert wait(env, 5)[1] == 0
    put_block(env, (0.9, 0.7, 0.54))
    _, reward, terminated, truncated, info = env.step(STILL)
    assert (reward, terminated, truncated, info["is_success"]) == (-1, False, False, False)


def test_other_compartments_and_the_face_of_the_shelf_do_not_count():
    env = FetchShelves("bottom-left")
    env.reset()
    for position in ((-0.45, 0.16, 1.25), (-0.45, 0.81, 0.62), (-0.21, 0.16, 0.62)):
        put_block(env, position)
        assert env.step(STILL)[1] == 0


def test_a_block_on_the_floor_is_the_end():
    env = FetchShelves()
    env.reset()
    put_block(env, (1.5, 1.0, 0.2))
    ends = [env.step(STILL)[2] for _ in range(6)]
    assert ends[-1]


def test_touching_grasping_and_lifting():
    env = FetchShelves()
    env.reset()
    gripper = env.data.body("gripper_link")
    opened = np.zeros(9, np.float32)
    opened[7:] = 1.0
    for _ in range(8):
        env.step(opened)
    quat = np.array(gripper.xquat)
    put_block(env, gripper.xpos + gripper.xmat.reshape(3, 3) @ (0.0, 0.0, 0.0), quat)
    closed = np.zeros(9, np.float32)
    closed[7:] = -1.0
    infos = [env.step(closed)[4] for _ in range(10)]
    assert infos[-1]["touch"]
    assert infos[-1]["grasp"]
    assert infos[-1]["lift"]
    assert env.look.fingers == 2
    put_block(env, (0.9, 0.7, 0.53))
    assert not env.step(STILL)[4]["touch"]


@pytest.mark.parametrize("suffix", ["", "1"])
def test_a_door_is_shut_until_its_latch_is_drawn(suffix):
    env = FetchShelves("top-right" if suffix == "" else "bottom-right")
    env.reset()
    hinge, bolt = env.model.joint(f"hinge{suffix}"), env.model.joint(f"bolt{suffix}")
    env.data.qfrc_applied[hinge.dofadr] = 8.0
    wait(env, 15)
    assert env.data.qpos[hinge.qposadr] < 0.03
    assert env.look.door < 0.012
    env.data.qpos[bolt.qposadr] = 0.12
    wait(env, 15)
    assert env.data.qpos[hinge.qposadr] > 1.0
    assert env.look.door > 0.2
    assert env.look.latch > 0.2


def test_a_bolt_that_is_pushed_stays_where_it_is():
    env = FetchShelves("top-right")
    env.reset()
    bolt = env.model.joint("bolt")
    env.data.qfrc_applied[bolt.dofadr] = 5.0  # less than its friction
    wait(env, 10)
    assert env.data.qpos[bolt.qposadr] < 0.01  # MuJoCo's friction creeps
    env.data.qfrc_applied[bolt.dofadr] = 15.0
    wait(env, 10)
    env.data.qfrc_applied[bolt.dofadr] = 0.0
    drawn = float(env.data.qpos[bolt.qposadr][0])
    wait(env, 10)
    assert drawn > 0.1
    assert env.data.qpos[bolt.qposadr] == pytest.approx(drawn, abs=2e-3)


def test_every_number_of_the_observation_has_a_name():
    env = FetchShelves("top-left")
    observation, _ = env.reset()
    assert len(env.observation_names) == len(observation) == 18 * 12 + 136 + 4 + 17 * 6
    seen = dict(zip(env.observation_names, observation.tolist(), strict=True))
    assert seen["target is top-left"] == 1
    assert seen["target is bottom-left"] == 0
    assert seen["gripper_link position y"] == pytest.approx(1.398, abs=1e-3)
    assert seen["obj0 angle z"] == pytest.approx(-0.4)
    assert seen["obj0 in table"] == 1
    assert seen["obj0 in shelf"] == 0
    wait(env, 12)
    seen = dict(zip(env.observation_names, env.observe().tolist(), strict=True))
    assert seen["Table touches obj0"] == 1
    put_block(env, (-0.45, 0.16, 1.30))
    seen = dict(zip(env.observation_names, env.observe().tolist(), strict=True))
    assert seen["obj0 in top-left"] == seen["obj0 in shelf"] == 1


def test_velocities_and_angles_are_mujocos():
    env = FetchShelves()
    env.reset()
    for action in actions(6):
        env.step(action)
    mujoco.mj_forward(env.model, env.data)
    seen = dict(zip(env.observation_names, env.observe().tolist(), strict=True))
    for name in ("gripper_link", "obj0", "elbow_flex_link", "l_gripper_finger_link", "door"):
        velocity = np.zeros(6)
        body = env.model.body(name).id
        mujoco.mj_objectVelocity(env.model, env.data, mujoco.mjtObj.mjOBJ_XBODY, body, velocity, 0)
        np.testing.assert_allclose([seen[f"{name} spin {axis}"] for axis in "xyz"], 0.08 * velocity[:3], atol=1e-5)
        np.testing.assert_allclose([seen[f"{name} velocity {axis}"] for axis in "xyz"], 0.08 * velocity[3:], atol=1e-5)
        turn = np.zeros(4)
        mujoco.mju_euler2Quat(turn, np.array([seen[f"{name} angle {axis}"] for axis in "xyz"]), "XYZ")
        matrix = np.zeros(9)
        mujoco.mju_quat2Mat(matrix, turn)
        np.testing.assert_allclose(matrix, env.data.xmat[body], atol=1e-5)


def test_contacts_of_a_part_of_a_door_are_contacts_of_the_door():
    env = FetchShelves("top-right")
    env.reset()
    handle = env.data.site("handle").xpos
    put_block(env, np.add(handle, (0.03, 0, 0)))
    seen = dict(zip(env.observation_names, env.observe().tolist(), strict=True))
    assert seen["door touches obj0"] == seen["DoorUR touches obj0"] == 1
    assert seen["DoorLR touches obj0"] == seen["latch touches obj0"] == 0


def test_snapshots_continue_bit_for_bit_in_another_instance():
    env = make_env(EnvSpec(ID, {"target": "top-right"}))
    other = make_env(EnvSpec(ID, {"target": "top-right"}))
    env.reset()
    for action in actions(20):
        env.step(action)
    snapshot = env.snapshot()
    future = actions(10, seed=1)
    for action in future:
        env.step(action)
    other.reset()
    np.testing.assert_array_equal(other.restore(snapshot)[:216].shape, (216,))
    for action in future:
        other.step(action)
    assert env.fingerprint() == other.fingerprint()


def test_a_search_that_leaves_observations_out_saves_the_same():
    env, blind = (make_env(EnvSpec(ID)) for _ in range(2))
    blind.leave_observations_out()
    for each in (env, blind):
        each.reset()
        for action in actions(4):
            each.step(action)
    assert not np.asarray(blind.observation).any()
    assert env.snapshot() == blind.snapshot()
    assert env.fingerprint() == blind.fingerprint()


def test_a_diverging_simulation_ends_the_episode_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    env = FetchShelves()
    env.reset()
    env.data.qvel[:] = 1e9
    observation, reward, terminated, _, info = env.step(STILL)
    assert (reward, terminated, info["diverged"]) == (0, True, True)
    assert np.isfinite(observation).all()
    assert not list(tmp_path.iterdir()), "MuJoCo wrote a log"
    env.reset()
    assert not env.step(STILL)[2]


@pytest.mark.parametrize("action", [np.zeros(8), np.full(9, np.nan), np.array([np.inf, *[0] * 8]), 1.0])
def test_wrong_actions_are_one_sentence(action):
    env = FetchShelves()
    env.reset()
    before = env.data.time
    with pytest.raises(InputError, match="expected 9 finite numbers from -1 to 1"):
        env.step(action)
    assert env.data.time == before


def test_wrong_settings_are_one_sentence():
    with pytest.raises(InputError, match=r"target 'top-rihgt': expected one of bottom-left, .* did you mean top-right"):
        make_env(EnvSpec(ID, {"target": "top-rihgt"}))
    for time_step in (0.0, -1.0, 0.003, 0.1):
        with pytest.raises(InputError, match=r"expected a part of 0\.08 s"):
            FetchShelves(time_step=time_step)


def test_without_opengl_it_says_what_to_do(monkeypatch):
    def fails(*arguments):
        raise RuntimeError("no display")

    monkeypatch.setattr(_env.mujoco, "Renderer", fails)
    env = make_env(EnvSpec(ID), render=True)
    env.reset()
    with pytest.raises(InputError, match=r"no OpenGL to draw with .*MUJOCO_GL"):
        env.render()
    env.step(STILL)


def test_drawing_changes_nothing():
    drawn, plain = FetchShelves(render_mode="rgb_array"), FetchShelves()
    for env in (drawn, plain):
        env.reset()
        for action in actions(3):
            env.step(action)
            if env is drawn:
                picture = env.render()
    assert picture.shape == (480, 640, 3)
    assert picture.std() > 20
    assert drawn.get_state()["physics"].tobytes() == plain.get_state()["physics"].tobytes()
    np.testing.assert_array_equal(drawn.observe(), plain.observe())
    drawn.close()


def test_the_block_can_be_another_one():
    env = FetchShelves(block=Block(half_size=(0.05, 0.02, 0.02), position=(0.6, 0.9, 0.55)))
    env.reset()
    assert env.model.geom("obj0").size.tolist() == [0.05, 0.02, 0.02]
    assert env.look.inside is False


class TestCells:
    def keys(self, name, env):
        return make_cells(name).describe(make_cells(name).key(None, env))

    def test_they_tell_what_the_paper_says(self):
        env = FetchShelves("top-right")
        env.reset()
        assert self.keys("shelves", env) == {
            "door": 0,
            "latch": 0,
            "block": "free",
            "in_target": False,
            "x": 0.0,
            "y": 1.0,
            "z": 0.5,
        }

    @pytest.mark.parametrize(
        ("distance", "expected"), [(0.0, 0), (0.0049, 0), (0.0051, 1), (0.2049, 1), (0.2051, 2), (0.41, 3)]
    )
    def test_bins_of_doors_and_latches(self, distance, expected):
        env = FetchShelves("bottom-right")
        env.reset()
        env.look = env.look._replace(door=distance, latch=distance)
        found = self.keys("shelves", env)
        assert (found["door"], found["latch"]) == (expected, expected)

    def test_the_authors_measured_otherwise(self):
        env = FetchShelves("top-right")
        env.reset()
        env.look = env.look._replace(door=0.3, latch=0.3)
        assert self.keys("shelves", env)["door"] == self.keys("shelves", env)["latch"] == 2
        assert self.keys("shelves:original", env)["door"] == self.keys("shelves:original", env)["latch"] == 1

    def test_lifting_counts_if_wanted(self):
        env = FetchShelves()
        env.reset()
        env.look = env.look._replace(fingers=2, lifted=True)
        assert self.keys("shelves", env)["block"] == "grasped"
        assert self.keys("shelves:lift", env)["block"] == "lifted"

    def test_voxels_may_be_smaller(self):
        env = FetchShelves()
        env.reset()
        env.look = env.look._replace(gripper=(-0.3, 0.8, 1.2))
        assert [self.keys("shelves", env)[axis] for axis in "xyz"] == [-0.5, 0.5, 1.0]
        assert [self.keys("shelves:lift:0.25", env)[axis] for axis in "xyz"] == [-0.5, 0.75, 1.0]

    def test_voxels_that_a_byte_cannot_hold_are_refused(self):
        with pytest.raises(InputError, match=r"voxel 0.0: expected at least 0.02 m"):
            make_cells("shelves:0")

    def test_the_upper_and_the_lower_door_are_told_apart(self):
        upper, lower = FetchShelves("top-right"), FetchShelves("bottom-right")
        keys = set()
        for env in (upper, lower):
            env.reset()
            env.look = env.look._replace(door=0.3)
            keys.add(make_cells("shelves").key(None, env))
        assert len(keys) == 2

    def test_another_environment_is_refused(self, tmp_path):
        with pytest.raises(InputError, match="'shelves' work with goexplore/FetchShelves-v0 only"):
            goexplore.explore(
                "goexplore/KeyDoorMaze-v0", cells="shelves", frames=100, progress=False, out=tmp_path / "r"
            )


def test_a_search_is_the_same_on_one_and_on_two_workers(tmp_path):
    digests = [
        goexplore.explore(
            ID,
            frames=1_200,
            preset=preset,
            workers=workers,
            progress=False,
            out=tmp_path / f"{preset}-{workers}",
            env_kwargs={"target": "top-right"},
            batch_size=10,
        ).archive_digest
        for preset in ("paper", "original-code")
        for workers in (1, 2)
    ]
    assert digests[0] == digests[1]
    assert digests[2] == digests[3] != digests[0]


def test_the_robots_selector_refuses_other_cells(tmp_path):
    with pytest.raises(InputError, match="selector 'shelves' works with the cells 'shelves' only"):
        goexplore.explore(
            "goexplore/KeyDoorMaze-v0", selector="shelves", frames=100, progress=False, workers=1, out=tmp_path / "r"
        )
