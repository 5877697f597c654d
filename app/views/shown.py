"""What the heatmaps show now, with what was found in it. No Qt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlxdecoder.app.session.recording import Picture, Recording
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.session.word_picture import WordPicture
from mlxdecoder.app.views import words
from mlxdecoder.app.views.colours import Scale, scale_of
from mlxdecoder.heads import Sinks, find_sinks
from mlxdecoder.maps import TOLERANCE


@dataclass(frozen=True, eq=False)
class Shown:
    """A picture with all its steps, of which the first `rows` are shown; the last of them is the newest.

    In words there are only the steps that are shown.
    `recordings` and `about` say what it was made of: of two with the same, one is the beginning of the other.
    """

    picture: Picture
    side: str
    rows: int
    steps: bool  # whether rows are steps of a generation
    scale: Scale
    recordings: tuple[Recording | None, ...]
    about: tuple[str | bool, ...]

    def continues(self, other: Shown | None) -> bool:
        """Whether one of the two has grown out of the other; the last word of a sentence may still change."""
        if other is None or self.about != other.about or isinstance(self.picture, WordPicture):
            return False
        return all(mine is its for mine, its in zip(self.recordings, other.recordings, strict=True))


def side_shown(session: Session) -> str:
    """The side that is chosen; without mistakes there is only one."""
    return session.document.view.side if "right" in session.generation.recordings else "wrong"


def shown(session: Session, side: str | None = None) -> Shown | None:
    """What is to be drawn of one side, or of the one that is chosen; None before anything is known."""
    view, generation = session.document.view, session.generation
    side = side or side_shown(session)
    picture = generation.picture(side, whole=not generation.merges_words)  # a word has no more pieces than were read
    if picture is None or not picture.values.size:
        return None
    steps = picture.kind != "encoder" and not generation.reads_at_once
    recordings = tuple(generation.recordings.get(one) for one in ("right", "wrong"))
    rows = picture.values.shape[2]
    read = max((len(one.prompt) for one in recordings if one), default=1)  # in the first step, by who has begun
    shown_rows = rows if view.step is None or not steps else min(read + view.step, rows)
    scale = scale_of(picture.stage, side, generation.reach())
    about = (picture.kind, picture.stage, side, view.average, generation.reads_at_once, generation.merges_words)
    return Shown(picture, side, shown_rows, steps, scale, recordings, about)


@dataclass(frozen=True, eq=False)
class Head:
    """One head: values [T, S] as they are, the intended mask [T, S] and the tokens, up to the newest row.

    `sums` [T] are there for weights alone, `outside` [T] is the size of what lies where the mask forbids; `wrong_sums`
    are the rows whose sum is neither 1 nor, where nothing may be seen, 0.
    """

    title: str
    side: str
    values: np.ndarray
    intended: np.ndarray
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    room: int  # rows, with those that are still to come
    newest: int | None
    scale: Scale
    unit: str
    sums: np.ndarray | None
    wrong_sums: frozenset[int]
    outside: np.ndarray

    @property
    def leaking(self) -> list[int]:
        """The rows with more outside the intended mask than rounding explains; NaN counts."""
        return np.flatnonzero(~(self.outside <= TOLERANCE)).tolist()

    def has(self, row: int, column: int) -> bool:
        """Whether there is such a cell."""
        rows, columns = self.values.shape
        return 0 <= row < rows and 0 <= column < columns

    def tell(self, row: int, column: int) -> str:
        """One cell in words: query, key, value, and what is to be said of it."""
        value = words.number(float(self.values[row, column]), self.scale.signed)
        outside = "" if self.intended[row, column] else ", outside the intended mask"
        query, key = words.whole(self.queries[row]), words.whole(self.keys[column])
        return f"{query} (query {row}) → {key} (key {column}): {self.unit} {value}{outside}."

    def tell_row(self, row: int) -> str:
        """One query in words, with its sum and what lies outside the mask."""
        said = [f"{words.whole(self.queries[row])} (query {row})"]
        if self.sums is not None:
            wrong = ", which is wrong" if row in self.wrong_sums else ""
            said.append(f"the row sums to {words.number(float(self.sums[row]))}{wrong}")
        if row in self.leaking:
            said.append(f"{words.number(float(self.outside[row]))} outside the intended mask")
        return "; ".join(said) + "."

    def tell_key(self, column: int) -> str:
        return f"{words.whole(self.keys[column])} (key {column})."

    def findings(self) -> list[str]:
        """What is wrong in this head, in words; nothing if nothing is."""
        of_rows, leaking, sums = f"of {len(self.queries)} rows", self.leaking, self.sums
        found = []
        if leaking:
            most = words.number(float(self.outside[leaking].max()))
            found.append(f"◂ {len(leaking)} {of_rows} with {self.unit} outside the intended mask, up to {most}")
        if sums is not None and self.wrong_sums:
            worst = max((float(sums[row]) for row in self.wrong_sums), key=lambda total: abs(total - 1))
            found.append(f"○ {len(self.wrong_sums)} {of_rows} with a wrong sum, such as {words.number(worst)}")
        missing = int(np.isnan(self.values).sum())
        if missing and sums is not None:
            found.append(f"▨ {missing} of {self.values.size} cells are no number")
        return found

    def sinks(self) -> list[str]:
        """Its sinks in words."""
        if self.sums is None:
            return []
        return tell_sinks(find_sinks(self.values[None, None], self.intended, self.keys), self.keys, 0, 0)


def head_of(shown: Shown, layer: int, head: int, title: str) -> Head:
    """One head of what is shown; a layer or head that is not there gives the last one."""
    picture, rows = shown.picture, shown.rows
    layer, head = (min(at, count - 1) for at, count in zip((layer, head), picture.values.shape[:2], strict=True))
    one = picture.cut(slice(layer, layer + 1), slice(head, head + 1), slice(rows))
    weighs = picture.stage == "weights" and shown.side != "change"
    with np.errstate(invalid="ignore"):
        sums = one.row_sums[0, 0]
    wrong = np.flatnonzero(~(one.sum_errors[0, 0] <= TOLERANCE)).tolist() if weighs else []
    return Head(
        title=title,
        side=shown.side,
        values=one.values[0, 0],
        intended=one.intended,
        queries=one.queries,
        keys=picture.keys,
        room=picture.values.shape[2],
        newest=rows - 1 if shown.steps else None,
        scale=shown.scale,
        unit="change" if shown.side == "change" else words.UNITS[picture.stage],
        sums=sums if weighs else None,
        wrong_sums=frozenset(wrong),
        outside=np.zeros(rows) if shown.side == "change" else one.outside[0, 0],
    )


def outside_of(shown: Shown, first: int = 0) -> np.ndarray:
    """What lies where the mask forbids, from row `first` on: [L, H, T]; a difference has no mass to be outside."""
    part = shown.picture.cut(rows=slice(first, None))
    return np.zeros(part.values.shape[:3]) if shown.side == "change" else part.outside


def sinks_of(shown: Shown) -> Sinks:
    """The sinks of each layer and head, as far as it is shown; there are none but in weights."""
    picture, rows = shown.picture, shown.rows
    if picture.stage != "weights" or shown.side == "change":
        return {}
    return find_sinks(picture.values[:, :, :rows], picture.intended[:rows], picture.keys)


def tell_sinks(sinks: Sinks, keys: tuple[str, ...], layer: int, head: int) -> list[str]:
    """The sinks of one head in words."""
    return [
        f"sink: {words.whole(keys[key])} (key {key}) takes {share:.0%} of the weight on average"
        for key, share in sinks.get((layer, head), [])
    ]


def shared_by(session: Session, head: int) -> list[str]:
    """With which heads this one shares its keys and values; nothing where it does not, and for a mean of heads."""
    model = session.model
    if model is None or session.document.view.average or not model.grouping.shares:
        return []
    return [model.grouping.describe(min(head, model.heads - 1))]
