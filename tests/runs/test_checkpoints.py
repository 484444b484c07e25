from __future__ import annotations

import os

import numpy as np
import pytest

from goexplore.errors import InputError
from goexplore.runs import read_newest_checkpoint, write_checkpoint


def arrays(value: int):
    return {"a": np.full(2000, value), "b.c": np.frombuffer(b"xyz", np.uint8)}


def newest(folder):
    warnings: list[str] = []
    return int(read_newest_checkpoint(folder, warn=warnings.append)["a"][0]), warnings


def test_the_newest_two_are_kept(tmp_path):
    for iteration in range(5):
        write_checkpoint(tmp_path, iteration, arrays(iteration))
    assert len(list(tmp_path.iterdir())) == 2
    assert newest(tmp_path) == (4, [])


def damage_truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


def damage_bit(data: bytes) -> bytes:
    return data[:5000] + bytes([data[5000] ^ 1]) + data[5001:]


def damage_last_bit(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 128])


def damage_empty(data: bytes) -> bytes:
    return b""


def damage_grown(data: bytes) -> bytes:
    return data + b"\0"


@pytest.mark.parametrize("damage", [damage_truncated, damage_bit, damage_last_bit, damage_empty, damage_grown])
def test_damage_is_seen_and_the_one_before_is_used(tmp_path, damage):
    for iteration in (1, 2):
        write_checkpoint(tmp_path, iteration, arrays(iteration))
    last = max(tmp_path.iterdir())
    last.write_bytes(damage(last.read_bytes()))
    value, warnings = newest(tmp_path)
    assert value == 1
    assert len(warnings) == 1
    assert last.name in warnings[0]
    assert "\n" not in warnings[0]


def test_damaged_ones_do_not_take_the_place_of_whole_ones(tmp_path):
    for iteration in (1, 9):
        write_checkpoint(tmp_path, iteration, arrays(iteration))
    max(tmp_path.glob("*.npz")).write_bytes(b"")
    read_newest_checkpoint(tmp_path, warn=print, set_damaged_aside=True)
    for iteration in (2, 3):
        write_checkpoint(tmp_path, iteration, arrays(iteration))
    assert [path.name[10:19] for path in sorted(tmp_path.glob("*.npz"))] == ["000000002", "000000003"]
    assert newest(tmp_path) == (3, [])


def test_a_half_written_file_is_no_checkpoint(tmp_path):
    write_checkpoint(tmp_path, 1, arrays(1))
    (tmp_path / ".writing.123.tmp").write_bytes(b"half")
    assert newest(tmp_path) == (1, [])
    write_checkpoint(tmp_path, 2, arrays(2))
    assert not list(tmp_path.glob("*.tmp"))


def test_when_all_are_damaged_it_says_so(tmp_path):
    write_checkpoint(tmp_path, 1, arrays(1))
    for path in tmp_path.iterdir():
        path.write_bytes(b"")
    with pytest.raises(InputError, match="every checkpoint"):
        newest(tmp_path)


def test_a_full_disk_leaves_the_last_checkpoint_intact(tmp_path, monkeypatch):
    write_checkpoint(tmp_path, 1, arrays(1))

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        write_checkpoint(tmp_path, 2, arrays(2))
    assert newest(tmp_path) == (1, [])
    assert len(list(tmp_path.iterdir())) == 1


def test_a_checkpoint_that_would_run_code_does_not(tmp_path):
    """A stranger's file with a correct checksum and a pickle inside."""
    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return (os.system, (f"touch {marker}",))

    bomb = np.empty(1, object)
    bomb[0] = Bomb()
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    path = write_checkpoint(folder, 1, arrays(1))
    with path.open("wb") as file:
        np.savez(file, a=bomb, allow_pickle=True)
    from goexplore.runs._checkpoints import _digest

    path.rename(folder / f"iteration-000000001.{_digest(path)}.npz")
    with pytest.raises(InputError):
        newest(folder)
    assert not marker.exists()
