"""Which members of a zip file are the corpus: one text, or the two sides of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from zipfile import ZipFile, ZipInfo

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.rows import listed

_OFFICE = {"[Content_Types].xml", "content.xml"}
_BESIDE = ("_", ".", "readme", "license", "licence", "copying")  # how members begin that are not the corpus


def corpus_members(archive: ZipFile, name: str, languages: Sequence[str]) -> list[ZipInfo]:
    """The one member with text; or two that are named alike but for their endings, as the two sides.

    `languages` are the endings to choose when there are more: a.en and a.fr beside a.de. Members such as README,
    _about.txt and hidden ones do not count. Raises UserError, with what was found, when it cannot be told.
    """
    members = [member for member in archive.infolist() if _may_be_corpus(member)]
    if _OFFICE & {member.filename for member in members}:
        raise UserError(f"{name}: an office document; wanted text, so save the table as CSV in UTF-8")
    sides = [member for language in languages for member in members if _ending(member) == language.lower()]
    if len(sides) == 2 or len(members) == 1:
        return sides if len(sides) == 2 else members
    if len(members) == 2 and len({PurePosixPath(member.filename).stem for member in members}) == 1:
        return members
    found = listed([member.filename for member in members]) or "nothing"
    raise UserError(
        f"{name}: wanted one text, or two named alike but for their endings; found {found}.\n"
        "Choose two by their endings as languages, like en and fr; or unpack it and give the files."
    )


def _may_be_corpus(member: ZipInfo) -> bool:
    hidden = any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(member.filename).parts)
    return not (hidden or member.is_dir() or PurePosixPath(member.filename).name.lower().startswith(_BESIDE))


def _ending(member: ZipInfo) -> str:
    return PurePosixPath(member.filename).suffix.lstrip(".").lower()
