"""The one kind of error that is meant for the user's eyes, and how names out of files stand in it."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_NAME = 80  # characters of a name out of a file


class UserError(ValueError):
    """Something that the user gave is wrong; the message names it, says what was found and wanted, and what to do.

    The command line prints the message alone, without a traceback, and exits with status 2.
    """


def shown(name: object, longest: int = LONGEST_NAME) -> str:
    """A name out of a file, fit for one line: cut short, and with escapes for what is not printable."""
    text = str(name)[: longest + 1]
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first of some names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
