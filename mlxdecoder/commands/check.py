"""`mlxdecoder check`: anybody's attention, decoder, translator or batches against the contracts, from the shell."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

from mlxdecoder.commands.common import Subparsers, add_command, add_json, print_json
from mlxdecoder.contracts import KINDS, diagnose
from mlxdecoder.errors import UserError
from mlxdecoder.streams import unheard_is_fine

OPTIONS = (
    *("arrays", "mask", "rank", "n_heads", "n_kv_heads", "head_width", "half", "pad", "separator"),
    *("vocabulary", "source_vocabulary", "begin", "end", "ignore", "seed", "tolerance"),
)
OF_KIND = {
    "attention": {"arrays", "mask", "rank", "n_heads", "n_kv_heads", "head_width", "half", "seed", "tolerance"},
    "decoder": {"arrays", "pad", "separator", "vocabulary", "seed", "tolerance"},
    "translator": {"arrays", "pad", "separator", "vocabulary", "source_vocabulary", "seed", "tolerance"},
    "batches": {"begin", "end", "pad", "ignore"},
}


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "check",
        run,
        "Try code against the contracts of attention, and name the mistake that its failures look like. "
        "Exit status: 0 all hold, 1 some fail, 2 it cannot be tried.",
        "mlxdecoder check my_model.py:attend --kind attention",
    )
    parser.add_argument("target", metavar="MODULE:NAME", help="a module or a file, and a function or object in it")
    parser.add_argument("--kind", choices=KINDS, required=True, help="what it is; see below")
    parser.epilog = KINDS_HELP + (parser.epilog or "")
    parser.add_argument("--call", action="store_true", help="NAME() makes the thing to try, such as a model")
    parser.add_argument("--arrays", choices=("mlx", "numpy", "torch"), help="what it takes (default: found by trying)")
    parser.add_argument("--seed", type=int, help="of the random probes (default: 0)")
    parser.add_argument("--tolerance", type=float, help="relative to the size of the outputs (default: 1e-4)")
    attention = parser.add_argument_group("attention")
    attention.add_argument(
        "--mask",
        choices=("allowed", "blocked", "additive"),
        help="what the mask means: True = may attend, True = blocked, or 0 / -inf added (default: found by trying)",
    )
    attention.add_argument("--rank", type=int, choices=(2, 3, 4), help="of the mask (default: found by trying)")
    attention.add_argument("--heads", dest="n_heads", type=int, metavar="H", help="query heads")
    attention.add_argument("--kv-heads", dest="n_kv_heads", type=int, metavar="H", help="key and value heads, if fewer")
    attention.add_argument("--head-width", type=int, metavar="N", help="features of a head")
    attention.add_argument("--half", action="store_true", default=None, help="try it in float16 too")
    models = parser.add_argument_group("decoder, translator, batches")
    for name, what in (
        ("pad", "id of padding, from which it tells what to hide"),
        ("separator", "id between packed documents that it keeps apart"),
        ("vocabulary", "number of ids (default: as many as logits)"),
        ("source-vocabulary", "number of source ids"),
        ("begin", "id of the begin mark (batches)"),
        ("end", "id of the end mark (batches)"),
        ("ignore", "label that does not count (batches)"),
    ):
        models.add_argument(f"--{name}", type=int, metavar="ID" if "ocabulary" not in name else "N", help=what)
    add_json(parser)


KINDS_HELP = """kinds:
  attention   f(q, k, v, mask); q [B, H, T, dh], k and v [B, Hkv, S, dh]; gives [B, H, T, dh]
  decoder     f(tokens, cache=None); ids [B, T]; gives logits [B, T, V]; with f.make_cache(), caches are tried
  translator  f(source, target); ids; gives logits; f.encode, f.decode and f.stepwise are tried where they are there
  batches     f(sentences); lists of ids; gives inputs, labels, weights

"""


def run(options: argparse.Namespace) -> int:
    given = {name: getattr(options, name) for name in OPTIONS if getattr(options, name) is not None}
    useless = sorted(set(given) - OF_KIND[options.kind])
    if useless:
        raise UserError(f"--{useless[0].replace('_', '-')}: means nothing for --kind {options.kind}; leave it out.")
    missing = [name for name in ("begin", "end", "pad") if options.kind == "batches" and name not in given]
    if missing:
        raise UserError(f"--{missing[0]}: is wanted with --kind batches.")
    try:
        with redirect_stdout(sys.stderr):  # what the code under test prints is not our answer
            found = diagnose(load_target(options.target, options.call), options.kind, **given)
    except SystemExit as stop:
        raise UserError(
            f"{options.target}: ended the program (SystemExit: {stop.code}); it cannot be tried so."
        ) from None
    with unheard_is_fine():  # the status counts, also for those who read no further than the first lines
        print_json(found.to_dict()) if options.json else print(found)
    return 0 if found.holds else 1


def load_target(target: str, call: bool = False) -> Any:
    """The object that MODULE:NAME names; raises `UserError` that says which part of it is wrong."""
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise UserError(f"{target!r}: MODULE:NAME is wanted, such as my_model:attend or code/my_model.py:attend.")
    found: Any = _load_module(place)
    for part in name.split("."):
        if not hasattr(found, part):
            known = ", ".join([known for known in dir(found) if not known.startswith("_")][:20])
            raise UserError(f"{target!r}: no {part!r} in it; there are {known or 'no names'}.")
        found = getattr(found, part)
    if isinstance(found, type) and not call:
        raise UserError(f"{target}: is a class; --call makes one and tries that, or name an object.")
    return _called(target, found) if call else found


def _called(target: str, make: Any) -> Any:
    try:
        return make()
    except Exception as error:
        raise UserError(f"{target}() raised {type(error).__name__}: {error}") from None


def _load_module(place: str) -> ModuleType:
    path = Path(place)
    if path.suffix == ".py" and not path.is_file():
        raise UserError(f"{place}: no such file.")
    sys.path.insert(0, str(path.parent.resolve() if path.suffix == ".py" else Path.cwd()))
    try:
        return _load_file(path) if path.suffix == ".py" else importlib.import_module(place)
    except ModuleNotFoundError as error:
        raise UserError(f"{place}: {error}; run this where the module can be imported, or name its file.") from None
    except Exception as error:
        raise UserError(f"{place}: importing it raised {type(error).__name__}: {error}") from None


def _load_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # dataclasses look for their module there
    spec.loader.exec_module(module)
    return module
