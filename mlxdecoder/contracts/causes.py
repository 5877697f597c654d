"""What usually causes each sign, in a line: the hint that goes with a proof."""

from __future__ import annotations

from collections.abc import Iterable

CAUSES: dict[str, str] = {
    "attention.future": "the causal mask is missing, inverted, transposed, or applied after the softmax",
    "attention.padding": "the key mask is missing, or lies on the query axis; it has to broadcast as [B, 1, 1, S]",
    "batch.mixed": "the batch and sequence axes are exchanged: by a reshape where a transpose is due, or batch_first",
    "cache.blind": "the mask of a cached step is aligned top left, so that only key 0 is seen; it needs the offset",
    "cache.chunks": "the mask of several tokens on a filled cache is square; T new queries see S = offset + T keys",
    "cache.differs": "new tokens do not get the positions behind the cached ones, or the mask does not",
    "cross.blind": "cross-attention does not see all of the source: a wrong mask, or heads split without a transpose",
    "cross.future_blind": "the causal mask of the target is applied to cross-attention too",
    "decoder.padding": "the padding mask is missing or on the query axis, or padding shifts the positions of tokens",
    "documents.mixed": "packed documents have no mask, in self-attention or in cross-attention",
    "documents.positions": "positions go on through the row instead of starting anew with each document",
    "empty.other": "queries that see nothing get what the fill value happens to leave; give them zeros",
    "empty.uniform": "a finite fill value such as -1e9 makes weights even where nothing is seen",
    "future": "the causal mask does not do what it should",
    "future.faint": "the fill value of the mask is too small, such as -10: take -inf",
    "future.far": "the causal mask is missing, or is not used",
    "future.first": "the mask hides a token from itself (diagonal 0 for 1), so that position 0 sees nothing but fill",
    "future.instead": "the mask is transposed (triu for tril) or inverted (True = may attend, or True = blocked?)",
    "future.near": "the mask is off by one: a token sees its successor (diagonal 1 for 0)",
    "future.patchy": "heads are split by a reshape without a transpose, so that rows of a head are not tokens",
    "future.recent": "the softmax runs over the queries instead of the keys (axis -2 for -1)",
    "future.weak": "weights are zeroed after the softmax, which has counted the future, or it runs along a wrong axis",
    "groups.other": "query heads do not find their key heads: h // (H / Hkv) is wanted",
    "groups.tiled": "key heads are tiled (k0 k1 k0 k1); repeat each for its group (k0 k0 k1 k1)",
    "heads.mixed": "heads are split or merged by a reshape without a transpose",
    "labels.begin": "the begin mark is not put before the inputs, so that the first token has nothing to be said from",
    "labels.no_end": "the end mark is not put behind the labels, or counts as padding: the model will never stop",
    "labels.other": "inputs and labels do not belong together: they were shuffled or cut apart",
    "labels.padding": "the loss has no weights, or does not ignore what the labels are padded with",
    "labels.twice": "both the batch and the model or data set shift by one",
    "labels.uncounted": "the weights leave out real tokens: a wrong length, or an id that is ignored as padding is",
    "labels.unshifted": "labels are the inputs themselves: inputs are row[:-1], labels row[1:]",
    "large.overflow": "the scores overflow: subtract their maximum, scale the queries first, add up in float32",
    "nan": "-inf is written where it should not be, or a row of the mask hides everything",
    "nan.empty": "the softmax of a row of -inf is 0 / 0: give rows that see nothing zeros",
    "nan.first": "the mask hides a token from itself, so that the first one sees nothing",
    "nan.masked": "-inf is multiplied by 0, or written after the softmax",
    "order.ignored": "there are no positions, or all tokens get the same one",
    "past.blind": "the mask is transposed or inverted, or attention runs over another axis than the sequence",
    "past.partly": "heads are split and merged by a reshape without a transpose, or the mask is not a triangle",
    "queries.mixed": "the softmax runs over the queries instead of the keys (axis -2 for -1)",
    "rows.columns": "the softmax runs over the queries instead of the keys (axis -2 for -1)",
    "rows.long": "the weights are not normalised over the keys",
    "rows.mixed": "the batch axis is mixed up with another one, or the mask of one row is used for all",
    "rows.other": "the output is normalised or scaled behind the weights, or the branch without a mask is another one",
    "rows.short": "weights are zeroed after the softmax and not divided by their new sum",
    "scale.none": "the scores are not divided by sqrt(head width)",
    "scale.other": "the scores are divided by something else than sqrt(head width)",
    "scale.unrelated": "the weights are no softmax of the dot products of queries and keys",
    "source.ignored": "cross-attention is missing, or its output is thrown away",
    "source.padding": "the source padding mask is missing, in the encoder or in cross-attention, or on the query axis",
    "stale": "a cache outlives its question: make a new one for each, that of the source included",
    "support.blind": "the mask hides keys that may be seen",
    "support.inverted": "True means the opposite: may attend, or blocked?",
    "support.leak": "the fill value is too small (-1e-9 for -1e9), or the mask is not used",
    "unsteady": "dropout is on: call model.eval(), or there is a memory of earlier calls",
}

MORE_PARTICULAR: dict[str, set[str]] = {
    "cache.differs": {"cache.blind"},
    "future": {"future.far", "future.near"},
    "future.far": {"future.faint", "future.first", "future.instead", "future.patchy", "future.weak"},
    "future.weak": {"future.recent"},
    "nan": {"nan.first"},
}
"""Signs beside which another one has nothing to say."""


def usual_causes(signs: Iterable[str]) -> list[str]:
    """The causes of the most particular ones among these signs."""
    found = set(signs)
    return [CAUSES[sign] for sign in sorted(found) if sign in CAUSES and not MORE_PARTICULAR.get(sign, set()) & found]
