"""What `lathe.tune` does: it runs the program `lathe tune`. Not for use by itself."""
import json
import os
import shutil
import subprocess
import tempfile


def _program(folders, Error):
    """The program `lathe` of the libraries, else of PATH."""
    bins = [os.path.normpath(os.path.join(folder, up, "bin")) for folder in folders
            for up in (["..", os.path.join("..", "..")] if "-linux-gnu" in os.path.basename(folder) else [".."])]
    for program in (os.path.join(folder, "lathe") for folder in bins):
        if os.access(program, os.X_OK) and os.path.isfile(program):
            return program
    found = shutil.which("lathe")
    if not found:
        raise Error(f"the program lathe is not in {', '.join(bins)} nor in PATH: build it (make build)")
    return found


def _arguments(flags, Error):
    """Keyword arguments as flags of the command line: exact_math=True is --exact-math, trials=8 is --trials 8."""
    arguments = []
    for name, value in flags.items():
        if name in ("json", "quiet", "export_space"):
            raise Error(f"{name}: lathe.tune has no such argument")
        flag = "-O" if name == "level" else "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                arguments.append(flag)
            elif one is not None and one is not False:
                arguments += [flag, str(one)]
    return arguments


def run(folders, Error, model, shapes, progress, flags):
    """Runs `lathe tune`; `folders` are those of the libraries, and errors are of the class `Error`."""
    shape_texts = [f"{name}={'x'.join(map(str, dims))}" for name, dims in (shapes or {}).items()]
    command = [_program(folders, Error), "tune", *([os.fsdecode(model)] if model is not None else []), *_arguments({"shape": shape_texts, **flags}, Error)]
    with tempfile.TemporaryDirectory(prefix="lathe-python-") as folder:
        report = os.path.join(folder, "report.json")
        last = ""
        with subprocess.Popen([*command, "--json", report], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, errors="replace") as process:
            try:
                for line in process.stderr:
                    last = line.rstrip("\n")
                    if progress:
                        progress(last)
            except BaseException:
                process.terminate()
                raise
        if process.returncode != 0:
            raise Error(last.removeprefix("lathe tune: ") or f"lathe tune: exit code {process.returncode}")
        with open(report) as file:
            return json.load(file)
