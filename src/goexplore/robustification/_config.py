"""The numbers of the robustification phase, with their units and sources."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from goexplore.cells import CellFunction, make_fixed_cells, names_own_code
from goexplore.envs import SHELVES, is_atari
from goexplore.errors import InputError
from goexplore.learn import NetworkConfig, PPOConfig
from goexplore.play import AtariView, PlainView, View
from goexplore.robustification._cloning import CloningConfig


@dataclass(frozen=True, slots=True)
class BackwardConfig:
    """The backward algorithm (SI, "The backward algorithm"). The defaults are the paper's for Atari."""

    window_frames: int = 160
    """Starting points from which episodes begin: this many raw frames up to the latest one. Paper: 160 (Extended Data
    Table 1a), 40 in robotics. Fewer concentrate a small number of actors."""
    move_threshold: float = 0.1
    """Success at which the window stays where it is; above it, it moves towards the start. Paper: 0.1. Higher is
    steadier where few episodes are counted."""
    allowed_lag_frames: int = 50
    """An episode whose score is below the demonstration's by more than this much time has failed. Paper: 50; 10 in
    robotics. More lets a policy wait for the right moment."""
    leg_frames: int | None = None
    """Divide a demonstration into legs at rewards (and landmarks) that are at least so many raw frames apart. Each has
    a window of its own, so that all are learnt at once and none is forgotten. An episode has matched, and is cut, when
    its leg is done, or goes on into the next one if that is already begun in at its start. With legs, the cost of a
    long demonstration grows with its length and not with the square of it. None: a demonstration is one leg. Paper:
    None."""
    landmarks: str | None = None
    """Cells, by name, that show how far an episode has come, for example "ram:room=3". Those that a demonstration
    enters for the first time are its landmarks, but for detours, from which it comes back to where it was: an episode
    has to come to them too, within the allowed lag and with the points that come before, and legs may end there. None:
    scores alone count. Paper: None."""
    landmark_reward: float = 0.0
    """What an episode that comes to the next landmark is given, in points (after `reward_power`). Paper: 0. More where
    points are so far apart that nothing else tells the way."""
    least_practice: float = 1.0
    """How often a demonstration, or leg of one, that always succeeds is begun in, for each time that one which never
    does is. Paper: 1, all alike. Less spends the time where it is needed; too little forgets the rest."""
    score_tolerance: float = 0.0
    """Share of a demonstration's score that an episode may fall short of and still match it. Paper: 0. More where a
    reward falls with time, which noise costs."""
    extra_frames_coefficient: float = 7.0
    """c: an episode that has matched goes on for floor(e^(c X)) raw frames, X uniform in 0..1. Paper: 7 (up to 1,096
    frames); 4 in robotics. Lower wastes less time of short episodes."""
    later_start_probability: float = 0.0
    """Probability of starting anywhere between the window and the demonstration's end. Paper: not mentioned; the
    authors' code: 0.2. It keeps what was learnt first alive."""
    update_steps: int = 200
    """Agent steps of each actor, times the number of demonstrations, between two moves. Paper: not stated; the
    authors' code: 200."""
    move_episodes: int | None = None
    """Move a window as soon as so many of its episodes were counted, and one that succeeds could be over, instead.
    None: by `update_steps`."""
    success_decay: float = 0.0
    """What remains of earlier counts of success at each move. 0: only the latest count. Paper: not mentioned."""
    most_move_frames: int | None = None
    """Longest move of a window. None: no limit. Paper: not mentioned."""
    virtual: bool = True
    """Whether some episodes begin at reset and follow no demonstration (the virtual demonstration). Paper: on Atari."""
    virtual_odds: float | None = None
    """Steps of such episodes for each step of the others. None: one part in as many as there are demonstrations,
    itself included (paper: 1/11). See `Balance` for how it is kept."""
    virtual_odds_at_start: float | None = None
    """The same once all windows have reached the start. None: no change."""
    virtual_cut_frames: int | None = None
    """Cut such an episode when neither a reward nor a lost life has come for so long (or for as long as any
    demonstration goes without, and the allowed lag). None: never. Paper: never. A policy that found a safe spot may
    stay there for ever."""
    stuck_ends: bool = False
    """Whether such a cut is an end instead. Paper: no. A cut goes by the value of the spot, which nothing then
    corrects; an end says what staying there brings."""
    match_ends: bool = False
    """Whether an episode ends where it matches, and one from reset where it matches the best demonstration, as if the
    game were over. Paper: no, some extra frames follow and then a cut. An end is a firm ground for values, and no time
    is spent on what comes afterwards."""
    cut_where_points_fall: bool = False
    """Whether an episode that lags too far behind is cut, and not ended, where the demonstration itself goes on to lose
    points: an end would spare the policy what it is about to lose, so that failing would pay. Paper: not mentioned; the
    authors' code ends it."""
    life_loss_fails: bool = False
    """Whether losing a life that the demonstration does not lose ends an episode that follows it, and is an end for
    learning in episodes from reset. Paper: no."""
    mid_no_ops: float = 0.0
    """Probability of doing nothing for some frames at starts in mid-demonstration too. Paper: only at reset."""
    mid_no_op_frames: int | None = None
    """Most raw frames of doing nothing then, and with the same probability at starts from reset. None: as many as at
    reset. More where things move in longer cycles, so that a policy meets all of their phases: after a lost life it
    will."""
    hot_frames: int = 0
    """Raw frames at the beginning of an episode in which actions are drawn at `hot_temperature`. Paper: not
    mentioned; the authors' code: 100."""
    hot_temperature: float = 2.0
    """Above 1 is more random."""
    reward_target: float | None = 10.0
    """C: rewards are scaled so that the mean absolute value along the demonstrations is this. None: as they are.
    Paper: 10; none in robotics."""
    reward_power: float = 1.0
    """Rewards are learnt from as their sign times this power of their size. Paper: 1; 0 is the sign alone, as is usual
    on Atari. Less than 1 where a small reward must be had before a large one."""
    imitation_from_start: float = 0.3
    """Share of imitated steps that belong to replays from reset. Paper: "SIL from start prob." 0.3; 0 in robotics."""
    imitation_frames: int = 32
    """Raw frames by which a replay goes beyond the latest starting point, and up to as many before the window. Paper:
    not stated; the authors' code: 32 beyond, up to 10 before."""
    imitate_shuffled: bool = False
    """Imitate single steps drawn anew each time, instead of replays, where the network has no memory. Paper:
    replays."""
    imitate_failures: bool = False
    """Weigh imitation by 1 - success of the starting point. Paper: not mentioned; the authors' code does."""

    def __post_init__(self) -> None:
        for name in ("window_frames", "update_steps", "imitation_frames"):
            if (value := getattr(self, name)) < 1:
                raise InputError(f"{name} {value}: expected at least 1")
        for name in (
            "score_tolerance",
            "move_threshold",
            "later_start_probability",
            "mid_no_ops",
            "imitation_from_start",
            "reward_power",
        ):
            if not 0 <= (value := getattr(self, name)) <= 1:
                raise InputError(f"{name} {value}: expected 0 to 1")
        if self.allowed_lag_frames < 0 or self.hot_frames < 0 or not 0 <= self.success_decay < 1:
            raise InputError(
                f"allowed_lag_frames {self.allowed_lag_frames}, hot_frames {self.hot_frames}, success_decay"
                f" {self.success_decay}: expected at least 0, and success_decay below 1"
            )
        if self.landmark_reward and self.landmarks is None:
            raise InputError(f"landmark_reward {self.landmark_reward}: expected landmarks, that it could be for")
        if self.landmarks is not None and not names_own_code(self.landmarks):  # importing that would run it
            self.make_landmark_cells()
        if not 0 < self.least_practice <= 1:
            raise InputError(f"least_practice {self.least_practice}: expected more than 0, and at most 1")
        if self.leg_frames is not None and self.leg_frames < 1:
            raise InputError(f"leg_frames {self.leg_frames}: expected at least 1")
        if self.mid_no_op_frames is not None and self.mid_no_op_frames < 0:
            raise InputError(f"mid_no_op_frames {self.mid_no_op_frames}: expected at least 0")

    def make_landmark_cells(self) -> CellFunction | None:
        """The cells of landmarks, if any.

        Raises:
            InputError: there are no such cells, or they adapt.
        """
        return None if self.landmarks is None else make_fixed_cells(self.landmarks, what="landmarks")


