"""How the window and its worker talk: frames of a small JSON header and raw arrays, over a pipe. No Qt, no MLX.

A frame is the length of the header and the length of what follows it, four bytes each, the lowest first; then the
header; then the bytes of the arrays, one behind the other. The header and each array are filled up to a multiple of
eight bytes, so that arrays can be used where they lie in the frame.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

LENGTHS = struct.Struct("<II")
ALIGNMENT = 8
LARGEST_HEADER = 2**24
LARGEST_BODY = 2**30
TYPES = ("float16", "float32", "bool", "int32", "uint8")


class ProtocolError(RuntimeError):
    """What came over the pipe is no frame; nothing that follows it can be trusted."""


@dataclass(frozen=True)
class Message:
    """One thing that is asked or told.

    `run` tells which request it belongs to: answers carry the number of their request. `fields` are what JSON knows.
    """

    kind: str
    run: int = 0
    fields: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]


def encode(message: Message) -> bytes:
    """A message as a frame. Raises `ProtocolError` for an array of a type that frames do not carry."""
    arrays = {name: np.ascontiguousarray(array) for name, array in message.arrays.items()}
    for name, array in arrays.items():
        if array.dtype.name not in TYPES:
            raise ProtocolError(f"array {name}: {array.dtype} found, one of {', '.join(TYPES)} wanted")
    described = [[name, array.dtype.name, list(array.shape)] for name, array in arrays.items()]
    content = {"kind": message.kind, "run": message.run, "fields": dict(message.fields), "arrays": described}
    header = json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    header += b" " * _missing(len(header))
    size = sum(array.nbytes + _missing(array.nbytes) for array in arrays.values())
    body = (part for array in arrays.values() for part in (array.data, bytes(_missing(array.nbytes))))
    return b"".join([LENGTHS.pack(len(header), size), header, *body])


class Decoder:
    """Puts frames together from whatever pieces the pipe delivers."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Take bytes; gives the messages that are whole by now. Raises `ProtocolError` for what is no frame."""
        self._waiting += data
        while len(self._waiting) >= LENGTHS.size:
            header, body = LENGTHS.unpack_from(self._waiting)
            if header > LARGEST_HEADER or body > LARGEST_BODY:
                raise ProtocolError(f"a frame of {header} and {body} bytes was announced")
            end = LENGTHS.size + header + body
            if len(self._waiting) < end:
                return
            with memoryview(self._waiting) as waiting, waiting[LENGTHS.size : end] as view:
                frame = bytes(view)  # the only copy; the arrays stay in it
            del self._waiting[:end]
            yield _message(frame, header)


def _message(frame: bytes, body: int) -> Message:
    """What a frame says, whose arrays begin at `body`."""
    try:
        content = json.loads(frame[:body])
        arrays, place = {}, body
        for name, dtype, shape in content["arrays"]:
            array = arrays[name] = _array(frame, place, name, dtype, shape)
            place += array.nbytes + _missing(array.nbytes)
        if place != len(frame):
            raise ProtocolError(f"arrays of {place - body} bytes were announced in {len(frame) - body}")
        return Message(content["kind"], content["run"], content["fields"], arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise ProtocolError(f"a frame cannot be read: {error}") from None


def _array(frame: bytes, place: int, name: str, dtype: str, shape: list[int]) -> np.ndarray:
    if dtype not in TYPES:
        raise ProtocolError(f"array {name}: {dtype} found, one of {', '.join(TYPES)} wanted")
    if any(side < 0 for side in shape):
        raise ProtocolError(f"array {name}: shape {shape} found, sides of at least 0 wanted")
    return np.ndarray(shape, dtype, frame, place)


def _missing(size: int) -> int:
    """How many bytes there are to the next multiple of the alignment."""
    return -size % ALIGNMENT
