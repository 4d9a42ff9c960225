"""`lathe tune`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from typing import Literal

from lathe import results
from lathe.verbs._process import Pairs, Path, Progress, Texts, execute


def tune(model: Path | None = None, *, shape: Pairs | None = None, override: Texts | None = None,
         requantize_rounding: Literal["reference", "optimised"] | None = None, signature: str | None = None, custom: Pairs | None = None,
         target: str | None = None, threads: int | None = None, machine: Path | None = None, level: int | None = None,
         layout: Literal["auto", "nchw", "nhwc", "blocked"] | None = None, exact_math: bool | None = None,
         memory: Literal["any", "small"] | None = None, streams: str | None = None, precision: Literal["fp32", "bf16"] | None = None,
         no_cache: bool | None = None, zoo_seed: int | None = None, zoo_batch: int | None = None, zoo_sequence: int | None = None,
         problem: Texts | None = None, suite: Texts | None = None, all: str | None = None, max_seconds: float | None = None,
         again: bool | None = None, problems: str | None = None, via: str | None = None, via_directory: Path | None = None, trials: int | None = None,
         budget: str | None = None, early_stopping: int | None = None, margin: float | None = None, beside: Path | None = None,
         beside_threads: int | None = None, beside_place: Literal["core", "cache", "socket", "machine", "any"] | None = None,
         beside_runs: int | None = None, searcher: str | None = None, seed: int | None = None, tasks: str | None = None,
         list_tasks: bool | None = None, evaluate_model: bool | None = None, train_model: Path | None = None, start_model: Path | None = None,
         export_space: Path | None = None, points: int | None = None, store: Path | None = None, no_store: bool | None = None,
         tag: Texts | None = None, note: str | None = None, name: str | None = None, output: Path | None = None, compare: bool | None = None,
         quiet: bool | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.TuneResult:
    """Search schedules for the kernels of a model by measuring them on this machine. Every candidate is
    checked against the reference; one is kept only where it is measurably faster than the default.

    problem: Tune single operators instead of a model: KIND:TEXT of `lathe ops bench`
    suite: Tune the problems of a list instead of a model (`lathe ops bench --suite list`)
    all: Tune these models one after another instead of one model, separated by commas (zoo:resnet50,m.onnx), and compare each with ONNX Runtime
        before and after
    max_seconds: With --all, time each package beside ONNX Runtime for at most this long, in seconds
    again: With --all, tune models that an earlier run of the command has finished, too
    problems: Read the problems of --suite from this CSV list
    via: Measure on the machine that this command reaches, with pipes to it ("ssh board"); name its CPU by --target
    via_directory: Look there for lathe-tune-runner at the other end
    trials: Try at most N schedules of each task, earlier runs included
    budget: Search so that this time is enough for the final comparison, too: 90s, 5m, 1h (default: until no more is expected to be gained)
    early_stopping: End a task after N schedules without a faster one (default: never)
    margin: End where one more batch of trials of every task is expected to shorten the model by less than this share
    beside: Run this package without end on other CPUs while schedules and packages are measured; the records are of kernels in this company
    searcher: Search with xgb_itervar, xgb_knob, xgb_curve, xgb_rank_itervar, xgb_rank_knob, xgb_rank_curve, descent, ga, grid or random (default:
        xgb_itervar; docs/tuning.md says what each does)
    seed: Set the seed of the searcher, of the operands and of what --evaluate-model holds out
    tasks: Tune only tasks with TEXT in their label, nodes or text
    list_tasks: List the distinct tasks of the model with their share of the time, and end
    evaluate_model: State how well learned cost models order the measured schedules of the store that they were not trained on (with MODEL: those of
        its kernels), and end
    train_model: Train the model of --searcher on the measured schedules of the store, write it to FILE (a folder: to SEARCHER.jsonl.gz in it), and
        end
    start_model: Start searches from the model in FILE (--train-model), where the store knows nothing else (default: the model that comes with lathe,
        if there is one for --searcher)
    export_space: Write the search space of every task and legal points of it as JSON to FILE, and end
    store: Store the measurements in this file or on this server, postgresql://HOST/DATABASE, and use its tuning records (default:
        ~/.local/share/lathe/lathe.db)
    no_store: Do not store the measurements
    tag: Tag the experiment in the store with these words
    note: Attach this note to the experiment in the store
    name: Give the experiment this name in the store
    output: Write the tuned package to FILE; with --all, the table as a page in Markdown (default: neither)
    compare: Print the times of the untuned and the tuned package side by side
    Other arguments: as for `compile`.
    """
    return execute(tune, locals())
