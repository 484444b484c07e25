"""What the paper reports for each Atari game, and what its environment asks for.

Extended Data Table "Full scores on Atari"; Methods, "Evaluation" and "Hyperparameters"; Extended Data Table 1b
("Atari environment parameters"); SI, "ALE issues". The exploration column holds search scores and the
robustification column policy scores: they are never compared with each other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from goexplore.envs import KNOWN_BROKEN_ROUND_TRIPS
from goexplore.errors import InputError
from goexplore.plugins import nearest

BILLION = 1_000_000_000


@dataclass(frozen=True, slots=True)
class AtariGame:
    """One game: the paper's numbers, and what to know before running it."""

    name: str
    """As in the paper and in Gymnasium ids, for example "MontezumaRevenge"."""
    paper_exploration: int
    """Search score: best at an end of episode, without sticky actions; a mean over 5 runs, 50 for the focus games."""
    paper_robustified: int | None
    """Policy score: a mean over sticky-action episodes. None where the paper did not robustify."""
    state_of_the_art: int
    """Best policy score with sticky actions that was published before the paper."""
    average_human: int
    focus: bool = False
    """Whether it is one of the 11 hard-exploration and unsolved games of the paper."""
    paper_frames: int = 2 * BILLION
    """Raw frames behind `paper_exploration` (Methods, "Hyperparameters")."""
    paper_exploration_at_2_billion: int | None = None
    """Search score after 2 billion frames, where `paper_exploration` comes from more (Fig. 2b)."""
    original_code_frame_skip: int = 4
    """Raw frames for which the authors' scripts held an action; gym's Deterministic-v4 has 3 for Space Invaders.
    The paper says 4."""
    policy_pool_frames: int = 2
    """Raw frames of a step that a policy sees the maximum of; a search sees the last frame alone."""
    score_rolls_over: bool = False
    """Whether its counter is known to go from 999,999 back to 0, which ALE reports as a reward of -1,000,000
    (`AtariEnv` undoes that). The paper's exploration phase did not, hence its scores just below a million."""
    negative_rewards: bool = False
    """Whether points can be lost, so that the best score in the archive may not survive to an end of episode (seen
    in 12,000 random steps of each game, ale-py 0.12.1)."""
    freezes_at_frame: int | None = None
    """Raw frame from which the game stands still with no end of episode, about."""

    @property
    def env_id(self) -> str:
        """Its Gymnasium id."""
        return f"ALE/{self.name}-v5"

    @property
    def rom(self) -> str:
        """Its name in ale-py, for example "montezuma_revenge"."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", self.name).lower()

    @property
    def frame_skip(self) -> int:
        """Raw frames for which an action is held, in the paper (Extended Data Table 1b)."""
        return 4

    @property
    def search_pool_frames(self) -> int:
        """Raw frames of a step that a search sees the maximum of: the last alone (Extended Data Table 1b)."""
        return 1

    @property
    def broken_round_trip(self) -> str | None:
        """Why its saved states cannot be trusted until they are replayed; None for most games."""
        return KNOWN_BROKEN_ROUND_TRIPS.get(self.rom)

    def notes(self) -> list[str]:
        """What to know before reading a score of this game, one sentence each."""
        notes = []
        if self.paper_frames != 2 * BILLION:
            notes.append(
                f"the paper's search score took {self.paper_frames // BILLION} billion frames; after 2 billion it was"
                f" {self.paper_exploration_at_2_billion:,}"
            )
        if self.original_code_frame_skip != self.frame_skip:
            notes.append(f"the authors' scripts held an action for {self.original_code_frame_skip} frames, not 4")
        if self.score_rolls_over:
            notes.append("the score counter rolls over at 1,000,000; the paper's search stopped there, ours counts on")
        if self.negative_rewards:
            notes.append("points can be lost: the score at an end of episode is the one to compare")
        if self.freezes_at_frame is not None:
            notes.append(
                f"the game stands still from about frame {self.freezes_at_frame:,} on, and no end of episode comes"
            )
        if self.broken_round_trip is not None:
            notes.append(self.broken_round_trip)
        return notes


def paper_games() -> tuple[AtariGame, ...]:
    """Returns the 55 games of the paper, in alphabetical order."""
    return PAPER_GAMES


def focus_games() -> tuple[AtariGame, ...]:
    """Returns the 11 games that the paper robustified."""
    return tuple(game for game in PAPER_GAMES if game.focus)


def game(name: str) -> AtariGame:
    """Returns a game of the paper.

    Args:
        name: "MontezumaRevenge", "montezuma_revenge", "ALE/MontezumaRevenge-v5" or
            "MontezumaRevengeNoFrameskip-v4"; upper and lower case do not matter.

    Raises:
        InputError: it is none of the 55.
    """
    base = re.sub(r"-v\d+$", "", name.strip().removeprefix("ALE/"))
    base = re.sub(r"(-ram|NoFrameskip|Deterministic)+$", "", base)
    found = _BY_NAME.get(base.replace("_", "").lower())
    if found is None:
        known = [one.name for one in PAPER_GAMES]
        raise InputError(f"{name!r} is none of the paper's {len(known)} Atari games{nearest(base, known)}")
    return found


PAPER_GAMES = (
    AtariGame("Alien", 959_312, None, 11_358, 7_128),
    AtariGame("Amidar", 19_083, None, 3_092, 1_720),
    AtariGame("Assault", 30_773, None, 13_759, 742),
    AtariGame("Asterix", 999_500, None, 274_491, 8_503, score_rolls_over=True),
    AtariGame("Asteroids", 112_952, None, 159_426, 47_389),
    AtariGame("Atlantis", 286_460, None, 937_558, 29_028),
    AtariGame("BankHeist", 3_668, None, 1_563, 753),
    AtariGame("BattleZone", 998_800, None, 45_610, 37_188, score_rolls_over=True),
    AtariGame("BeamRider", 371_723, None, 24_031, 16_927),
    AtariGame("Berzerk", 131_417, 197_376, 1_383, 2_630, focus=True),
    AtariGame("Bowling", 247, 260, 69, 161, focus=True),
    AtariGame("Boxing", 91, None, 99, 12, negative_rewards=True),
    AtariGame("Breakout", 774, None, 637, 31),
    AtariGame("Centipede", 613_815, 1_422_628, 10_166, 12_017, focus=True),
    AtariGame("ChopperCommand", 996_220, None, 19_256, 7_388, score_rolls_over=True),
    AtariGame("CrazyClimber", 235_600, None, 160_161, 35_829),
    AtariGame("DemonAttack", 239_895, None, 133_030, 1_971),
    AtariGame("DoubleDunk", 24, None, 23, -16, negative_rewards=True),
    AtariGame("Enduro", 1_031, None, 2_338, 861, negative_rewards=True),
    AtariGame("FishingDerby", 67, None, 49, -39, negative_rewards=True),
    AtariGame("Freeway", 34, 34, 34, 30, focus=True),
    AtariGame("Frostbite", 999_990, None, 10_003, 4_335, score_rolls_over=True),
    AtariGame("Gopher", 134_244, None, 26_123, 2_413),
    AtariGame("Gravitar", 13_385, 7_588, 3_906, 3_351, focus=True, policy_pool_frames=4),
    AtariGame("Hero", 37_783, None, 50_142, 30_826),
    AtariGame("IceHockey", 33, None, 14, 1, negative_rewards=True),
    AtariGame("Jamesbond", 200_810, None, 4_303, 303),
    AtariGame("Kangaroo", 24_300, None, 13_982, 3_035),
    AtariGame("Krull", 63_149, None, 9_971, 2_666),
    AtariGame("KungFuMaster", 24_320, None, 44_920, 22_736),
    AtariGame("MontezumaRevenge", 24_758, 43_791, 11_618, 4_753, focus=True, score_rolls_over=True),
    AtariGame("MsPacman", 456_123, None, 9_901, 6_952),
    AtariGame("NameThisGame", 212_824, None, 18_084, 8_049),
    AtariGame("Phoenix", 19_200, None, 148_840, 7_243),
    AtariGame(
        "Pitfall",
        7_875,
        6_954,
        0,
        6_464,
        focus=True,
        paper_frames=5 * BILLION,
        paper_exploration_at_2_billion=6_945,
        freezes_at_frame=72_000,
        negative_rewards=True,
    ),
    AtariGame("Pong", 21, None, 21, 15, negative_rewards=True),
    AtariGame(
        "PrivateEye",
        69_976,
        95_756,
        26_364,
        69_571,
        focus=True,
        paper_frames=15 * BILLION,
        paper_exploration_at_2_billion=60_529,
        negative_rewards=True,
    ),
    AtariGame("Qbert", 999_975, None, 26_172, 13_455, score_rolls_over=True),
    AtariGame("Riverraid", 35_588, None, 24_116, 17_118),
    AtariGame("RoadRunner", 999_900, None, 67_962, 7_845, score_rolls_over=True),
    AtariGame("Robotank", 143, None, 70, 12),
    AtariGame("Seaquest", 539_456, None, 64_985, 42_055),
    AtariGame(
        "Skiing",
        -4_185,
        -3_660,
        -10_386,
        -4_337,
        focus=True,
        paper_frames=5 * BILLION,
        paper_exploration_at_2_billion=-4_242,
        negative_rewards=True,
    ),
    AtariGame("Solaris", 20_306, 19_671, 3_282, 12_327, focus=True),
    AtariGame("SpaceInvaders", 93_147, None, 24_183, 1_669, original_code_frame_skip=3),
    AtariGame("StarGunner", 609_580, None, 265_480, 10_250),
    AtariGame("Tennis", 24, None, 23, -8, negative_rewards=True),
    AtariGame("TimePilot", 183_620, None, 32_813, 5_229),
    AtariGame("Tutankham", 528, None, 288, 168),
    AtariGame("UpNDown", 553_718, None, 193_520, 11_693, score_rolls_over=True),
    AtariGame("Venture", 3_074, 2_281, 1_916, 1_188, focus=True, policy_pool_frames=4),
    AtariGame("VideoPinball", 999_999, None, 656_572, 17_668, score_rolls_over=True),
    AtariGame("WizardOfWor", 199_900, None, 10_980, 4_757),
    AtariGame("YarsRevenge", 999_998, None, 93_680, 54_577, score_rolls_over=True),
    AtariGame("Zaxxon", 18_340, None, 25_603, 9_173),
)


_BY_NAME = {one.name.lower(): one for one in PAPER_GAMES}
