"""`lathe sweep`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Arrays, Pairs, Path, Progress, Texts, execute


def sweep(model: Path, *, shape: Pairs | None = None, override: Texts | None = None,
          requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
          exact_math: bool | None = None, memory: Literal["any", "small"] | None = None, precision: Literal["fp32", "bf16"] | None = None,
          no_records: bool | None = None, zoo_seed: int | None = None, zoo_batch: int | None = None, zoo_sequence: int | None = None,
          with_: Texts | None = None, levels: str | None = None, target: Texts | None = None, threads: str | None = None, layouts: str | None = None,
          against: Texts | None = None, tflite_library: Path | None = None, input: Arrays | None = None,
          fill: Literal["zeros", "ones", "random"] | None = None, seed: int | None = None, cpus: Texts | None = None,
          memory_node: Texts | None = None, frequency_cap: Texts | None = None, cache_share: Texts | None = None, data: Path | None = None,
          labels: Path | None = None, skip_unreadable: bool | None = None, random_crops: int | None = None,
          preprocess: Literal["flags", "model"] | None = None, fit: Literal["stretch", "crop"] | None = None, resize: int | None = None,
          pixel_range: Literal["auto", "0..1", "-1..1", "0..255"] | None = None, mean: Texts | None = None, std: Texts | None = None,
          channels: Literal["rgb", "bgr"] | None = None, input_layout: Literal["auto", "nchw", "nhwc"] | None = None,
          input_scale: float | None = None, input_zero_point: int | None = None, max_seconds: float | None = None, starts: int | None = None,
          html: Path | None = None, markdown: Path | None = None, store: Path | None = None, no_store: bool | None = None, tag: Texts | None = None,
          note: str | None = None, name: str | None = None, quiet: bool | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.SweepResult:
    """Compile a model at every level, layout and target, verify each package, and time all of them in turns, at every
    number of threads and limit of resources: one row a package, with its speedup over the first row, its size
    beside the original's, the time of a compilation from scratch, and what has no kernel. With --data, count the
    right decisions, and those that agree with the first row; with --against, run the models in their original
    runtimes, too. When interrupted, print and keep what was measured; the same command continues with the rows
    that are missing.

    with_: Sweep these models, too: names separated by commas
    levels: Compile at these levels of -O, as 0-4 or 0,3
    target: Compile for this target (lathe help compile); repeat the flag for several (default: native)
    threads: Run with these numbers of threads, as 1,2
    layouts: Compile with these layouts of activations (--layout of compile), as nchw,nhwc,blocked,auto
    against: Run the models in these runtimes, too, where they read them, a row for each number of threads: onnxruntime, tflite, tensorflowjs,
        tensorflow, opencv, separated by commas
    tflite_library: Run TFLite files with this native library of TensorFlow Lite's C API, libtensorflowlite_c.so, as the runtime tflite
    input: Read an input: NAME=FILE.npy, NUMBER=FILE.npy (from 0), FILE.npy for a single input, FILE.npz, or a folder of .npy files; floats are
        quantised where the input has a scale
    fill: Fill the inputs that no --input gives with zeros, ones or random numbers
    seed: Set the seed of random inputs
    cpus: Run on these CPUs only: 0-3,8, performance or efficiency (kinds of cores), one-per-core, node:N, package:N, or several joined by +, which
        all apply; repeat the flag for several (default none: on any)
    memory_node: Take memory from this NUMA node only; repeat the flag for several (default none: from any)
    frequency_cap: Limit the frequency of these CPUs, as root, to 2GHz or 1800MHz; repeat the flag for several (default none: not limited)
    cache_share: Use 50% or 4ways of the last-level cache: by resctrl, as root, or where there is none by a companion that occupies the rest on
        another CPU; repeat the flag for several (default none: all of it)
    data: Classify these pictures at every row: a folder with a folder a class, a folder of pictures, or a CSV file
    labels: Read the names of the classes from FILE, one a line
    skip_unreadable: Leave out pictures that cannot be read, and name them, instead of ending with an error
    random_crops: Classify this many random crops in all, instead of whole pictures; a crop has at least half of each side
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
    max_seconds: Time all rows for at most this long, later starts of their processes included, in seconds
    starts: Start the process of every row at least this often; more starts follow until every verdict is decided or --max-seconds have passed
    html: Write the rows with confusion matrices, changed decisions and layouts as a page
    markdown: Write the same as Markdown
    store: Store the measurements in this file or on this server, postgresql://HOST/DATABASE, and use its tuning records (default:
        ~/.local/share/lathe/lathe.db)
    no_store: Do not store the measurements
    tag: Tag the experiment in the store with these words
    note: Attach this note to the experiment in the store
    name: Give the experiment this name in the store
    Other arguments: as for `compile`.
    """
    return execute(sweep, locals())
