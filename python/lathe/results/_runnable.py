"""What everything does that stands for a package."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lathe._context import Context, Inputs
    from lathe._models import Package
    from lathe._ports import Port


class Runnable:
    """Runs its package. A class derived from it says which one that is."""

    @property
    def package(self) -> Package:
        """The package, loaded."""
        raise NotImplementedError

    @property
    def inputs(self) -> list[Port]:
        return self.package.inputs

    @property
    def outputs(self) -> list[Port]:
        return self.package.outputs

    def context(self, threads: int | None = None) -> Context:
        """Working memory and threads for a caller of its own."""
        return self.package.context(threads)

    def run(self, inputs: Inputs, dequantize: bool = False) -> dict[str, Any]:
        """Runs on all inputs, {name or number: array} or a list in order. Returns {name: array}; `dequantize` as of Context.run."""
        return self.package.run(inputs, dequantize)
