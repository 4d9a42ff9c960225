#!/usr/bin/env python3
"""A staged model is the same graph again:  stage_round_trip_test.py LATHE SOURCE-FOLDER BUILD-FOLDER CXX [FLAGS] MODEL...

Every MODEL (a file, or zoo:NAME) becomes Python and C++ source. Both programs run; the canonical text of what they write is that of
the model. Models that do not exist are skipped; exit code 77 if all were.

--python      no C++
--run         the outputs have the same bits, too
--all         MODEL is a folder of models
--every=N     MODEL is a folder of folders with a model.onnx each: every N-th that Lathe reads, and control flow, sequences and strings
--programs=P  MODEL is a number of random programs with control flow, which the program P writes: a quarter of them are new ones
--torch       MODEL is an architecture of torchvision, which bench/export_torch.py exports; skipped where PyTorch is missing
"""
import filecmp
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

lathe, source, build, compiler = sys.argv[1:5]
flags = [word for word in sys.argv[5:] if word.startswith("--")]
models = [word for word in sys.argv[5:] if not word.startswith("--")]
environment = {**os.environ, "PYTHONPATH": os.path.join(source, "python"), "PYTHONDONTWRITEBYTECODE": "1",
               "LATHE_LIBRARY_DIR": os.path.join(build, "lib")}


def run(*command, **options):
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    assert done.returncode == 0, f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def canonical(model):
    return run(lathe, "inspect", model, "--canonical")


def differences(a, b):
    pairs = [(i, x, y) for i, (x, y) in enumerate(zip(a.splitlines(), b.splitlines())) if x != y][:3]
    return "\n".join(f"line {i + 1}:\n  {x[:400]}\n  {y[:400]}" for i, x, y in pairs) or "one text is longer"


def outputs(model, folder, name):
    path = os.path.join(folder, name)
    run(lathe, "run", model, "--fill", "random", "--seed", "3", "-O", "0", "-o", path)
    return path


def check(model, folder):
    python, written = os.path.join(folder, "net.py"), os.path.join(folder, "net.mlir")
    staged = subprocess.run([lathe, "stage", model, "-o", python], capture_output=True, text=True)
    if every and staged.returncode == 2 and ("not supported" in staged.stderr or subprocess.run([lathe, "inspect", model], capture_output=True).returncode == 2):
        return False
    assert staged.returncode == 0, f"{model}: exit code {staged.returncode}\n{staged.stderr}"
    expected = canonical(model)
    run(sys.executable, python, written)
    again = canonical(written)
    assert again == expected, f"{model}: the graph of the Python source differs\n{differences(expected, again)}"
    if "--run" in flags:
        first, second = outputs(model, folder, "first.npz"), outputs(written, folder, "second.npz")
        assert filecmp.cmp(first, second, shallow=False), f"{model}: outputs differ"
    if "--python" in flags:
        return True
    code, program = os.path.join(folder, "net.cpp"), os.path.join(folder, "net")
    run(lathe, "stage", model, "-o", code)
    run(compiler, "-std=c++20", "-O0", "-I", os.path.join(source, "include"), "-I", os.path.join(build, "include"), code, "-o", program,
        "-L", os.path.join(build, "lib"), "-llathe_compiler", "-Wl,-rpath," + os.path.join(build, "lib"))
    run(program, written)
    again = canonical(written)
    assert again == expected, f"{model}: the graph of the C++ source differs\n{differences(expected, again)}"
    return True


def of_folder(folder):
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names if not name.endswith("_output_0.pb")]


def sample(folder, step):
    """Every step-th operator, and all operators with bodies or with values that are not tensors."""
    special = re.compile("test_(if|if_seq|if_opt|loop11|loop13_seq|loop16_seq_none|scan9_sum|sequence_map_add_1_sequence_1_tensor|"
                         "identity_sequence|optional_get_element_optional_sequence|string_concat|cast_FLOAT_to_INT4|quantizelinear_int4|"
                         "dequantizelinear_int4|dequantizelinear_e5m2|range_float_type_positive_delta_expanded)$")
    return [os.path.join(path, "model.onnx") for i, path in enumerate(of_folder(folder))
            if i % step == 0 or special.match(os.path.basename(path))]


def exported(name):
    if subprocess.run(["/usr/bin/python3", "-c", "import torch, torchvision"], stderr=subprocess.DEVNULL).returncode != 0:
        sys.exit(77)
    path = os.path.join(tempfile.mkdtemp(prefix="lathe-stage-"), f"{name}.onnx")
    run("/usr/bin/python3", os.path.join(source, "bench", "export_torch.py"), name, "-o", path)
    return path


def programs(writer, count):
    """Random programs with seeds 0, 1, ... and random seeds; LATHE_SEED=N repeats the program with seed N."""
    fresh = random.randrange(1 << 30)
    seeds = [int(os.environ["LATHE_SEED"])] if "LATHE_SEED" in os.environ else [*range(count - count // 4), *range(fresh, fresh + count // 4)]
    folder = tempfile.mkdtemp(prefix="lathe-stage-")
    for seed in seeds:
        run(writer, str(seed), os.path.join(folder, f"program{seed}.onnx"))
    return of_folder(folder)


writer = next((flag.partition("=")[2] for flag in flags if flag.startswith("--programs=")), "")
every = next((int(flag.partition("=")[2]) for flag in flags if flag.startswith("--every=")), 0)
if "--all" in flags:
    models = [path for folder in models for path in of_folder(folder)]
elif every:
    models = [path for folder in models for path in sample(folder, every)]
elif writer:
    models = programs(writer, int(models[0]))
elif "--torch" in flags:
    models = [exported(name) for name in models]
checked, failures = 0, []
for model in models:
    if not model.startswith("zoo:") and not os.path.exists(model):
        print(f"{model}: does not exist, skipped")
        continue
    with tempfile.TemporaryDirectory() as folder:
        try:
            same = check(model, folder)
            print(f"{model}: the same graph" if same else f"{model}: is not read, skipped")
            checked += same
        except AssertionError as error:
            failures.append(str(error))
            print(error)
            checked += 1
if writer or "--torch" in flags:
    for folder in {os.path.dirname(model) for model in models}:
        shutil.rmtree(folder)
if failures:
    sys.exit(f"{len(failures)} of {checked} models differ")
sys.exit(0 if checked else 77)
