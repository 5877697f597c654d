"""Copy as Python: the script that makes the picture on screen again, with the library alone."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

from mlxdecoder.app.session.document import Document
from mlxdecoder.app.session.script_at_once import at_once
from mlxdecoder.app.session.word_picture import MERGED_STAGES
from mlxdecoder.heads import Grouping
from mlxdecoder.maps import KINDS

STAGES = {"scores": "scores", "scaled": "scaled scores", "masked": "masked scores", "weights": "weights"}
STAGES |= {"norms": "norm-weighted values"}
CHOOSE = """\
steps = itertools.count()

def choose(logprobs):
    step = next(steps)
    return mx.array([forced[step]]) if step in forced else sampler(logprobs)
"""
WATCH = """\
seen = {}

def watch(name, array):
    # |weight| |v W_O| takes the place of the weights, Kobayashi et al. 2020
    seen[name] = array
    if name.startswith("%(side)s.") and name.endswith(".%(attention)s.weights"):
        module = model.%(stack)s.blocks[int(name.split(".")[1])].%(module)s
        value = model.recipe.share_heads(seen[name.replace("weights", "value")], module.n_heads)  # [B, H, S, dh]
        output = module.output.weight.reshape(module.n_heads, value.shape[-1], -1)  # [H, dh, d]
        array = mx.abs(array) * mx.linalg.norm(value @ output, axis=-1)[:, :, None]
    trace(name, array)
