"""What a tokenizer.json may ask for: its library takes gigabytes for some small files, and cannot be stopped."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

from mlxdecoder.errors import UserError

FILE = "tokenizer.json"
LARGEST = 33 * 2**20  # bytes; the largest that is known, that of Gemma 3, has 33.4 million
MOST = {",": 1_400_000, "[": 700_000, "{": 100_000}  # characters, of which the same file has 1.3 million and half
MOST_ADDED = 2**19  # bytes of pieces that are looked for in a text before it is cut
MOST_NODES = 1_000_000  # of the tree that pieces of a Unigram vocabulary stand in, some 330 bytes each
MOST_GROWTH = 10_000
GROWTH = {"NFC": 3, "NFD": 4, "NFKC": 18, "NFKD": 18, "Precompiled": 18, "Lowercase": 2, "ByteLevel": 2}


def largest_id(data: bytes) -> int:
    """The largest id of the vocabulary, -1 where it is empty.

    Raises `UserError` for a file that would take more memory than the largest that are in use.
    """
    if len(data) > LARGEST:
        raise UserError(f"{FILE}: {len(data):,} bytes found; at most {LARGEST:,} are read.")
    for character, most in MOST.items():
        if (found := data.count(character.encode())) > most:
            raise UserError(f"{FILE}: {found:,} times {character!r} found; at most {most:,} are read.")
    try:
        return _checked(json.loads(data))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{FILE}: not a tokenizer, or damaged.") from None


def _checked(values: dict[str, Any]) -> int:
    added = sum(len(token["content"].encode()) for token in values.get("added_tokens") or ())
    if added > MOST_ADDED:
        raise UserError(f"{FILE}: {added:,} bytes of added tokens found; at most {MOST_ADDED:,} are read.")
    reading = growth([values.get(name) for name in ("normalizer", "pre_tokenizer", "post_processor")])
    for what, factor in (("reading", reading), ("decoding", growth(values.get("decoder")))):
        if factor > MOST_GROWTH:
            raise UserError(
                f"{FILE}: {what} may make a text more than {MOST_GROWTH:,} times as long, which is refused."
            )
    vocabulary = values["model"]["vocab"]
    if isinstance(vocabulary, dict):
        return max(vocabulary.values(), default=-1)
    if (found := nodes([piece.encode() for piece, _ in vocabulary])) > MOST_NODES:
        raise UserError(f"{FILE}: a vocabulary of {found:,} different beginnings; at most {MOST_NODES:,} are read.")
    return len(vocabulary) - 1


def growth(part: object) -> float:
    """How many times as long a text can become, at most, in a step such as a normalizer and in all that it holds."""
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return math.prod((growth(one) for one in inner), start=_own_growth(part) if isinstance(part, dict) else 1.0)


def _own_growth(step: dict[str, Any]) -> float:
    """Told by its fields, for the library reads steps that do not say their type."""
    if {"pattern", "content"} <= step.keys():
        found, content = step["pattern"].get("String"), step["content"]
        return max(len(content) / len(found), 1.0) if found else 1.0 + len(content)
    if "prepend" in step:
        return 1.0 + len(step["prepend"])
    if {"single", "special_tokens"} <= step.keys():
        longest = max((len(token["ids"]) for token in step["special_tokens"].values()), default=1)
        return float(max(len(step["single"]), 1) * max(longest, 1))
    return float(GROWTH.get(str(step.get("type")), 1))


def nodes(pieces: list[bytes]) -> int:
    """How many different beginnings pieces have."""
    ordered = sorted(set(pieces))
    return sum(map(len, ordered)) - sum(_shared(one, two) for one, two in pairwise(ordered))


def _shared(one: bytes, two: bytes) -> int:
    """How many bytes two pieces begin with in common."""
    n = min(len(one), len(two))
    difference = int.from_bytes(one[:n], "big") ^ int.from_bytes(two[:n], "big")
    return n - (difference.bit_length() + 7) // 8
