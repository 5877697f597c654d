"""Copy as Python, while mistakes are on: the script for the tokens that are read at once, as training reads them."""

from __future__ import annotations

from mlxdecoder.app.session.document import Document
from mlxdecoder.maps import KINDS

COMPARISON = """\
\"\"\"The %(kind)s of a sentence with mistakes: its weights, as the app shows them.\"\"\"

import mlxdecoder  # before mlx
from mlxdecoder.mistakes.effects import compare
from mlxdecoder.mistakes.experiments import other_sentence%(words)s

checkpoint = mlxdecoder.load(%(load)s)
sentence = %(sentence)s
beside = other_sentence(checkpoint.tokenizer, sentence)  # for mistakes that need company
found = compare(checkpoint, %(mistakes)s, sentence, beside)
print(checkpoint.tokenizer.decode(found.correct), "|", checkpoint.tokenizer.decode(found.mistaken))
right, wrong = (%(map)s.weights for side in (found.told.correct, found.told.mistaken))
values = %(values)s  # [layers, heads, queries, keys]
%(mean)s
print(values[%(head)s])  # %(place)s
found.told.page().save("attention.html")
"""


def at_once(document: Document, place: str) -> str:
    """The script for both sides over the tokens of the right translation; `place` names the head that is printed."""
    view, path = document.view, document.model
    sides = {"wrong": "wrong", "right": "right", "change": "wrong - right"}
    mean = "values = values.mean(axis=1, keepdims=True)  # of the heads\n" if view.average else ""
    attention_map = f'side["{view.kind}"]'
    return COMPARISON % {
        "kind": KINDS[view.kind],
        "load": "" if path is None else repr(path),
        "mistakes": list(document.mistakes),
        "sentence": repr(document.sentence),
        "words": "\nfrom mlxdecoder.words import WordMap" if view.words else "",
        "map": f"WordMap({attention_map})" if view.words else attention_map,
        "values": sides[view.side],
        "mean": mean,
        "head": f"{view.layer}, {0 if view.average else view.head}",
        "place": place,
    }
