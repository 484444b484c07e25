"""Compares time steps of FetchShelves: a bolt that is pushed, a door that swings, a block that is squeezed and carried.

python scripts/step_size.py --time-steps 0.001 0.002 0.004
"""

from __future__ import annotations

import argparse
import math

import mujoco
import numpy as np

from goexplore.envs.shelves import FetchShelves

PUSHES = 9.0, 11.0, 15.0, 25.0
"""Newtons along the bolt, whose friction is 10."""
TURNS = 1.5, 3.0, 6.0
"""Newton metres about the hinge, whose friction is 2."""
SECONDS = 1.0
CARRIED_ACTIONS = 75


def pushed(env: FetchShelves, joint: str, force: float, *, bolt: float = 0.0) -> float:
    """Where a joint is after a constant force for some time, the bolt being drawn by so many metres first."""
    env.reset()
    model, data = env.model, env.data
    data.joint("bolt").qpos[0] = bolt
    for _ in range(round(SECONDS / model.opt.timestep)):
        data.joint(joint).qfrc_applied[0] = force
        mujoco.mj_step(model, data)
    return float(data.joint(joint).qpos[0])


def carried(env: FetchShelves, torques: np.ndarray, *, grip: float) -> tuple[float, int]:
    """How far a block slips while it is carried about, and for how many actions both fingers hold it."""
    env.reset()
    data = env.data
    gripper, block = data.body("gripper_link"), data.joint("obj0")
    open_fingers = np.zeros(9, np.float32)
    open_fingers[1], open_fingers[7:] = -0.3, 1.0
    for _ in range(5):
        env.step(open_fingers)
    block.qpos[:3] = gripper.xpos
    across = np.zeros(4)
    mujoco.mju_mulQuat(across, gripper.xquat, np.array([math.cos(math.pi / 4), 0, math.sin(math.pi / 4), 0]))
    block.qpos[3:] = across  # upright, its thin side between the fingers
    block.qvel[:] = 0
    mujoco.mj_forward(env.model, data)
    held, start = 0, None
    for number in range(CARRIED_ACTIONS):
        action = np.zeros(9, np.float32)
        action[:7], action[7:] = torques[number], grip
        info = env.step(action)[4]
        where = gripper.xmat.reshape(3, 3).T @ (np.array(block.qpos[:3]) - gripper.xpos)
        start = where if number == 5 else start  # the fingers have closed by then
        held += info["grasp"]
    return float(np.linalg.norm(where - start)), held


def main() -> None:
    """Prints a table for each kind of comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time-steps", type=float, nargs="+", default=[0.001, 0.002, 0.004], help="in seconds")
    parser.add_argument("--trials", type=int, default=20, help="blocks that are carried about")
    arguments = parser.parse_args()
    envs = {step: FetchShelves("top-right", time_step=step) for step in arguments.time_steps}
    print(f"{'':34}" + "".join(f"{step:>12g} s" for step in envs))

    def row(what: str, values: list[str]) -> None:
        print(f"{what:34}" + "".join(f"{value:>14}" for value in values))

    for force in PUSHES:
        row(f"bolt pushed with {force:g} N (cm)", [f"{100 * pushed(env, 'bolt', force):.2f}" for env in envs.values()])
    for bolt in (0.0, 0.08, 0.12):
        for torque in TURNS:
            turned = [f"{math.degrees(pushed(env, 'hinge', torque, bolt=bolt)):.1f}" for env in envs.values()]
            row(f"door, {100 * bolt:g} cm open, {torque:g} N m (deg)", turned)
    rng = np.random.default_rng(0)
    trials = [np.repeat(rng.uniform(-0.5, 0.5, (CARRIED_ACTIONS // 5, 7)), 5, axis=0) for _ in range(arguments.trials)]
    for grip in (-1.0, 0.0, 0.1):
        outcomes = {step: [carried(env, each, grip=grip) for each in trials] for step, env in envs.items()}
        held = [f"{sum(hold for _, hold in each) / len(each) / CARRIED_ACTIONS:.0%}" for each in outcomes.values()]
        row(f"block carried, grip {grip:g}: held", held)
        slips = [1000 * np.median([slip for slip, _ in each]) for each in outcomes.values()]
        row("    median slip (mm)", [f"{slip:.1f}" for slip in slips])


if __name__ == "__main__":
    main()
