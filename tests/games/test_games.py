from __future__ import annotations

import subprocess
import sys

import pytest

from goexplore import games
from goexplore.errors import InputError

SUMS = (14_543_388, 1_792_679, 3_657_584, 587_805)
FOCUS = "Berzerk Bowling Centipede Freeway Gravitar MontezumaRevenge Pitfall PrivateEye Skiing Solaris Venture"


def test_the_paper_has_55_games_and_robustified_11():
    listed = games.paper_games()
    assert len(listed) == len({game.name for game in listed}) == 55
    assert [game.name for game in listed] == sorted(game.name for game in listed)
    assert " ".join(game.name for game in games.focus_games()) == FOCUS
    assert all((game.paper_robustified is not None) == game.focus for game in listed)


@pytest.mark.parametrize(
    ("name", "exploration", "robustified", "state_of_the_art", "human", "billions"),
    [
        ("Alien", 959_312, None, 11_358, 7_128, 2),
        ("Centipede", 613_815, 1_422_628, 10_166, 12_017, 2),
        ("DoubleDunk", 24, None, 23, -16, 2),
        ("Freeway", 34, 34, 34, 30, 2),
        ("MontezumaRevenge", 24_758, 43_791, 11_618, 4_753, 2),
        ("Pitfall", 7_875, 6_954, 0, 6_464, 5),
        ("PrivateEye", 69_976, 95_756, 26_364, 69_571, 15),
        ("Skiing", -4_185, -3_660, -10_386, -4_337, 5),
        ("VideoPinball", 999_999, None, 656_572, 17_668, 2),
        ("Zaxxon", 18_340, None, 25_603, 9_173, 2),
    ],
)
def test_numbers_of_the_paper(name, exploration, robustified, state_of_the_art, human, billions):
    game = games.game(name)
    assert game.paper_exploration == exploration
    assert game.paper_robustified == robustified
    assert game.state_of_the_art == state_of_the_art
    assert game.average_human == human
    assert game.paper_frames == billions * 10**9


def test_sums_over_the_table():
    """Any digit mistyped anywhere changes one of these (added up from the paper's own table)."""
    listed = games.paper_games()
    assert sum(game.paper_exploration for game in listed) == SUMS[0]
    assert sum(game.paper_robustified or 0 for game in listed) == SUMS[1]
    assert sum(game.state_of_the_art for game in listed) == SUMS[2]
    assert sum(game.average_human for game in listed) == SUMS[3]


@pytest.mark.parametrize(
    "name",
    [
        "MontezumaRevenge",
        "montezuma_revenge",
        "ALE/MontezumaRevenge-v5",
        "MontezumaRevengeNoFrameskip-v4",
        "montezumarevenge",
    ],
)
def test_a_game_goes_by_many_names(name):
    game = games.game(name)
    assert (game.name, game.rom, game.env_id) == ("MontezumaRevenge", "montezuma_revenge", "ALE/MontezumaRevenge-v5")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("MontezumasRevenge", "did you mean MontezumaRevenge"),
        ("ALE/Alein-v5", "did you mean Alien"),
        ("Tetris", "is none of the paper's 55 Atari games"),
        ("", "is none of the paper's 55 Atari games"),
    ],
)
def test_an_unknown_game_gets_a_sentence(name, sentence):
    with pytest.raises(InputError, match=sentence):
        games.game(name)


def test_what_to_know_about_a_game():
    assert games.game("SpaceInvaders").original_code_frame_skip == 3
    assert {game.name for game in games.paper_games() if game.original_code_frame_skip != game.frame_skip} == {
        "SpaceInvaders"
    }
    assert {game.name for game in games.paper_games() if game.policy_pool_frames == 4} == {"Gravitar", "Venture"}
    assert "15 billion frames; after 2 billion it was 60,529" in games.game("PrivateEye").notes()[0]
    assert any("frame 72,000" in note for note in games.game("Pitfall").notes())
    assert "ALE #732" in games.game("qbert").notes()[-1]
    assert games.game("Skiing").negative_rewards
    assert games.game("Breakout").notes() == []
    # Nothing above a million can be in the paper's search column: its exploration did not undo the rollover.
    ceiling = {game.name for game in games.paper_games() if game.paper_exploration > 990_000}
    assert ceiling <= {game.name for game in games.paper_games() if game.score_rolls_over}


def test_the_table_needs_no_simulator():
    code = "import sys; import goexplore.games as g; g.game('Alien').notes(); assert 'ale_py' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.atari
def test_ale_has_every_game():
    from goexplore.envs import atari_games

    roms = atari_games()
    assert {game.name: game.rom for game in games.paper_games()}.items() <= roms.items()


@pytest.mark.atari
def test_points_can_be_lost():
    """One of what was measured for every game."""
    from goexplore.evaluation import random_play

    assert games.game("Pong").negative_rewards
    played = random_play("ALE/Pong-v5", frames=6000)
    assert played.end_score is not None
    assert played.end_score < 0
