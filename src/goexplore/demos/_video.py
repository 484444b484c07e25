"""Videos of trajectories, through the ffmpeg that a wheel ships."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.errors import InputError
from goexplore.plugins import missing_extra

CAPTION_HEIGHT = 28
SMALLEST_WIDTH = 480
ATARI_FRAME = (210, 160)
ATARI_FPS = 60
OTHER_STEPS_PER_SECOND = 10.0

Picture = NDArray[np.uint8]


def shown_steps_per_second(frames_per_step: int, *, atari: bool) -> float:
    """How many steps of the agent people are shown in a second, at the game's own speed."""
    return ATARI_FPS / frames_per_step if atari else OTHER_STEPS_PER_SECOND


def check_video(path: Path) -> None:
    """Whether a video can be written there; to be asked before the long work that it shows.

    Raises:
        InputError: the name ends in something else than .mp4 or .gif, nothing can be written there, or the video extra
            is missing.
    """
    if path.suffix not in (".mp4", ".gif"):
        raise InputError(f"cannot write {path.name!r}: expected a name that ends in .mp4 or .gif")
    with _blaming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
    needed = {"PIL": "Pillow (for video captions)"}
    if path.suffix == ".mp4":
        needed["imageio_ffmpeg"] = "imageio-ffmpeg (it ships ffmpeg)"
    for module, what in needed.items():
        try:
            import_module(module)
        except ImportError as error:
            raise missing_extra(what, "video") from error


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"the video {path} cannot be written: {error.strerror or error}") from error


@contextmanager
def video_writer(path: Path, *, fps: float) -> Iterator[Callable[[Picture, str], None]]:
    """Opens an .mp4 or .gif; the file appears only when all frames were written.

    Yields:
        A function that adds a picture with a caption below it.

    Raises:
        InputError: the name ends in something else, the file cannot be written, or the video extra is missing.
    """
    check_video(path)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    sink = _Mp4(temporary, fps) if path.suffix == ".mp4" else _Gif(temporary, fps)

    def add(picture: Picture, caption: str) -> None:
        with _blaming(path):
            sink.add(captioned(enlarged(picture), caption))

    try:
        yield add
        with _blaming(path):
            sink.close()
            temporary.replace(path)
    except BaseException:
        sink.abandon()
        with suppress(OSError):
            temporary.unlink()
        raise


def enlarged(picture: Picture) -> Picture:
    """Scales a small picture up by whole factors; Atari's pixels are twice as wide as high."""
    if picture.shape[:2] == ATARI_FRAME:
        return picture.repeat(2, axis=0).repeat(4, axis=1)
    factor = max(1, -(-SMALLEST_WIDTH // picture.shape[1]))
    return picture.repeat(factor, axis=0).repeat(factor, axis=1)


def captioned(picture: Picture, caption: str) -> Picture:
    """Adds a dark strip with white text below, and pads to the even size that video needs."""
    from PIL import Image, ImageDraw, ImageFont

    height, width = picture.shape[:2]
    canvas = Image.new("RGB", (width + width % 2, height + CAPTION_HEIGHT + height % 2), (16, 18, 24))
    canvas.paste(Image.fromarray(picture), (0, 0))
    font = ImageFont.load_default(16)
    ImageDraw.Draw(canvas).text((10, height + 4), caption, fill=(235, 235, 235), font=font)
    return np.asarray(canvas)


class _Mp4:
    def __init__(self, path: Path, fps: float) -> None:
        import imageio_ffmpeg

        self._ffmpeg, self._path, self._fps = imageio_ffmpeg, path, fps
        self._stream: Any = None

    def add(self, picture: Picture) -> None:
        if self._stream is None:
            height, width = picture.shape[:2]
            self._stream = self._ffmpeg.write_frames(
                str(self._path),
                (width, height),
                fps=self._fps,
                codec="libx264",
                quality=7,
                macro_block_size=2,
                ffmpeg_log_level="error",
            )
            self._stream.send(None)
        self._stream.send(np.ascontiguousarray(picture))

    def close(self) -> None:
        if self._stream is None:
            raise InputError("there is nothing to film: the trajectory has no frames")
        self._stream.close()

    def abandon(self) -> None:
        if self._stream is not None:
            self._stream.close()


class _Gif:
    def __init__(self, path: Path, fps: float) -> None:
        self._path, self._fps = path, fps
        self._pictures: list[Any] = []

    def add(self, picture: Picture) -> None:
        from PIL import Image

        self._pictures.append(Image.fromarray(picture).quantize(64))

    def close(self) -> None:
        first, *rest = self._pictures
        first.save(
            self._path,
            save_all=True,
            append_images=rest,
            duration=int(1000 / self._fps),
            loop=0,
            optimize=True,
        )

    def abandon(self) -> None:
        self._pictures = []
