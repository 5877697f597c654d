"""Frames: what goes in comes out, in whatever pieces, and what is no frame is refused."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import numpy as np
import pytest

from mlxdecoder.app.protocol import LENGTHS, TYPES, Decoder, Message, ProtocolError, encode


def framed(arrays: Any, body: bytes) -> bytes:
    """A frame of a message whose arrays are described as somebody else would."""
    header = json.dumps({"kind": "odd", "run": 1, "fields": {}, "arrays": arrays}).encode()
    header += b" " * (-len(header) % 8)
    return LENGTHS.pack(len(header), len(body)) + header + body


@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_every_type_and_shape_comes_back_whatever_the_pieces(piece: int) -> None:
    shapes = [(3,), (0,), (2, 0, 3), (1, 5), (2, 3, 7)]
    arrays = {f"{name} {shape}": np.ones(shape, name) for name in TYPES for shape in shapes}
    frames = encode(Message("first", 3, {"text": "猫"}, arrays)) + encode(Message("second"))
    decoder = Decoder()
    told = [one for at in range(0, len(frames), piece) for one in decoder.feed(frames[at : at + piece])]
    assert [(one.kind, one.run, one.fields) for one in told] == [("first", 3, {"text": "猫"}), ("second", 0, {})]
    for name, array in told[0].arrays.items():
        assert array.dtype == arrays[name].dtype and array.shape == arrays[name].shape
        assert array.all() and array.flags.aligned
    assert list(told[0].arrays) == list(arrays)


def test_the_arrays_of_a_frame_are_not_changed_by_the_next_one() -> None:
    decoder = Decoder()
    frames = [encode(Message("source", arrays={"values": np.full(1000, value, np.int32)})) for value in (1, 2, 3)]
    (first,) = decoder.feed(frames[0] + frames[1][:99])
    rest = [*decoder.feed(frames[1][99:]), *decoder.feed(frames[2])]
    assert (first.arrays["values"] == 1).all()
    assert [one.arrays["values"].max() for one in rest] == [2, 3]
    assert not first.arrays["values"].flags.writeable


def test_a_large_frame_is_copied_once() -> None:
    frame = encode(Message("source", arrays={name: np.zeros(2**20, np.float32) for name in "ab"}))
    decoder = Decoder()
    tracemalloc.start()
    try:
        told = list(decoder.feed(frame))
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(told) == 1
    assert held < 1.2 * len(frame) and most < 2.3 * len(frame)  # what waits, and the message


@pytest.mark.parametrize(
    ("arrays", "body"),
    [
        ([["a", "float32", [-1, 2]]], b""),
        ([["a", "float32", [-1]]], bytes(8)),
        ([["a", "float32", [-2, -1]]], bytes(8)),
        ([["a", "uint8", [2**62, 2**62]]], bytes(8)),
        ([["a", "uint8", [0, 2**70]]], b""),
        ([["a", "float32", [4]]], bytes(8)),
        ([["a", "float32", [2]]], bytes(16)),
        ([], bytes(8)),
        ([["a", "float32", [2.0]]], bytes(8)),
        ([["a", "float32", "2"]], bytes(8)),
        ([["a", "float64", [1]]], bytes(8)),
        ([["a", "object", [1]]], bytes(8)),
        ([["a", "float32"]], bytes(8)),
        (None, b""),
    ],
)
def test_arrays_that_do_not_fit_their_frame_are_refused(arrays: Any, body: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(Decoder().feed(framed(arrays, body)))


def test_a_frame_as_it_is_described_is_read() -> None:
    described = [["a", "uint8", [3]], ["b", "float32", [1, 2]]]
    (told,) = Decoder().feed(framed(described, bytes([1, 2, 3]) + bytes(5) + np.float32([4, 5]).tobytes()))
    assert told.arrays["a"].tolist() == [1, 2, 3]
    assert told.arrays["b"].tolist() == [[4, 5]]


def test_what_frames_do_not_carry_is_not_sent() -> None:
    with pytest.raises(ProtocolError, match="float64"):
        encode(Message("source", arrays={"a": np.zeros(2)}))
