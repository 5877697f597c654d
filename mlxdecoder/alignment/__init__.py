"""Word alignments from the cross-attention of a translator.

A model reads a sentence pair, the weights of one place in it (a layer, one of its heads or their mean, one of two rows)
are merged into words, and links are drawn from them. The place is chosen by measurement: on gold alignments, or by the
agreement of two directions.
"""

from mlxdecoder.alignment.aligner import Aligner, align, choose
from mlxdecoder.alignment.forced import Place
from mlxdecoder.alignment.links import Gold, Links, Score, links_of, read_gold, score, to_pharaoh
from mlxdecoder.alignment.sentences import read_pair
from mlxdecoder.alignment.toy import read_toy

__all__ = [
    "Aligner",
    "Gold",
    "Links",
    "Place",
    "Score",
    "align",
    "choose",
    "links_of",
    "read_gold",
    "read_pair",
    "read_toy",
    "score",
    "to_pharaoh",
]
