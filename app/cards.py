"""What to ask about a mistake before its effect is shown, and the answer. No MLX, no Qt.

Figures in the answers are those of assets/experiments.json: the toy grammar, 500 steps, "instead of" what the right
training has. Exact match is the share of held-out sentences that come out exactly right when the model writes on its
own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """A question to answer before the effect is revealed, and its answer."""

    question: str
    answer: str


NOTHING_HIDDEN = "Switched on after a right training it changes no translation: a single new word has nothing to hide."

CARDS: dict[str, Card] = {
    "no-causal-mask": Card(
        "Every word may look at the words after it. Trained like this, does the loss fall faster or slower, and what "
        "does the model write on its own?",
        "Faster: 0.048 instead of 0.130 at step 200, because the next word is there to be copied. 67% of the "
        "decoder's weight lies right of the diagonal. On its own there is nothing to copy: exact match is 0%. "
        f"{NOTHING_HIDDEN}",
    ),
    "causal-transposed": Card(
        "The triangle stands on its head: a word sees itself and what comes after it. What does the newest word see "
        "while the model writes?",
        "Only itself: what was written is hidden, and what comes after is not there yet. Switched on after a right "
        "training, exact match falls to 21%; trained so, it is 0%, one word for ever.",
    ),
    "causal-off-by-one": Card(
        "Each word sees one word too many, the next one. The right training has a loss of 1.749 at step 100. Guess "
        "that of the mistaken one.",
        "0.122: no other wrong mask is faster, since one word ahead is all that there is to copy. 84% of the "
        f"decoder's weight gathers there, on the diagonal too many. Trained so, exact match is 0%. {NOTHING_HIDDEN}",
    ),
    "causal-strict": Card(
        "A word sees all words before it, but not itself. Which row of decoder attention has nothing to look at, and "
        "where does its weight go?",
        "The first one. Filled with -1e9 its scores are all alike, so read at once its weight is spread over the "
        "whole row, later words included; with -inf it would be NaN. The curves look normal, yet trained so exact "
        "match is 5%.",
    ),
    "fill-too-small": Card(
        "The mask is there and has the right shape, but it writes -1e-9 where it should write -inf. Does the "
        "training loss give it away?",
        "Hardly: 0.077 instead of 0.130 at step 200, a little too fast. The heatmap does: 81% of the decoder's "
        f"weight lies right of the diagonal, as if there were no mask. Trained so, exact match is 0%. {NOTHING_HIDDEN}",
    ),
    "mask-inverted": Card(
        "True means the opposite: each word sees only what it may not see. Which row of decoder attention is left "
        "with nothing?",
        "The last one, for no word comes after it: read at once its row sum is 0. The others look where they may "
        "not, with 89% of all weight. The loss falls far too fast, 0.156 instead of 1.749 at step 100; trained so, "
        f"exact match is 0%. {NOTHING_HIDDEN}",
    ),
    "no-scale": Card(
        "The scores are not divided by the root of the head width. Do rows become sharper or more blurred, and is "
        "that good for learning?",
        "Sharper: after such a training the mean entropy of decoder rows is 0.05 instead of 0.76, nearly one-hot. A "
        "saturated softmax passes little gradient: the loss is 1.118 instead of 0.172 at step 200, with one head of "
        "64 features.",
    ),
    "scaled-by-width": Card(
        "The scores are divided by the head width itself, so they are too small. Does it harm a model that was "
        "trained rightly? And one that was trained so?",
        "The first: its rows become blurred, and exact match falls from 100% to 55%; a longer training is hardier. "
        "The second hardly: queries and keys grow until it is made up for, and exact match is 100%.",
    ),
    "zeroed-after-softmax": Card(
        "Read at once, decoder attention is a perfect triangle. Which numbers beside it give the mistake away?",
        "The row sums, far below 1 in the upper rows: later words still count in the denominator, and so they leak. "
        f"Trained so, it is right 100% of the time when told the prefix, and exact match is 0%. {NOTHING_HIDDEN}",
    ),
    "infinity-after-softmax": Card(
        "-inf belongs into the scores, before the softmax. Written into the weights, how many training steps does it "
        "take to show?",
        "One: the loss is no number after step 1, and the training is over. Read at once, the upper rows hold -inf, "
        f"and all that follows is NaN. {NOTHING_HIDDEN}",
    ),
    "softmax-over-queries": Card(
        "The softmax runs down the columns instead of along the rows. A single new word is a column of one: what "
        "weight does it give to each key?",
        "The weight 1 to every key, so that each row sum is the number of keys, and the translation is nonsense: "
        "exact match is 0%. The curves look healthy: told the prefix, a model trained so is right 100% of the time.",
    ),
    "heads-without-transpose": Card(
        "Heads are split by a reshape alone, without a transpose. Can you see it in a heatmap?",
        "No: rows sum to 1 and stay in their triangle. But a row is a piece of some word and no longer a word's "
        "piece, so later words leak in; the contracts tell. Trained so, the loss is 0.741 instead of 0.130 at step "
        "200, and exact match is 0%.",
    ),
    "heads-reshaped-both-ways": Card(
        "Heads are split and merged by reshapes without a transpose, so that all comes back to its place. What has "
        "each head seen meanwhile?",
        "One stretch of the sentence, cut into pieces; the rest is out of its sight. The heatmap is fully legal. "
        "Trained so, the loss ends at 0.491 instead of 0.005, and exact match is 0%.",
    ),
    "batch-sequence-exchanged": Card(
        "A reshape mixes up the axes of batch and sequence. What happens to a sentence that is alone in its batch, "
        "and to one in company?",
        "Alone nothing: exact match stays at 100%. In company its rows belong to several sentences, and a "
        "translation of something else comes out. Trained so, the loss ends at 1.872 instead of 0.005, and exact "
        "match is 0%.",
    ),
    "heads-tiled": Card(
        "Shared keys go to the query heads in another order: k0 k1 k0 k1 for k0 k0 k1 k1. Does a model suffer that "
        "was trained so from the start? And one that was trained rightly?",
        "The first does not: it is only another naming of the heads, and exact match is 100%. In the second one, "
        "heads look with the wrong keys, and exact match falls to 0%. Nothing shows in a model whose heads share no "
        "keys.",
    ),
    "no-source-padding-mask": Card(
        "The source is filled up with padding, and nothing hides it. In which kinds of attention will the columns of "
        "padding get weight?",
        "In the encoder (18% of the weight after such a training) and in cross-attention (16%). Trained so, the "
        "model needs its padding: exact match is 100% with it and 55% without. Forgotten only afterwards, it is 27% "
        "with padding and 99% without.",
    ),
    "padding-on-queries": Card(
        "The padding mask lies on the rows instead of the columns. Which rows of encoder attention are empty, and "
        "who still sees padding?",
        "The rows of padding are empty, with a row sum of 0, and every other row sees it: 13% of the encoder's "
        "weight after such a training, 20% in cross-attention. Exact match is then 100% with padding and 67% without.",
    ),
    "causal-cross-attention": Card(
        "The first words of the translation may see only the beginning of the source. Can it still come out right?",
        "Switched on after a right training, seldom: exact match is 34%. Trained so, 99%: the encoder learns to "
        "carry the whole source in its first states, though the loss ends at 0.011 instead of 0.005. The heatmap is "
        "a triangle in cross-attention.",
    ),
    "documents-mixed": Card(
        "Several sentences are packed into one row, and nothing keeps them apart. In which kinds of attention does "
        "it show, and how does the training end?",
        "In all three: 45% of the encoder's weight, 28% of the decoder's and 37% of cross-attention lie on other "
        "sentences. There is three times as much to look through: the loss ends at 0.629 instead of 0.005, and exact "
        "match is 65%.",
    ),
    "labels-unshifted": Card(
        "The model is asked to say the word that it has just read. How does the loss fall, and what does it write on "
        "its own?",
        "At once: 0.090 instead of 4.099 at step 50, since it only repeats what it reads; told the prefix, it is "
        "right 100% of the time. On its own it repeats the begin mark and never stops: exact match is 0%. A model "
        "that is trained already shows nothing of it.",
    ),
    "labels-shifted-twice": Card(
        "Each word is asked for the word after the next. Do the curves give it away?",
        "Loss and accuracy hardly: 0.639 instead of 0.130 at step 200, and 99% when told the prefix, by its own "
        "count. Exact match does: 0%. Its translations lack the first word, and others after it. A model that is "
        "trained already shows nothing of it.",
    ),
    "no-end-mark": Card(
        "The targets have no end mark. Which of the three curves tells, and how does a translation end?",
        "Only exact match, at 0%: loss (0.006 instead of 0.005 at the end) and accuracy (100%) are normal. All words "
        "are right, and then it never stops. A model that is trained already shows nothing of it.",
    ),
    "padding-in-loss": Card(
        "Padding counts in the loss. Does the training look better or worse than it is?",
        "Better, most of all at the start: 2.438 instead of 3.907 at step 50, for padding is easy. The translations "
        "are as good as ever, 100% exact. Only runs with the same padding can be compared.",
    ),
    "no-positions": Card(
        "Nobody tells the model the order of the words. Will it say wrong words, or the right words in the wrong "
        "order?",
        "The right words in the wrong order: adjectives change their nouns. Switched on after a right training, "
        "exact match falls to 39%, most of all where much can be mixed up. Trained so it is 77%, for the causal mask "
        "tells some order.",
    ),
    "cache-position-zero": Card(
        "While the model writes, every new word is told that it stands at position 0. Does the first word suffer? Do "
        "the curves show it?",
        "The first word does not: it does stand there. After it the model loses its place, and exact match falls "
        "from 100% to 55%; a longer training is hardier, and short sentences may survive. The heatmap looks normal, "
        "and training has no cache.",
    ),
    "cache-mask-top-left": Card(
        "A single new query is masked as if it stood at the top left. Which keys does each new row of decoder "
        "attention see?",
        "The first key and nothing else: one bright column. The model forgets all that it has written, and often "
        "says one word for ever: exact match is 0%. The curves cannot tell, since training has no cache.",
    ),
    "stale-cross-cache": Card(
        "The cache of the source's keys is never emptied. Translate one sentence, then another. What do you read, "
        "and what does cross-attention look like?",
        "The first translation again, with a plausible map that has 100% of its weight on the keys of the sentence "
        "before. Exact match falls to 1%. The curves cannot tell, since training has no cache.",
    ),
    "dropout-while-generating": Card(
        "Dropout stays on while the model writes. Translate the same sentence twice: what differs?",
        "The heatmap flickers: each run has other weights, and now and then another word. With a dropout of 0.2, "
        "exact match falls from 85% to 54%. A model without dropout shows nothing.",
    ),
    "zeroed-and-renormalised": Card(
        "Weights are set to 0 after the softmax, as in mistake 5, but then divided by their new sum. Is it a mistake?",
        "No: what is left sums to 1 again, as if the rest had never been there. Heatmap and translation are the "
        "same, the loss ends at 0.005 instead of 0.005, exact match is 100%. Only where all that may be seen is far "
        "below what is hidden does rounding make a difference.",
    ),
    "no-target-padding-mask": Card(
        "Targets are filled up at the right, and no mask hides the padding. Which rows of decoder attention change?",
        "None that count: padding comes after them, so the causal mask hides it already. The loss is 0.130 instead "
        "of 0.130 at step 200, exact match 100%. Padding at the left is another matter, and does need its mask.",
    ),
    "no-causal-mask-with-cache": Card(
        "A model writes with a cache, without a causal mask. Does its translation change?",
        "No: a single new word sees all that is cached, and nothing comes after it; exact match stays at 100%. "
        "Without a cache, or with several words at once, it is mistake 1, and read at once the heatmap shows that.",
    ),
}
