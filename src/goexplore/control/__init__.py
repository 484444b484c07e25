"""Controls: what learns without going back, beside which Go-Explore is judged."""

from goexplore.control._config import ControlConfig, control_preset
from goexplore.control._control import ControlResult, control, resume_control
from goexplore.control._environments import ResetEnvironments
from goexplore.control._training import ControlTraining

__all__ = [
    "ControlConfig",
    "ControlResult",
    "ControlTraining",
    "ResetEnvironments",
    "control",
    "control_preset",
    "resume_control",
]
