"""The contracts on a decoder: `f(tokens, cache=None)` gives logits [B, T, V]."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np

from mlxdecoder.contracts import on_sequences as shared
from mlxdecoder.contracts.contract import Contract, Seen, Untried, judged, report
from mlxdecoder.contracts.decoder_subject import Decoder, cached_difference, is_blind
from mlxdecoder.contracts.finding import Report
from mlxdecoder.contracts.options import check_probing, is_id, is_size, said


def decoder_findings(
    f: Callable[..., Any],
    *,
    arrays: str | None = None,
    seed: int = 0,
    tolerance: float = 1e-4,
    make_cache: Callable[[], Any] | None = None,
    pad: int | None = None,
    separator: int | None = None,
    vocabulary: int | None = None,
    only: Collection[str] | None = None,
) -> Report:
    """Try the contracts on `f(tokens, cache=None)`, which takes ids [B, T] and gives logits [B, T, V].

    `arrays` ("mlx", "numpy" or "torch") is found by trying; `tolerance` is relative to the size of the logits;
    `make_cache()` gives a fresh cache for `f(tokens, cache=cache)`; `pad` is the id from which f tells left padding;
    `separator` the id between packed documents that f keeps apart; `vocabulary` how many ids there are, by default as
    many as logits. Attributes of f with these names are the defaults. `only` names the contracts to be tried. Raises
    `UserError` when f takes no ids or gives no logits, or for an option that is none.
    """
    check_probing(seed, tolerance)
    subject = Decoder(
        f,
        make_cache=said(f, "make_cache", make_cache, callable),
        pad=said(f, "pad", pad, is_id),
        separator=said(f, "separator", separator, is_id),
        vocabulary=said(f, "vocabulary", vocabulary, is_size),
        arrays=arrays,
        seed=seed,
        tolerance=tolerance,
    )
    return report("decoder", subject, CONTRACTS, only)


BY_THE_MASK = "; with two layers or more the causal mask tells order by itself, so this proves little about positions"


def padding(subject: Decoder) -> Seen:
    """T3: a row alone and the same behind padding, in a batch where that can be told from mixed rows."""
    if subject.pad is None:
        raise Untried("give pad=, the id from which f tells which tokens are padding")
    T, n_pads = subject.length, subject.length // 3
    (row,) = subject.draw(lengths=[T - n_pads])
    padded = np.concatenate([np.full((1, n_pads), subject.pad), row], axis=1)
    batch = padded if subject.mixes else np.concatenate([*subject.draw(lengths=[T]), padded])
    moved = subject.moved(subject.ask((batch,))[-1:, n_pads:], subject.ask((row,)))
    proof = f"{T - n_pads} tokens alone and behind {n_pads} pads: logits differ by {subject.told(moved)}"
    return judged(moved <= subject.rounding, proof, "decoder.padding", moved=moved)


def cache(subject: Decoder) -> Seen:
    """T9: tokens through a cache, in whatever pieces, have the logits that they have all at once."""
    if subject.make_cache is None:
        raise Untried("give make_cache=: make_cache() gives a fresh cache for f(tokens, cache=cache)")
    T = subject.length
    moved, told = cached_difference(subject, [1] * T)
    if moved > subject.rounding:
        signs = ["cache.differs", "cache.blind"] if is_blind(subject) else ["cache.differs"]
        return judged(False, f"one token at a time through a cache: {told}", *signs, moved=moved)
    largest = moved
    # The last way puts a chunk behind single tokens, by which a ring buffer may have turned.
    for sizes in ([3, 1, T - 4], [T - 3, 2, 1], [T // 2, 1, 1, T - T // 2 - 2]):
        moved, told = cached_difference(subject, sizes)
        if moved > subject.rounding:
            if cached_difference(subject, [1] * T)[0] > subject.rounding:
                raise Untried("not tried in pieces, as a second fresh cache gives other answers: see T11")
            proof = f"right one token at a time, but in pieces of {', '.join(map(str, sizes))} tokens: {told}"
            return judged(False, proof, "cache.chunks", moved=moved)
        largest = max(largest, moved)
    proof = f"one token at a time and in pieces as all at once: logits differ by {subject.told(largest)} at most"
    return judged(True, proof, moved=largest)


def order(subject: Decoder) -> Seen:
    if not subject.influence.past_reach(subject.nothing):
        raise Untried("not tried, as earlier tokens move nothing: see T1 reach")
    seen = shared.order_matters(subject, side=0, count=subject.length - 1, at=np.s_[-1:])
    return replace(seen, proof=f"{seen.proof}{BY_THE_MASK}") if seen.holds else seen


def steady(subject: Decoder) -> Seen:
    """T11, with caches too: what a fresh cache has to do with an earlier one is nothing."""
    seen = shared.steady(subject)
    if not seen.holds or subject.make_cache is None:
        return seen
    sizes = [subject.length - 1, 1]
    first, again = (subject.ask_in_pieces(subject.twins, sizes) for _ in range(2))
    moved = subject.moved(again, first)
    if moved <= subject.tolerance:
        return seen
    proof = f"asked twice through two caches of make_cache(); the second answer differs by {subject.told(moved)}"
    return judged(False, proof, "stale", moved=moved)


CONTRACTS: tuple[Contract[Decoder], ...] = (
    Contract("T1 causal", "later tokens do not move earlier logits", shared.causal),
    Contract("T1 reach", "earlier tokens move later logits", shared.reach),
    Contract("T3 padding", "padding does not change the logits of a row", padding),
    Contract("T4 apart", "the rows of a batch do not move each other", shared.apart),
    Contract("T4 documents", "documents packed in a row do not move each other", shared.documents),
    Contract("T5 finite", "the logits are numbers, and not all the same", shared.finite, gated=False),
    Contract("T9 cache", "logits through a cache equal those without", cache),
    Contract("T10 order", "the order of earlier tokens counts", order),
    Contract("T11 steady", "the same question has the same answer", steady, gated=False),
)