@dataclass(frozen=True, slots=True)
class RobustifyConfig:
    """Everything that a robustification depends on beside its demonstrations and seed."""

    view: View = field(default_factory=AtariView)
    """How the policy sees the game."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    backward: BackwardConfig = field(default_factory=BackwardConfig)
    cloning: CloningConfig = field(default_factory=CloningConfig)
    actors: int = 256
    """N, on all ranks together. Paper: 8 workers with 32 each; 960 in robotics."""
    steps: int = 2_500_000_000
    """Agent steps of all actors and imitators. Paper: 10 billion frames."""
    imitators: int = 16
    """Actors that replay demonstrations for self-imitation. Paper: 8 workers with 2 each; 64 in robotics."""
    stop_success: float | None = None
    """Training ends early when all windows are at the start and more than this share of episodes has succeeded for
    `stop_iterations` iterations in a row. None: it goes on, as is right where a score can still get better. Paper:
    0.985 in robotics (Methods, "Evaluation")."""
    stop_iterations: int = 150
    """Paper: 150."""

    def __post_init__(self) -> None:
        if self.actors < 1 or self.imitators < 0:
            raise InputError(f"actors {self.actors}, imitators {self.imitators}: expected at least 1, and at least 0")
        if (self.stop_success is not None and not 0 <= self.stop_success < 1) or self.stop_iterations < 1:
            raise InputError(
                f"stop_success {self.stop_success}, stop_iterations {self.stop_iterations}: expected 0 to 1, and at"
                " least 1"
            )


PAPER = RobustifyConfig()
ORIGINAL = RobustifyConfig(
    # Facts about the authors' scripts, where the paper says otherwise or nothing.
    ppo=PPOConfig(value_coefficient=0.25),  # the squared error is halved as well
    backward=BackwardConfig(later_start_probability=0.2, hot_frames=100, imitate_failures=True),
)
LAPTOP = RobustifyConfig(
    # A network thirty times smaller, and more learning from each step: docs/measurements.md.
    view=AtariView(width=64, height=64, gray=True),
    network=NetworkConfig(
        convolutions=((16, 8, 4), (32, 4, 2), (32, 3, 1)),
        hidden=(256,),
        memory=0,
        gain=math.sqrt(2),
        value_gain=0.1,
        centred=True,
    ),
    ppo=PPOConfig(
        steps=64,
        context=0,
        epochs=3,
        minibatches=4,
        learning_rate=2.5e-4,
        final_learning_rate=1e-4,
        adam_epsilon=1e-5,
        gradient_norm=0.5,
        gamma=0.995,
        clip=0.15,
        value_clip=None,
        value_coefficient=0.25,
        entropy_coefficient=3e-3,
        final_entropy_coefficient=3e-4,
        l2_coefficient=0.0,
        average_over="own",
    ),
    backward=BackwardConfig(
        window_frames=64,
        move_threshold=0.2,
        allowed_lag_frames=200,
        extra_frames_coefficient=3.0,
        later_start_probability=0.2,
        move_episodes=48,
        success_decay=0.5,
        most_move_frames=64,
        virtual_odds=0.11,
        virtual_odds_at_start=1.0,
        leg_frames=240,
        least_practice=0.2,
        virtual_cut_frames=1_000,
        stuck_ends=True,
        match_ends=True,
        cut_where_points_fall=True,
        life_loss_fails=True,
        mid_no_ops=0.5,
        imitation_frames=36,
        imitate_shuffled=True,
        reward_target=1.0,
        imitate_failures=True,
    ),
    actors=48,
    imitators=6,
    steps=1_500_000,
)
PLAIN_LAPTOP_BACKWARD = replace(
    # The same in agent steps: elsewhere than on Atari a step is usually one frame.
    LAPTOP.backward,
    window_frames=16,
    allowed_lag_frames=50,
    most_move_frames=16,
    leg_frames=60,
    virtual_cut_frames=250,
    imitation_frames=9,
    score_tolerance=0.1,
)
PAPER_ROBOT = RobustifyConfig(
    # Extended Data Table 1a, robotics; Extended Data Fig. 2b. What the paper does not state is as the authors ran it.
    view=PlainView(max_steps=4_000),
    network=NetworkConfig(convolutions=(), hidden=(256, 128), memory=128, separate_towers=True),
    ppo=PPOConfig(gamma=0.99, imitation_value_coefficient=0.1),
    backward=BackwardConfig(
        window_frames=40,
        allowed_lag_frames=10,
        extra_frames_coefficient=4.0,
        update_steps=100,
        virtual=False,
        reward_target=None,
        imitation_from_start=0.0,
        imitation_frames=120,
    ),
    actors=960,
    imitators=64,
    stop_success=0.985,
)
ORIGINAL_ROBOT = replace(
    PAPER_ROBOT,
    ppo=replace(PAPER_ROBOT.ppo, value_coefficient=0.25),
    backward=replace(PAPER_ROBOT.backward, later_start_probability=0.2, imitate_failures=True),
)
LAPTOP_ROBOT = replace(
    LAPTOP,
    view=PlainView(max_steps=600, sticky=0.1),
    network=NetworkConfig(
        convolutions=(),
        hidden=(256, 128),
        memory=0,
        separate_towers=True,
        gain=math.sqrt(2),
        centred=True,
        deviation=0.2,
        least_deviation=0.05,
    ),
    ppo=replace(
        LAPTOP.ppo,
        gamma=0.99,
        imitation_value_coefficient=0.1,
        # Small noise needs small steps; and more noise than that drops the block.
        learning_rate=1e-4,
        final_learning_rate=5e-5,
        entropy_coefficient=0.0,
        final_entropy_coefficient=0.0,
    ),
    backward=replace(
        PLAIN_LAPTOP_BACKWARD,
        window_frames=10,
        move_threshold=0.3,
        allowed_lag_frames=40,
        score_tolerance=0.0,
        virtual=False,
        imitation_from_start=0.0,
    ),
    # What it takes to hold a block is learnt before anything else; imitating one way later on is in the way of others.
    cloning=CloningConfig(replays=400, epochs=25, entropy_coefficient=0.02),
    imitators=0,
    steps=5_000_000,
    stop_success=0.985,
)
ROBOT_PRESETS = {"paper": PAPER_ROBOT, "original-code": ORIGINAL_ROBOT, "laptop": LAPTOP_ROBOT}
"""The same for the robot."""
PRESETS = {"paper": PAPER, "original-code": ORIGINAL, "laptop": LAPTOP}
"""`paper`: Extended Data Table 1a, for GPUs. `original-code`: as the authors' scripts ran. `laptop`: a few cores."""


def robustify_preset(name: str, env_id: str) -> RobustifyConfig:
    """Returns a preset, with a view and a network that fit the environment.

    Raises:
        InputError: there is no such preset.
    """
    if name not in PRESETS:
        raise InputError(f"preset {name!r}: expected one of {', '.join(PRESETS)}")
    if env_id == SHELVES:
        return ROBOT_PRESETS[name]
    preset = PRESETS[name]
    if is_atari(env_id):
        return preset
    hidden = (128, 128) if name == "laptop" else preset.network.hidden
    plain = replace(preset.network, convolutions=(), centred=False, hidden=hidden)  # there are no pictures to centre
    backward = PLAIN_LAPTOP_BACKWARD if name == "laptop" else preset.backward
    return replace(preset, view=PlainView(), network=plain, backward=backward)
