from __future__ import annotations

import pytest

LIAR = """
from goexplore.envs.toys import Chain

class Generous(Chain):
    # Pays for every step, but only after its state was restored: no such score can be replayed from reset.
    generous = False

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, reward + self.generous, *rest

    def get_state(self):
        return self.position

    def set_state(self, state):
        self.position, self.generous = state, True
"""


@pytest.fixture
def generous(tmp_path, monkeypatch) -> str:
    (tmp_path / "liar.py").write_text(LIAR)
    monkeypatch.syspath_prepend(tmp_path)
    return "liar:Generous"
