"""The processes that train together, started by `mlx.launch`, and what they tell each other."""

from __future__ import annotations

import io
import json
import os
import platform
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np

from mlxdecoder.errors import UserError

SILENCE = 600.0  # seconds that a step waits for the others; a machine that sleeps never says that it has gone
WORK = 7200.0  # seconds that the others wait while the first one reads or measures
GOES_ON = "The checkpoints are kept; train --resume goes on, with any number of processes."


class Peers:
    """This process and those that train with it; without a group it is alone, and nothing is sent.

    `rank` counts from 0, the first, which alone reads, measures, shows and saves; `size` is how many there are.
    """

    def __init__(self, group: Any = None) -> None:
        self._group = group
        self.rank: int = 0 if group is None else group.rank()
        self.size: int = 1 if group is None else group.size()
        self._wanted = self._told = False

    @property
    def name(self) -> str:
        """As which process this one is named to the user."""
        return f"process {self.rank} of {self.size}, on {platform.node()}"

    def total(self, loss: mx.array, gradient: mx.array) -> tuple[mx.array, mx.array]:
        """Loss [] and gradient [P] summed over all processes, in one message that also says who wants to stop.

        Raises `UserError` when another process has gone.
        """
        if self.size == 1:
            return loss, gradient
        message = mx.concatenate([gradient, mx.stack([loss, mx.array(float(self._wanted))])])  # [P + 2]
        mx.eval(message)  # ahead of the wait: a GPU is not kept waiting for more than some seconds
        with _watched(self.name, SILENCE):
            summed = self._sum(message)
        self._told = summed[-1].item() > 0
        return summed[-2], summed[:-2]

    def stops(self, wanted: bool) -> bool:
        """Whether all stop after this step: when it is `wanted` here, or was said with the last message.

        Others hear of what is wanted here with the message of the next step, so that all stop after the same one.
        """
        if self.size == 1:
            return wanted
        self._wanted = wanted
        return self._told

    def any(self, holds: bool) -> bool:
        """Whether it holds for one of the processes; the others wait while the first one works."""
        if self.size == 1:
            return holds
        with _watched(self.name, WORK):
            return self._sum(mx.array([holds], mx.int32)).item() > 0

    def share(self, arrays: dict[str, mx.array], told: dict[str, Any]) -> tuple[dict[str, mx.array], dict[str, Any]]:
        """What the first process gives, arrays and what JSON can hold, for all; the others' own is not looked at."""
        data = _packed(arrays, told) if self.rank == 0 else b""
        with _watched(self.name, WORK):
            length = self._sum(mx.array([len(data)], mx.int64)).item()
            sent = np.frombuffer(data, np.uint8) if self.rank == 0 else np.zeros(length, np.uint8)
            return _unpacked(np.array(self._sum(mx.array(sent))).tobytes())

    def _sum(self, message: mx.array) -> mx.array:
        try:
            summed = mx.distributed.all_sum(message, group=self._group, stream=mx.cpu)
            mx.eval(summed)
        except RuntimeError as error:
            raise UserError(f"{self.name}: another process ended, or cannot be reached ({error}). {GOES_ON}") from None
        return summed


ALONE = Peers()


def join() -> Peers:
    """Connect with the other processes that `mlx.launch` started; alone, where it started none.

    Raises `UserError` when there is no way to them. All must call it, once, before anything that may take long.
    """
    if "MLX_RANK" not in os.environ:
        return ALONE
    try:
        return ALONE if _launched_alone() else Peers(mx.distributed.init(strict=True))
    except (OSError, RuntimeError, ValueError) as error:
        raise UserError(
            f"process {os.environ['MLX_RANK']}, on {platform.node()}: cannot connect with the others ({error}); "
            "look at the addresses, and give mlx.launch another --starting-port if the port is in use."
        ) from None


def _launched_alone() -> bool:
    """`mlx.launch -n 1` names a file of hosts that is blank."""
    hosts = os.environ.get("MLX_HOSTFILE")
    return hosts is not None and Path(hosts).is_file() and not Path(hosts).read_text(encoding="utf-8").strip()


@contextmanager
def _watched(name: str, seconds: float) -> Iterator[None]:
    """End this process when the wait in here takes too long; nothing else could, since MLX does not look up."""

    def end() -> None:
        said = f"{name}: nothing heard from the others for {seconds / 60:g} minutes. {GOES_ON}"
        print(f"mlxdecoder: {said}", file=sys.stderr, flush=True)
        os._exit(2)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _packed(arrays: dict[str, mx.array], told: dict[str, Any]) -> bytes:
    """In the format safetensors."""
    buffer = io.BytesIO()
    mx.save_safetensors(buffer, arrays, {"told": json.dumps(told)})
    return buffer.getvalue()


def _unpacked(data: bytes) -> tuple[dict[str, mx.array], dict[str, Any]]:
    arrays, metadata = mx.load(io.BytesIO(data), format="safetensors", return_metadata=True)
    mx.eval(arrays)
    return arrays, json.loads(metadata["told"])
