"""MiniGrid's key and door, from search to tested policy, under random actions."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("minigrid")

from scripts.minigrid_end_to_end import end_to_end


def test_a_policy_holds_where_its_demonstration_does_not(tmp_path):
    result = end_to_end(
        tmp_path, env="MiniGrid-DoorKey-5x5-v0", noise=0.2, steps=80_000, episodes=200, ranks=2, progress=False
    )
    assert result["blind_replay_success"] < 0.5
    assert result["policy_success"] >= 0.95
