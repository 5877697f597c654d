"""Pairs of text written as other programs write them, in every format, encoding and compression."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

Texts = Sequence[tuple[str, str]]


def tab(pairs: Texts) -> str:
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


def table(pairs: Texts, separator: str = ",", header: Sequence[str] = ()) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator)
    writer.writerows([header, *pairs] if header else pairs)
    return out.getvalue()


def tmx(pairs: Texts) -> str:
    start, middle, end = '<tu><tuv xml:lang="en"><seg>', '</seg></tuv>\n<tuv xml:lang="fr"><seg>', "</seg></tuv></tu>\n"
    units = "".join(f"{start}{escape(source)}{middle}{escape(target)}{end}" for source, target in pairs)
    return f'<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en"/><body>\n{units}</body></tmx>\n'


def po(pairs: Texts) -> str:
    header = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    messages = (
        f'\n#: place:1\nmsgctxt "some"\nmsgid {_quoted(source)}\nmsgstr {_quoted(target)}\n' for source, target in pairs
    )
    return header + "".join(messages)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'


def json_lines(pairs: Texts) -> str:
    return "".join(json.dumps({"en": source, "fr": target}, ensure_ascii=False) + "\n" for source, target in pairs)


def hugging_face(pairs: Texts) -> str:
    return "".join(json.dumps({"translation": {"en": source, "fr": target}}) + "\n" for source, target in pairs)


FORMATS: dict[str, Callable[[Texts], str]] = {
    "a.tsv": tab,
    "a.csv": table,
    "a.tmx": tmx,
    "a.po": po,
    "a.jsonl": json_lines,
    "b.jsonl": hugging_face,
}
ENCODINGS: dict[str, tuple[bytes, str]] = {
    "UTF-8": (b"", "utf-8"),
    "UTF-8 with a byte order mark": (b"\xef\xbb\xbf", "utf-8"),
    "UTF-16 LE": (b"\xff\xfe", "utf-16-le"),
    "UTF-16 BE": (b"\xfe\xff", "utf-16-be"),
    "UTF-16 LE without a byte order mark": (b"", "utf-16-le"),
    "UTF-16 BE without a byte order mark": (b"", "utf-16-be"),
}


def encoded(text: str, encoding: str) -> bytes:
    mark, codec = ENCODINGS[encoding]
    return mark + text.encode(codec)


def packed(folder: Path, name: str, data: bytes, compression: str) -> Path:
    """Write a file, packed: name, name.gz, or name.zip with a README beside."""
    if compression == "gzip":
        path, data = folder / f"{name}.gz", gzip.compress(data, mtime=0)
    elif compression == "zip":
        path, data = folder / f"{name}.zip", zipped({"README": b"no corpus", f"corpus/{name}": data})
    else:
        path = folder / name
    path.write_bytes(data)
    return path


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)  # without the time, so the same each time
    return out.getvalue()
