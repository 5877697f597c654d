"""Mistakes on and off, as changes that can be undone. No Qt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mlxdecoder.app.session.catalogue import Entry
from mlxdecoder.app.session.session import Session

LACKS = {
    "language_model": "a language model has neither a source nor cross-attention",
    "encoder": "an encoder has neither a decoder nor cross-attention",
}


def switch(session: Session, name: str, on: bool) -> None:
    """Switch one mistake on or off, in whatever combination, and generate anew."""
    chosen = {*session.document.mistakes} - {name} | ({name} if on else set())
    if chosen != set(session.document.mistakes):
        _become(session, f"switch {'on' if on else 'off'}: {title(session, name)}", chosen, shows=on)


def back_to_correct(session: Session) -> None:
    """Switch everything off."""
    if session.document.mistakes:
        _become(session, "go back to correct", ())


def _become(session: Session, what: str, chosen: Iterable[str], shows: bool = False) -> None:
    """`shows` turns to the stage and the reading in which a mistake can be seen."""
    order = {name: place for place, name in enumerate(session.entries)}
    view = session.document.view
    view = replace(view, stage="weights", at_once=True) if shows else view
    session.generation.seeks = shows
    session.change(what, mistakes=tuple(sorted(chosen, key=lambda name: (order.get(name, -1), name))), view=view)
    if session.alive:
        session.generation.begin()


def title(session: Session, name: str) -> str:
    """The title of a mistake; its id where the catalogue does not know it."""
    return session.entries[name].title if name in session.entries else name


def hindrance(session: Session, name: str) -> str:
    """Why a mistake cannot show in the open model, whatever is done; "" where it can."""
    entry, model = session.entries.get(name), session.model
    if entry is None or model is None or model.architecture in entry.concerns:
        return ""
    return f"not applicable: {LACKS[model.architecture]}"


def shows_in(entry: Entry) -> str:
    """Where a mistake shows, when it is not everywhere."""
    return "training" if entry.trains_only else "generating" if entry.generates_only else ""


def advice(entry: Entry) -> str:
    """Where to look for what a mistake does."""
    if entry.harmless:
        return "Looks like a mistake, and is none."
    return {
        "training": "Shows only in training: a trained model does the same with it. Train a twin to see it.",
        "generating": "Shows only while generating: training does not meet it.",
        "": "",
    }[shows_in(entry)]
