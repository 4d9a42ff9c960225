"""The verbs as functions. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from lathe.verbs import ops
from lathe.verbs import records
from lathe.verbs import store
from lathe.verbs.bench import bench
from lathe.verbs.check import check
from lathe.verbs.compare import compare
from lathe.verbs.compile import compile
from lathe.verbs.corun import corun
from lathe.verbs.diff_models import diff_models
from lathe.verbs.evaluate import evaluate
from lathe.verbs.export import export
from lathe.verbs.extract import extract
from lathe.verbs.inspect import inspect
from lathe.verbs.machine import machine
from lathe.verbs.predict import predict
from lathe.verbs.profile import profile
from lathe.verbs.quantize import quantize
from lathe.verbs.report import report
from lathe.verbs.run import run
from lathe.verbs.segments import segments
from lathe.verbs.stage import stage
from lathe.verbs.sweep import sweep
from lathe.verbs.tune import tune
from lathe.verbs.verify import verify
from lathe.verbs.zoo import zoo

__all__ = ["bench", "check", "compare", "compile", "corun", "diff_models", "evaluate", "export", "extract", "inspect", "machine", "ops", "predict",
           "profile", "quantize", "records", "report", "run", "segments", "stage", "store", "sweep", "tune", "verify", "zoo"]
