"""The function by which the runtime calls a kernel, whatever its parameters are."""

from __future__ import annotations

from collections.abc import Sequence

from mlxdecoder.errors import UserError

from .tokens import Parameter


def entry_point(parameters: Sequence[Parameter], callee: str) -> str:
    """The C++ of the entry point.

    Args:
        parameters: the parameters of the kernel.
        callee: the kernel with its template arguments.

    Raises:
        UserError: a parameter is neither a buffer nor an attribute of the thread.
    """
    arguments = ", ".join(map(_argument, parameters))
    return (
        "\nEMULATOR_ENTRY void emulator_entry(void** buffers, const emulator::Attributes* attributes) "
        f"{{ {callee}({arguments}); }}\n"
    )


def _argument(parameter: Parameter) -> str:
    if "(" in parameter.attribute:
        raise UserError(
            f"{parameter.name}: found [[{parameter.attribute}]], wanted a buffer or an attribute of the thread."
        )
    if parameter.buffer is None:
        return f"emulator::AttributeArgument(attributes->{parameter.attribute})"
    kind = "Reference" if "&" in parameter.declaration else "Pointer"
    return f"emulator::{kind}Argument{{buffers[{parameter.buffer}]}}"
