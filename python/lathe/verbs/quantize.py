"""`lathe quantize`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Pairs, Path, Progress, Texts, execute


def quantize(model: Path, output: Path | None = None, *, shape: Pairs | None = None, override: Texts | None = None,
             requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
             target: str | None = None, threads: int | None = None, machine: Path | None = None, references_only: bool | None = None,
             level: int | None = None, layout: Literal["auto", "nchw", "nhwc", "blocked"] | None = None, exact_math: bool | None = None,
             memory: Literal["any", "small"] | None = None, streams: str | None = None, precision: Literal["fp32", "bf16"] | None = None,
             schedule: Path | None = None, optimize_for: Pairs | None = None, no_cache: bool | None = None, no_records: bool | None = None,
             zoo_seed: int | None = None, zoo_batch: int | None = None, zoo_sequence: int | None = None, store: Path | None = None,
             no_store: bool | None = None, tag: Texts | None = None, note: str | None = None, name: str | None = None,
             calibration: Path | None = None, samples: int | None = None, random_crops: int | None = None, seed: int | None = None,
             calibrate_method: Literal["minmax", "percentile", "entropy"] | None = None, percentile: float | None = None,
             preprocess: Literal["flags", "model"] | None = None, fit: Literal["stretch", "crop"] | None = None, resize: int | None = None,
             pixel_range: Literal["auto", "0..1", "-1..1", "0..255"] | None = None, mean: Texts | None = None, std: Texts | None = None,
             channels: Literal["rgb", "bgr"] | None = None, input_layout: Literal["auto", "nchw", "nhwc"] | None = None,
             input_scale: float | None = None, input_zero_point: int | None = None, activation_type: Literal["uint8", "int8"] | None = None,
             activation_symmetric: bool | None = None, per_tensor: bool | None = None, reduce_range: bool | None = None, dynamic: bool | None = None,
             equalize: bool | None = None, bias_correction: Literal["none", "weights", "measured"] | None = None,
             nodes_to_exclude: Texts | None = None, max_drop: float | None = None, min_cosine: float | None = None, only_faster: bool | None = None,
             weights: Literal["int8", "int4"] | None = None, block: int | None = None, zero_points: bool | None = None, quiet: bool | None = None,
             wide: bool | None = None, progress: Progress | None = None) -> results.QuantizeResult:
    """Quantise a model to int8 after training, and write it in ONNX's QDQ form, which other runtimes read, too.
    Activations get ranges from calibration inputs; weights get one scale an output channel. The outputs are
    compared with the float model's on the calibration inputs.

    store: Store the measurements in this file or on this server, postgresql://HOST/DATABASE, and use its tuning records (default:
        ~/.local/share/lathe/lathe.db)
    no_store: Do not store the measurements
    tag: Tag the experiment in the store with these words
    note: Attach this note to the experiment in the store
    name: Give the experiment this name in the store
    output: Write the quantised ONNX model here (-: standard output)
    calibration: Calibrate with these inputs: a folder, or folders of classes in it, with a picture, an .npy or an .npz a sample, a CSV file that
        lists such files, or an .npz with an array for each input (default: random numbers)
    samples: Read at most this many calibration inputs
    random_crops: Calibrate with this many random crops of a folder's pictures; a crop has at least half of each side
    seed: Set the seed of random inputs and crops
    calibrate_method: Choose ranges of activations: minmax, percentile, or entropy (least Kullback-Leibler divergence)
    percentile: Set the share of values inside the range, in percent
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
    activation_type: Set the type of activations: uint8 or int8
    activation_symmetric: Set the zero points of activations to the middle of their type
    per_tensor: Give weights one scale in all instead of one an output channel
    reduce_range: Quantise weights to 7 bits, for processors without VNNI whose byte products saturate
    dynamic: Quantise the weights of matrix products, and their inputs at run time: for transformers
    equalize: Equalise the ranges of weights across layers first (Nagel et al. 2019)
    bias_correction: Correct biases for the mean error of rounded weights, and of layers as measured: none, weights or measured
    nodes_to_exclude: Keep these layers in float: names of nodes, separated by commas
    max_drop: Keep layers in float until at most this share of the calibration inputs changes its decision, in percent
    min_cosine: Keep layers in float until the outputs' mean cosine similarity is at least this, plain and centred; 0: any
    only_faster: Keep layers in float that int8 makes no faster on this machine (measured)
    weights: Quantise the weights of matrix products and of embeddings alone, to int8 or int4; activations stay in float: for transformers
    block: Give so many weights of a column one scale with --weights; 0: the whole column (default: 32 for int4, 0 for int8)
    zero_points: Give each block a zero point, too, with --weights
    Other arguments: as for `compile`.
    """
    return execute(quantize, locals())
