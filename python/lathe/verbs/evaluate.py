"""`lathe evaluate`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Pairs, Path, Progress, Texts, execute


def evaluate(model: Path, *, shape: Pairs | None = None, override: Texts | None = None,
             requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
             target: str | None = None, threads: int | None = None, machine: Path | None = None, references_only: bool | None = None,
             level: int | None = None, layout: Literal["auto", "nchw", "nhwc", "blocked"] | None = None, exact_math: bool | None = None,
             memory: Literal["any", "small"] | None = None, streams: str | None = None, precision: Literal["fp32", "bf16"] | None = None,
             schedule: Path | None = None, specialize: Pairs | None = None, range: Pairs | None = None, optimize_for: Pairs | None = None,
             no_cache: bool | None = None, no_records: bool | None = None, zoo_seed: int | None = None, zoo_batch: int | None = None,
             zoo_sequence: int | None = None, store: Path | None = None, no_store: bool | None = None, tag: Texts | None = None,
             note: str | None = None, name: str | None = None, check_constants: Literal["once", "always", "never"] | None = None,
             data: Path | None = None, labels: Path | None = None, skip_unreadable: bool | None = None, random_crops: int | None = None,
             against: str | None = None, seed: int | None = None, confusion: Path | None = None, tflite_library: Path | None = None,
             preprocess: Literal["flags", "model"] | None = None, fit: Literal["stretch", "crop"] | None = None, resize: int | None = None,
             pixel_range: Literal["auto", "0..1", "-1..1", "0..255"] | None = None, mean: Texts | None = None, std: Texts | None = None,
             channels: Literal["rgb", "bgr"] | None = None, input_layout: Literal["auto", "nchw", "nhwc"] | None = None,
             input_scale: float | None = None, input_zero_point: int | None = None, quiet: bool | None = None, wide: bool | None = None,
             progress: Progress | None = None) -> results.EvaluateResult:
    """Classify pictures with a model: top-1 and top-5 accuracy, precision, recall and F1 of each class, the confusion
    matrix and the latency. With --against, count the pictures for which another model or runtime decides otherwise.

    store: Store the measurements in this file or on this server, postgresql://HOST/DATABASE, and use its tuning records (default:
        ~/.local/share/lathe/lathe.db)
    no_store: Do not store the measurements
    tag: Tag the experiment in the store with these words
    note: Attach this note to the experiment in the store
    name: Give the experiment this name in the store
    check_constants: Check a package's weights against their hash: once per version of the file, always or never
    data: Read pictures or .npy files from a folder with a folder a class, from a folder without classes, or from a CSV file with the columns file and
        class; or arrays with an array labels from an .npz file
    labels: Read the names of the classes from FILE, one a line
    skip_unreadable: Leave out pictures that cannot be read, and name them, instead of ending with an error
    random_crops: Classify this many random crops in all, instead of whole pictures; a crop has at least half of each side
    against: Decide with this model, too, and count changed decisions: a model, a package, onnxruntime or tflite
    seed: Set the seed of random crops
    confusion: Write the confusion matrix as a picture
    tflite_library: Run TFLite files with this native library of TensorFlow Lite's C API, libtensorflowlite_c.so, as the runtime tflite
    preprocess: Take range, mean, deviation, channels and quantisation of pixels from the flags, or from what the model's file states
    fit: Fit pictures: stretch them to the input, or resize the shorter side and crop the middle
    resize: Set the shorter side before --fit crop, in pixels (default: the input's)
    pixel_range: Set the range of pixels before --mean and --std; auto: that of a quantised input if neither is given, else 0..1
    mean: Subtract this from pixels: one number, or one a channel as 0.485,0.456,0.406
    std: Divide pixels by this after --mean: one number, or one a channel
    channels: Set the order of channels: rgb or bgr
    input_layout: Set the layout of the input: nchw, nhwc, or auto: where 3 or 1 channels stand
    input_scale: Quantise pixels for an integer input with this scale
    input_zero_point: Quantise pixels with this zero point (default: 0)
    Other arguments: as for `compile`.
    """
    return execute(evaluate, locals())
