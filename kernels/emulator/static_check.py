"""A check of Metal text that runs nothing: clang's types where address spaces matter, and Metal's own rules.

A C++ compiler lets a threadgroup pointer pass for a device pointer, Metal does not. In "C++ for OpenCL 2021" address
spaces are part of a type as well, so the text goes through clang in that language, against the declarations in static/.
What C++ for OpenCL does not forbid, such as recursion, is read off the tokens.

The languages differ where kernels seldom go, and right Metal is refused there: a comparison of vectors kept as `bool4`,
a method that gives a member array or its element to a `thread` pointer or reference, constructors with address spaces.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx

from . import static_rules
from .findings import Finding
from .generated_text import generated_text
from .opencl import in_opencl

DECLARATIONS = Path(__file__).parent / "static" / "metal.h"
COMPILERS = ("clang-19", "clang-20", "clang-21", "clang-22", "clang", "clang-18")
FLAGS = (
    *("-x", "cl", "-cl-std=CLC++2021", "-cl-no-stdinc", "-Xclang", "-cl-ext=+cl_khr_fp16"),
    *("-target", "x86_64-linux-gnu", "-fsyntax-only", "-include", str(DECLARATIONS)),
    *("-Wno-everything", "-ferror-limit=30", "-fno-caret-diagnostics", "-fno-color-diagnostics"),
)
DIAGNOSTIC = re.compile(r"(?P<file>[^:\n]+):(?P<line>\d+):\d+: (?P<kind>error|fatal error|note): (?P<message>.*)")
SPACES = {
    "__global": "device",
    "__local": "threadgroup",
    "__constant": "constant",
    "__private": "thread",
    "__generic": "(any space)",
}


def available() -> str | None:
    """None if the check can run here, and otherwise why not, in words that a skipped test can give as its reason."""
    return (
        None if _compiler() else "the static check of Metal needs a clang that reads C++ for OpenCL, such as clang 19"
    )


def check(text: str, name: str) -> tuple[Finding, ...]:
    """What Metal would refuse in a complete text: header, kernels, and instantiations of those that are templates.

    Args:
        text: the text, as MLX gives it to a Mac, with or without MLX's own utilities before it.
        name: what to call it in findings.

    Returns:
        A finding of the kind "static" for each mistake, by line; line 0 where no line is to blame.

    Raises:
        RuntimeError: there is no clang for it; see `available`.
    """
    compiler = _compiler()
    if compiler is None:
        raise RuntimeError(available())
    found = sorted({*static_rules.findings(text), *_refused(compiler, in_opencl(text))})
    lines = ["", *text.split("\n")]
    return tuple(Finding("static", line, lines[line].strip(), message, name) for line, message in found)


def check_call(kernel: Mapping[str, Any], inputs: Sequence[Any], **options: Any) -> tuple[Finding, ...]:
    """What Metal would refuse in the text that MLX generates for a call of a custom kernel.

    Inputs of fewer than 8 elements come as `constant` and others as `device`, so a kernel is to be checked with both.

    Args:
        kernel: the arguments of `mx.fast.metal_kernel`.
        inputs: the inputs of the call, of which only types and shapes matter.
        options: the other arguments of the call.

    Raises:
        RuntimeError: there is no clang for it; see `available`.
        ValueError: MLX refuses the arguments.
    """
    arrays = [given if isinstance(given, mx.array) else mx.array(given) for given in inputs]
    return check(generated_text(mx.fast.metal_kernel(**kernel), arrays, **options).text, kernel["name"])


@functools.cache
def _compiler() -> str | None:
    """The first clang that accepts the declarations."""
    for name in COMPILERS:
        path = shutil.which(name)
        if path and _run(path, "").returncode == 0:
            return path
    return None


def _run(compiler: str, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([compiler, *FLAGS, "-"], input=text, capture_output=True, text=True, check=False)


def _refused(compiler: str, text: str) -> Iterator[tuple[int, str]]:
    """The lines that the compiler refuses, and why; an error in the declarations is laid to the line that led there."""
    messages = [match for line in _run(compiler, text).stderr.splitlines() if (match := DIAGNOSTIC.match(line))]
    for index, message in enumerate(messages):
        if message["kind"] == "note":
            continue
        line = 0
        for place in messages[index:]:
            if place is not message and place["kind"] != "note":
                break
            if place["file"] == "<stdin>":
                line = int(place["line"])
                break
        yield line, _in_metals_words(message["message"])


def _in_metals_words(message: str) -> str:
    message = re.sub("static assertion failed due to requirement '.*': ", "", message)
    return re.sub("|".join(SPACES), lambda match: SPACES[match.group()], message)
