"""The text that MLX generates for a kernel, on any machine: a call is exported instead of run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

INSTANTIATION = re.compile(r"template \[\[host_name\(.*decltype\((?P<kernel>\w+)<(?P<arguments>.*)>\)")


@dataclass(frozen=True)
class GeneratedText:
    """What MLX would compile on a Mac, after its own utilities.

    Args:
        text: the user's header, the kernel with its signature, and its instantiation.
        kernel: the name of the kernel function.
        template_arguments: what its instantiation has between angle brackets; empty for a kernel without template.
    """

    text: str
    kernel: str
    template_arguments: str


def generated_text(call: Callable[..., list[mx.array]], inputs: Sequence[mx.array], **options: Any) -> GeneratedText:
    """The text of a call of a kernel that `mx.fast.metal_kernel` gave.

    Args:
        call: the kernel.
        inputs: its inputs, of which only types and shapes matter.
        options: the other arguments of the call.
    """
    steps = list[dict[str, Any]]()
    # Arrays of its own, so that nothing of a trace that is going on elsewhere is drawn in.
    arrays = [mx.zeros(array.shape, array.dtype) for array in inputs]
    mx.export_function(steps.append, lambda *traced: call(inputs=list(traced), **options), *arrays)
    name, text = next(step["arguments"][:2] for step in steps if step.get("name") == "CustomKernel")
    instantiation = INSTANTIATION.search(text)
    return GeneratedText(text, name, instantiation["arguments"] if instantiation else "")


def with_line_marks(text: str, header: str, source: str) -> str:
    """The generated text with directives that number the lines of header and source as the user wrote them.

    Nothing is put between the header and what follows it, where MLX puts nothing either: a header that ends in a
    comment without a line end swallows the signature here as on a Mac.
    """
    start = text.rindex(f") {{\n{source}\n}}\n") + len(") {\n")
    signature, after = text[len(header) : start], text[start + len(source) :]
    mark = "" if header and not header.endswith("\n") else '#line 1 "/generated"\n'
    return f'#line 1 "/header"\n{header}{mark}{signature}#line 1 "/source"\n{source}\n#line 1 "/generated"{after}'
