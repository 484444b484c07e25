"""Ranks that fail, and ranks that only seem to."""

from __future__ import annotations

import atexit
import os
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from goexplore.errors import GoExploreError  # noqa: E402
from goexplore.learn import Ranks, launch  # noqa: E402
from goexplore.learn._ranks import _await  # noqa: E402


def _aborts_after_its_work(ranks: Ranks) -> int:
    if not ranks.leads:
        atexit.register(os.abort)
    return int(ranks.sum(torch.tensor(1.0)))


def test_a_rank_that_aborts_after_its_work_has_done_it():
    assert launch(_aborts_after_its_work, ranks=2) == 2


def test_a_rank_that_never_comes_up_is_noticed_at_once(tmp_path):
    (tmp_path / "up-0").touch()
    with pytest.raises(GoExploreError, match=r"exit code 3.*__main__"):
        _await(str(tmp_path), [SimpleNamespace(exitcode=None), SimpleNamespace(exitcode=3)])
