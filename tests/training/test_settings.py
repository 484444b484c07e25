"""Single settings by name, as --set takes them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from goexplore.errors import InputError
from goexplore.robustification import PRESETS, RobustifyConfig
from goexplore.training import altered


def test_single_settings_by_name():
    config = altered(RobustifyConfig(), {"ppo.learning_rate": 1e-3, "actors": 24, "network.hidden": [64, 64]})
    assert (config.ppo.learning_rate, config.actors, config.network.hidden) == (1e-3, 24, (64, 64))
    assert altered(config, {"ppo.gradient_norm": 0.5}).ppo.gradient_norm == 0.5
    with pytest.raises(InputError, match=r"did you mean ppo.learning_rate"):
        altered(config, {"ppo.learningrate": 1})
    for wrong in ({"actors": "many"}, {"actors": 1.5}, {"backward.virtual": 1}, {"ppo.clip": True}):
        with pytest.raises(InputError, match="expected something like"):
            altered(config, wrong)


def test_a_setting_that_was_none_takes_what_its_type_says():
    laptop = PRESETS["laptop"]
    changed = altered(laptop, {"backward.landmarks": "ram:room=3", "ppo.value_clip": 1, "backward.leg_frames": None})
    assert changed.backward.landmarks == "ram:room=3"
    assert changed.ppo.value_clip == 1
    assert changed.backward.leg_frames is None
    assert altered(PRESETS["paper"], {"backward.leg_frames": 40.0}).backward.leg_frames == 40


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("backward.landmarks", 3, "landmarks 3: expected something like str"),
        ("ppo.value_clip", "much", "value_clip 'much': expected something like float"),
        ("backward.window_frames", 1.5, "window_frames 1.5: expected something like 64"),
        ("backward.virtual", 1, "virtual 1: expected something like True"),
        ("actors", True, "actors True: expected something like 48"),
        ("ppo.gama", 0.9, "there is no setting 'ppo.gama'"),
    ],
)
def test_what_does_not_fit_is_said(name, value, sentence):
    with pytest.raises(InputError, match=sentence):
        altered(PRESETS["laptop"], {name: value})


def test_settings_that_are_valid_only_together_may_come_in_any_order():
    config = altered(RobustifyConfig(), {"network.least_deviation": 2.0, "network.deviation": 3.0})
    together = {"network.deviation": 0.1, "network.least_deviation": 0.05}
    assert altered(config, together).network.deviation == 0.1
    with pytest.raises(InputError, match="least_deviation"):
        altered(config, {"network.deviation": 0.1})
