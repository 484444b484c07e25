from __future__ import annotations

import pytest

from goexplore.envs import EnvSpec, check_env
from tests.conftest import last_json


def failures(env: str, **settings) -> set[str]:
    spec = EnvSpec(f"tests.lying_envs:{env}", **settings)
    return {check.name for check in check_env(spec, steps=300) if not check.passed}


@pytest.mark.parametrize("method", ["native", "copy"])
def test_an_honest_environment_passes(method):
    assert failures("Honest", return_method=method) == set()


def test_toys_pass():
    for env in ("KeyDoorMaze", "Chain", "PointRooms"):
        assert all(check.passed for check in check_env(EnvSpec(f"goexplore/{env}-v0"), steps=300))


@pytest.mark.parametrize(
    ("env", "caught_by"),
    [
        ("GlobalRandomness", "deterministic"),
        ("ClockRandomness", "deterministic"),
        ("ResetKeepsSomething", "reset forgets everything"),
        ("NanReward", "rewards are numbers"),
    ],
)
def test_liars_are_caught(env, caught_by):
    assert caught_by in failures(env)


def test_a_snapshot_that_misses_state_is_caught():
    assert "round trip" in failures("ForgetfulState", return_method="native")


def test_a_snapshot_that_does_not_survive_the_process_is_caught():
    failed = failures("StateInTheProcess", return_method="native")
    assert failed == {"round trip across processes"}


def test_an_environment_that_raises_on_a_foreign_snapshot_is_caught_not_crashed():
    failed = failures("TicketFromAnotherProcess", return_method="native")
    assert failed == {"round trip across processes"}


def test_an_environment_that_prints_is_no_liar():
    assert failures("Chatty") == set()


def test_an_id_is_enough():
    import goexplore

    assert all(check.passed for check in goexplore.check_env("goexplore/Chain-v0", steps=50))


def test_auto_avoids_hooks_that_forget():
    checks = list(check_env(EnvSpec("tests.lying_envs:ForgetfulState"), steps=200))
    assert all(check.passed for check in checks)
    assert "copy" in checks[0].detail


@pytest.mark.atari
def test_qbert_is_reported(cli):
    completed = cli("check-env", "ALE/Qbert-v5", "--steps", "1500", "--json")
    assert completed.returncode == 1
    failed = {check["name"] for check in __import__("json").loads(completed.stdout)["checks"] if not check["passed"]}
    assert {"round trip", "round trip across processes", "known issues"} <= failed


@pytest.mark.atari
def test_montezuma_passes(cli):
    assert last_json(cli("check-env", "ALE/MontezumaRevenge-v5", "--steps", "300", "--json"))["passed"]