"""
CHANGE = """
(read_right, right), (read, wrong) = pictures
rows = len(os.path.commonprefix([read_right, read]))  # as far as both have read the same
values = wrong[%(same)s] - right[%(same)s]
"""


def script(document: Document, architecture: str = "translator", grouping: Grouping | None = None) -> str:
    """The script for a model of this architecture; it prints the head that is looked at, and says which heads share.

    Afterwards `values` are all heads as they are on screen [L, H, T, S]; a page of the weights is saved too.
    """
    view = document.view
    shared = grouping if grouping and grouping.shares and not view.average else None
    place = f"of layer {view.layer} and {'the mean of its heads' if view.average else f'head {view.head}'}"
    place += f": {shared.describe(view.head)}" if shared else ""
    if document.mistakes and view.at_once and view.stage == "weights" and architecture != "encoder":
        return at_once(document, place)
    return "\n".join(_Script(document, architecture, place, shared is not None).lines()) + "\n"


class _Script:
    """A document, part by part; `place` is the head that is printed, in words, `shares` whether heads share keys."""

    def __init__(self, document: Document, architecture: str, place: str, shares: bool) -> None:
        self.document, self.view, self.sampling = document, document.view, document.sampling
        self.architecture, self.place, self.shares = architecture, place, shares
        self.writes = architecture != "encoder"
        self.searches = self.writes and self.sampling.beam != 1
        self.forces = self.writes and bool(document.forced or self.searches)
        self.norms = self.view.stage == "norms"
        self.subtracts = self.view.side == "change" and bool(document.mistakes)
        self.merges = self.view.words and self.view.stage in MERGED_STAGES

    def lines(self) -> Iterator[str]:
        kind, stage = KINDS[self.view.kind], STAGES[self.view.stage]
        yield f'"""The {kind} of a sentence: its {stage}, as the app shows them."""\n'
        yield from self._imports()
        path = self.document.model
        yield f"\ncheckpoint = mlxdecoder.load({'' if path is None else repr(path)})"
        yield "model, tokenizer = checkpoint.model, checkpoint.tokenizer"
        yield f"source = {self._source()}"
        yield from self._pictures() if self.subtracts else self._one_picture()
        yield from self._cut()
        if self.merges:
            yield from self._merged()
        yield f"\nprint(values[{self.view.layer}, {0 if self.view.average else self.view.head}])  # {self.place}"
        if self._pages:
            yield from self._page()

    @property
    def _pages(self) -> bool:
        return self.view.stage == "weights" and not self.subtracts

    # Parts ------------------------------------------------------------------------------------------------------

    def _imports(self) -> Iterator[str]:
        if self.forces:
            yield "import itertools"
        if self.subtracts:
            yield "import os"
        if self.forces or self.subtracts:
            yield ""
        yield "import mlxdecoder  # before mlx"
        if self.forces or self.norms or not self.writes:
            yield "import mlx.core as mx"
        if self.document.mistakes and self.view.side != "right":
            yield "from mlxdecoder.mistakes import switch_on"
        if self._pages:
            yield from ["from mlxdecoder.heads import Grouping"] if self.shares else []
            yield "from mlxdecoder.trace import intended"
        if self.merges:
            yield f"from mlxdecoder.words import {'WordMap' if self._pages else 'merge, words_of'}"

    def _source(self) -> str:
        return f"checkpoint.read({self.document.sentence!r})"

    def _one_picture(self) -> Iterator[str]:
        if self.document.mistakes and self.view.side != "right":
            yield f"model.recipe = switch_on({list(self.document.mistakes)})"
        yield from self._run()

    def _pictures(self) -> Iterator[str]:
        yield f"\npictures = []\nfor mistakes in ([], {list(self.document.mistakes)}):"
        body = ["model.recipe = switch_on(mistakes)", *self._run(), "pictures.append((read, values))"]
        yield indent("\n".join(body), "    ")
        same = {"encoder": "...", "decoder": ":, :, :rows, :rows", "cross": ":, :, :rows"}[self.view.kind]
        yield CHANGE.rstrip() % {"same": same}

    def _run(self) -> Iterator[str]:
        """From the source to `values`, and `read`, the ids of what the decoder has read."""
        stage = "weights" if self.norms else self.view.stage
        yield from self._choice()
        yield f'trace = mlxdecoder.Trace(["{stage}"])'
        if self.norms:
            yield self._watch()
        watch = "watch" if self.norms else "trace"
        if self.writes:
            sampler = "sampler=choose, " if self.forces else "sampler=sampler, " if self.sampling.temperature else ""
            yield f"generation = mlxdecoder.generate(model, [source], {sampler}watch={watch})[0]"
            yield "print(tokenizer.decode(generation.tokens))"
        else:
            yield f"model(mx.array([source]), watch={watch})"
        yield f'values = trace.stage("{self.view.kind}", "{stage}")  # [layers, heads, queries, keys]'
        if self.subtracts or self.merges or self._pages:
            yield f"read = {self._read()}"

    def _choice(self) -> Iterator[str]:
        """How the next token is chosen."""
        if self.forces or (self.writes and self.sampling.temperature):
            yield f"sampler = mlxdecoder.make_sampler({self._drawing()})"
        forced = dict(sorted(self.document.forced.items()))
        if self.searches:
            first = f"[:{min(forced)}]" if forced else ""
            yield f"best = mlxdecoder.beam_search(model, [source], beam={self.sampling.beam})[0][0]"
            yield f"forced = dict(enumerate([*best.tokens, model.config.end_id]{first})) | {forced}"
        elif self.forces:
            yield f"forced = {forced}  # step: token id"
        if self.forces:
            yield CHOOSE

    def _drawing(self) -> str:
        how = self.sampling
        if how.temperature == 0 or self.searches:
            return ""
        return f"{how.temperature}, top_k={how.top_k}, top_p={how.top_p}, seed={how.seed}"

    def _watch(self) -> str:
        side, attention = ("encoder", "self") if self.view.kind == "encoder" else ("decoder", "self")
        attention = "cross" if self.view.kind == "cross" else attention
        stack = side if self.architecture == "translator" else "stack"
        module = "cross_attention" if attention == "cross" else "attention"
        return WATCH % {"side": side, "attention": attention, "stack": stack, "module": module}

    def _read(self) -> str:
        if not self.writes:
            return "source"
        first = "*source" if self.architecture == "language_model" else "model.config.begin_id"
        if self.view.kind == "encoder":
            return f"[{first}, *generation.tokens]"
        return f"[{first}, *generation.tokens][: values.shape[2]]"

    def _cut(self) -> Iterator[str]:
        """Up to the step that is shown, and the mean of the heads, where that is what is on screen."""
        step = self.view.step
        if step is not None and self.view.kind != "encoder":
            rows = f"len(source) + {step}" if self.architecture == "language_model" else f"{step + 1}"
            keys = f", : {rows}" if self.view.kind == "decoder" else ""
            yield f"values = values[:, :, : {rows}{keys}]  # up to the step that is shown"
        if self.view.average:
            yield "values = values.mean(axis=1, keepdims=True)  # of the heads"

    def _merged(self) -> Iterator[str]:
        """Words in the place of pieces: rows averaged, columns summed."""
        if self._pages:
            yield from self._map()
            yield "picture = WordMap(picture)  # pieces merged into words"
            yield "values = picture.weights"
        else:
            yield self._tokens()
            yield "values = merge(values, words_of(queries), words_of(keys))  # pieces merged into words"

    def _page(self) -> Iterator[str]:
        """A page of all heads, beside the numbers."""
        if not self.merges:
            yield from self._map()
        yield 'mlxdecoder.AttentionView([picture]).save("attention.html")'

    def _map(self) -> Iterator[str]:
        yield self._tokens()
        yield f'allowed = intended("{self.view.kind}", *values.shape[2:], model.config.window)'
        shared = ""
        if self.shares:
            yield "shared = Grouping(model.config.n_heads, model.config.kv_heads)  # heads that share keys"
            shared = ", grouping=shared"
        yield f'picture = mlxdecoder.AttentionMap("{self.view.kind}", values, allowed, queries, keys{shared})'

    def _tokens(self) -> str:
        queries = "source" if self.view.kind == "encoder" else "read[: values.shape[2]]"
        keys = "read[: values.shape[3]]" if self.view.kind == "decoder" else "source"
        return f"queries, keys = tokenizer.pieces({queries}), tokenizer.pieces({keys})"
