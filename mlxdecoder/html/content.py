"""What the page knows about its maps, as JSON: numbers, tokens, masks and what was found in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlxdecoder.heads import ABOUT_SINKS
from mlxdecoder.html import colours
from mlxdecoder.html.levels import encode, spelled
from mlxdecoder.labels import elided, visible
from mlxdecoder.maps import KINDS, TOLERANCE, AttentionMap, spread

ABOUT = {
    "encoder": "Each token of the source looks at the whole source.",
    "decoder": "Each token looks at itself and at what stands before it. A row is the token that was just read; "
    "what it looks at serves to choose the next one.",
    "cross": "Each token of the target looks at the source. A row is the token that was just read; "
    "what it looks at serves to choose the next one.",
}


def content(variants: Mapping[str, Sequence[AttentionMap]]) -> dict[str, Any]:
    """Everything that the page shows, as what JSON knows."""
    return {
        "colours": {"weights": colours.WEIGHTS, "differences": colours.DIFFERENCES},
        "reach": _reach(list(variants.values())),
        "kinds": [_kind(each) for each in next(iter(variants.values()))],
        "variants": [{"name": visible(name), "maps": [_map(each) for each in maps]} for name, maps in variants.items()],
    }


def _kind(map: AttentionMap) -> dict[str, Any]:
    return {
        "name": KINDS[map.kind],
        "about": f"{ABOUT[map.kind]} {map.note}".rstrip(),
        "aboutSinks": ABOUT_SINKS,
        "layers": [int(number) for number in map.layers],
        "heads": [int(number) for number in map.heads],
        "queries": _tokens(map.queries),
        "keys": _tokens(map.keys),
        "queriesName": "queries (target)" if map.kind == "cross" else "queries",
        "keysName": "keys (source)" if map.kind == "cross" else "keys",
    }


def _tokens(tokens: Sequence[str]) -> list[dict[str, str]]:
    return [{"text": visible(str(token)), "label": elided(str(token))} for token in tokens]


def _map(map: AttentionMap) -> dict[str, Any]:
    return {
        "intended": None if map.intended is None else "".join(np.where(map.intended, "1", "0").ravel().tolist()),
        "heads": [[_head(map.select([layer], [head])) for head in map.heads] for layer in map.layers],
    }


def _head(map: AttentionMap) -> dict[str, Any]:
    """One head; `leaking` and `wrong` are the rows to flag, `findings` says what is wrong, `remarks` what is not."""
    values, sums, outside = map.weights[0, 0], map.row_sums()[0, 0], map.mass_outside()[0, 0]
    levels, exact = encode(values)
    # Written so that a NaN counts as wrong.
    leaking = np.flatnonzero(~(outside <= TOLERANCE))
    wrong = np.flatnonzero(~(map.row_sum_errors()[0, 0] <= TOLERANCE))
    return {
        "levels": levels,
        "exact": exact,
        "sums": spelled(sums),
        "outside": spelled(outside),
        "leaking": leaking.tolist(),
        "wrong": wrong.tolist(),
        "findings": _findings(values, outside[leaking], sums[wrong]),
        "remarks": _remarks(map),
    }


def _remarks(map: AttentionMap) -> list[str]:
    """Which keys are sinks, and which heads share keys and values."""
    sinks = [
        f"▽ sink: ‘{visible(map.keys[key])}’ (key {key}) takes {share:.0%} of the weight on average"
        for key, share in map.sinks().get((0, 0), [])
    ]
    shared = map.grouping if map.grouping and map.grouping.shares else None
    return sinks + ([shared.describe(map.heads[0]).capitalize()] if shared else [])


def _findings(values: np.ndarray, outside: np.ndarray, sums: np.ndarray) -> list[str]:
    finite = values[np.isfinite(values)]
    beyond = finite[(finite < -TOLERANCE) | (finite > 1 + TOLERANCE)]
    of_rows, unusable = f"of {len(values)} rows", values[~np.isfinite(values)]
    found = [
        (outside, f"◂ {outside.size} {of_rows} with weight outside the intended mask, up to {_most(outside)}"),
        (sums, f"○ {sums.size} {of_rows} with a wrong sum: {spread(sums)}"),
        (unusable, f"▨ {unusable.size} of {values.size} cells not finite"),
        (beyond, f"± weights below 0 or above 1: {spread(beyond)}"),
    ]
    return [words for numbers, words in found if numbers.size]


def _most(numbers: np.ndarray) -> str:
    return spread(numbers).rpartition(" ")[2]


def _reach(variants: list[Sequence[AttentionMap]]) -> float | None:
    """The end of the scale of differences: the largest there is, at most 1, for all kinds, layers and heads alike."""
    if len(variants) < 2:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        changes = [np.abs(b.weights - a.weights) for a, b in zip(*variants, strict=True)]
    largest = max(float(change[np.isfinite(change)].max(initial=0.0)) for change in changes)
    return float(f"{min(largest, 1.0):.3g}") or 1.0
