"""How the time of actors is shared between demonstrations and starts from reset."""

from __future__ import annotations

import math
from dataclasses import dataclass

BALANCE_DECAY = 0.9999
"""What a step that was taken still counts one step later, of any actor."""


@dataclass(slots=True)
class Balance:
    """How much time goes to episodes from reset (the virtual demonstration), shared by the actors of a rank.

    The two kinds of episode differ in length by far. The paper draws the virtual demonstration with probability
    odds * l_d / l_v from the mean lengths, which gives the same share of steps in the long run; but until the first
    long episode is over its length is unknown, and every actor would be sent off. So steps are counted as they are
    taken, and no more actors are on their way from reset at a time than the share says.
    """

    odds: float
    """Steps from reset for each step along demonstrations."""
    actors: int
    running: int = 0
    """Actors in an episode from reset."""
    virtual_steps: float = 0.0
    other_steps: float = 0.0

    @property
    def wants_virtual(self) -> bool:
        """Whether the next episode should begin at reset."""
        most = math.ceil(self.actors * self.odds / (1.0 + self.odds))
        return self.running < most and self.virtual_steps <= self.odds * self.other_steps

    def count(self, *, virtual: bool) -> None:
        """Counts a step."""
        self.virtual_steps = BALANCE_DECAY * self.virtual_steps + virtual
        self.other_steps = BALANCE_DECAY * self.other_steps + (not virtual)
