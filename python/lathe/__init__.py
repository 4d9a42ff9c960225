"""Lathe from Python: load, compile, tune, run and measure models.

    import lathe, numpy
    model = lathe.load("squeezenet.onnx")          # any format, zoo:NAME, or a package (.lathe)
    image = numpy.zeros((1, 3, 224, 224), numpy.float32)
    outputs = model.run({"input": image})          # {"output": array}
    package = lathe.compile("squeezenet.onnx", "squeezenet.lathe").package
    print(lathe.profile("squeezenet.lathe", repetitions=2))

The example's network is made by `lathe zoo squeezenet -o squeezenet.onnx`; `model.inputs` and `model.outputs` tell the names
of any other. The verbs of the command line are functions with its flags as keyword arguments; they return objects that print
as its tables (lathe.results). docs/python.md is the introduction.
A package contains native code: loading one means trusting it.
"""
from lathe import results, verbs
from lathe._context import Context, Pool
from lathe._libraries import Cancelled, Error
from lathe._models import Model, Package, load, runtime_version
from lathe._ports import Port, Quantization
from lathe._store import Store
from lathe.verbs import *

__version__: str


def __getattr__(name: str) -> str:
    if name == "__version__":  # the runtime's version; the runtime is loaded when this is asked for
        return runtime_version()
    raise AttributeError(f"module 'lathe' has no attribute '{name}'")


__all__ = ["Cancelled", "Context", "Error", "Model", "Package", "Pool", "Port", "Quantization", "Store", "load", "results", "runtime_version"]
__all__ += verbs.__all__
