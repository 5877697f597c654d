"""Which members of a zip file are the corpus: one text, or the two sides of one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath
from zipfile import ZipFile, ZipInfo

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.rows import Undecided, listed, refuse_twice

_OFFICE = {"[Content_Types].xml", "content.xml"}
_BESIDE = ("_", ".", "readme", "license", "licence", "copying")  # how members begin that are not the corpus


def corpus_members(archive: ZipFile, name: str, languages: Sequence[str]) -> list[ZipInfo]:
    """The one member with text; or two that are named alike but for their endings, as the two sides.

    `languages` are the endings to choose when there are more: a.en and a.fr beside a.de. Members such as README,
    _about.txt and hidden ones do not count. Raises UserError, with what was found, when it cannot be told; it is
    Undecided where two endings can be chosen.
    """
    members = [member for member in archive.infolist() if _may_be_corpus(member)]
    if _OFFICE & {member.filename for member in members}:
        raise UserError(f"{name}: an office document; wanted text, so save the table as CSV in UTF-8")
    offered = endings(archive)
    refuse_twice(languages, offered, name)
    if len(members) == 1:
        return members
    sides = [member for language in languages for member in members if _ending(member) == language.lower()]
    for some in [sides] if languages else [members, _told_by_stem(members)]:
        if len(some) == 2 and (languages or _stem(some[0]) == _stem(some[1])):
            return some
    raise _undecided(members, offered, name)


def _undecided(members: Sequence[ZipInfo], offered: Sequence[str], name: str) -> UserError:
    found = listed([member.filename for member in members]) or "nothing"
    told = f"{name}: wanted one text, or two named alike but for their endings; found {found}.\n"
    if len(offered) < 2:
        return UserError(f"{told}Unpack it, and give one file, or the two that belong together.")
    return Undecided(f"{told}Choose two by their endings as languages, like en and fr.", "languages", offered)


def _told_by_stem(members: Sequence[ZipInfo]) -> list[ZipInfo]:
    """Those whose endings their own stems name, as OPUS has it: x.en-fr.en and x.en-fr.fr beside x.en-fr.xml."""
    return [member for member in members if _ending(member) in re.split("[-.]", _stem(member).lower())[-2:]]


def endings(archive: ZipFile) -> tuple[str, ...]:
    """The endings that one member each has, by which it can be chosen as a side."""
    counts = Counter(_ending(member) for member in archive.infolist() if _may_be_corpus(member))
    return tuple(ending for ending, count in counts.items() if ending and count == 1)


def _may_be_corpus(member: ZipInfo) -> bool:
    hidden = any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(member.filename).parts)
    return not (hidden or member.is_dir() or PurePosixPath(member.filename).name.lower().startswith(_BESIDE))


def _stem(member: ZipInfo) -> str:
    return PurePosixPath(member.filename).stem


def _ending(member: ZipInfo) -> str:
    return PurePosixPath(member.filename).suffix.lstrip(".").lower()
