"""The two kinds of failure a user meets, and the exit code each one carries."""

from __future__ import annotations


class GoExploreError(Exception):
    """Something went wrong that is not the user's input: a full disk, a replay that disagrees."""

    exit_code = 1


class InputError(GoExploreError):
    """Bad input, in one sentence: what was got, what was expected, how to fix it."""

    exit_code = 2
