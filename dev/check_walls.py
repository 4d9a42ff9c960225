#!/usr/bin/env python3
"""The walls between floors and rooms, checked on #include lines (docs/architecture.md, "Who may include whom").

usage: check_walls.py [ROOT]

A source below src/ includes headers of its own floor and of lower ones, and within these only what its room's row allows.
Prints one line for each include that breaks a wall and exits with 1 when there is any.
"""
import os
import re
import subprocess
import sys

# Lowest first, with their rooms.
FLOORS = {
    "base": ["support", "machine", "process"],
    "runtime": ["package", "runtime"],
    "model": ["ops", "ir", "stage", "import", "export", "zoo"],
    "compiler": ["passes", "schedule", "codegen", "compile", "quantize"],
    "laboratory": ["evaluate", "store", "lab", "predict", "tune", "verify", "report"],
    "app": ["cache", "jobs", "serve", "cli"],
}
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS.values()) for room in rooms}
# Room -> rooms whose headers it may include besides its own and support/. The operators' folders hold two rooms, told apart
# by file name; `mlir` stands for LLVM's and MLIR's headers.
ALLOWED = {
    "support": set(),
    "include": set(),
    "machine": set(),
    "ops": {"support"},
    "references": {"ops", "runtime"},
    "package": set(),
    "runtime": {"package", "include"},
    "ir": {"ops", "mlir"},
    "stage": {"ir", "ops", "mlir"},
    # Common to all formats. References decide what is known before it runs. The folder dispatch/ alone knows all formats.
    "import": {"ir", "ops", "references", "runtime", "mlir"},
    "import/dispatch/FileFormats.cpp": {"import", "import/tensorflow"},
    "import/dispatch": {"import", "import/keras", "import/onnx", "import/tensorflow", "import/tflite", "ir", "mlir"},
    "import/PictureNotesTest.cpp": {"import", "import/onnx", "import/tflite"},
    "import/keras": {"import", "ir", "ops", "process", "references", "runtime", "mlir"},
    "import/keras/hdf5": {"import/keras"},  # the program that reads HDF5: of its caller it sees the form of its output
    "import/onnx": {"import", "ir", "ops", "references", "runtime", "mlir", "protobuf"},
    "import/tensorflow": {"import", "ir", "ops", "references", "runtime", "mlir", "protobuf"},
    "import/tflite": {"import", "ir", "ops", "references", "runtime", "mlir"},
    "export": {"ir", "ops", "import/onnx", "mlir", "protobuf"},  # import/onnx: the format's one description (onnx.proto)
    "passes": {"ir", "machine", "ops", "references", "runtime", "mlir"},
    "schedule": set(),
    # Facts, plans and legality of schedules: no MLIR. Of codegen it sees the target.
    "codegen/cost": {"machine", "codegen/space", "codegen/target"},
    "codegen/space": {"machine", "schedule", "ops", "codegen/target"},
    "codegen/target": {"machine", "codegen", "package", "mlir"},
    "codegen": {"machine", "codegen/cost", "codegen/space", "codegen/target", "schedule", "ir", "ops", "package", "mlir"},
    "compile": {"machine", "codegen", "passes", "package", "schedule", "ir", "ops", "import", "include", "stage", "mlir"},
    "tune": {"codegen/cost", "codegen/space", "codegen/target", "lab", "machine", "schedule", "store", "tune/measure"},
    "tune/model": {"tune", "tune/measure", "compile", "codegen", "lab", "store", "schedule", "ir", "mlir"},
    # Measuring talks to its two programs over pipes: only the builder sees the compiler, the runner is the runtime alone.
    "tune/measure": {"lab", "process", "runtime", "package", "store"},
    "tune/measure/builder": {"tune/measure", "lab", "store", "compile", "codegen", "passes", "runtime", "schedule", "ir", "ops", "references", "mlir"},
    "tune/measure/runner": {"tune/measure", "lab", "process", "runtime", "package"},
    "predict": {"machine", "store"},  # store: files of lines
    "quantize": {"compile", "passes", "runtime", "ir", "ops", "mlir"},
    "evaluate": {"runtime"},
    "process": set(),
    "cache": {"machine", "package", "runtime"},
    "verify": {"lab", "passes", "runtime", "ir", "ops", "mlir"},  # a package beside the references
    "store": {"schedule"},  # texts of schedules are canonical
    "lab": {"machine", "runtime", "process", "store", "package", "include", "ops", "references"},
    "lab/runners/tflite": {"lab", "runtime", "import/tflite"},  # import/tflite: the format's one description (tflite.fbs)
    "report": {"store", "lab", "schedule", "ops"},
    "serve": {"report", "store", "lab"},
    # Providers' programs: the laboratory's one way to the compiler is the pipe to the first of them.
    "lab/providers/graph": {"lab", "runtime", "ir", "ops", "mlir"},
    "lab/providers/kernel": {"lab", "lab/providers/graph", "passes", "codegen", "ir", "ops", "mlir"},
    "lab/providers/onnxruntime": {"lab", "lab/providers/graph", "process", "runtime", "export", "ir", "ops", "mlir"},
    "lab/providers/lathe": {"lab", "lab/providers/graph", "lab/providers/kernel", "runtime", "compile", "passes", "codegen", "schedule", "ir", "ops", "package", "mlir"},
    "zoo": {"ir", "ops", "mlir"},
    # What verbs compute: no flags (CLI11), and nothing of the verbs.
    "jobs": {"cache", "codegen", "compile", "evaluate", "export", "import", "ir", "lab", "lab/providers/kernel", "machine", "mlir", "ops", "package", "passes", "predict", "process", "quantize", "references",
             "report", "runtime", "schedule", "stage", "store", "tune", "tune/measure", "tune/model", "verify", "zoo"},
    "cli": None,  # may use everything
    "tests": None,
    "dev": None,  # studies measure every room
    "examples": {"include"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]')
TEST = re.compile(r"(Test|Testing|Cases)\.(cpp|h)$")  # tests see what they test with


def room_of(path):
    """The room of a file, which is named from its floor (or from the top of the tree if it is on none)."""
    top = path.split("/")[0]
    for depth in (3, 2):
        if "/".join(path.split("/")[:depth]) in ALLOWED:
            return "/".join(path.split("/")[:depth])
    if top == "ops":
        name = os.path.basename(path)
        if name.startswith("Reference"):
            return "references"
    return top if top in ALLOWED else None


def target_of(include):
    if include.startswith(("mlir/", "llvm/", "llvm-c/", "mlir-c/")):
        return "mlir"
    if include.startswith("google/protobuf/") or include.endswith(".pb.h"):
        return "protobuf"
    if include.startswith("lathe/"):
        return "include"
    if include.startswith("CLI/"):
        return "cli11"
    return room_of(include) if "/" in include else None


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    os.chdir(root)
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.cpp", "*.h", "*.c"],
                           capture_output=True, text=True, check=True).stdout.split()
    broken = checked = 0
    for path in files:
        floor, inside = path.split("/")[1:3] if path.startswith("src/") else (None, None)
        if floor and inside not in FLOORS.get(floor, []):
            broken += 1
            print(f"{path}: {inside} is no room of a floor called {floor}")
            continue
        room = room_of(path.split("/", 2)[2] if floor else path)
        if room is None or TEST.search(path) or ALLOWED[room] is None:
            continue
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = target_of(match[1])
            checked += 1
            beneath = FLOOR_OF.get((target or "").split("/")[0], FLOOR_OF["ops"] if target == "references" else 0)
            if floor and beneath > FLOOR_OF[inside]:
                broken += 1
                print(f"{path}:{number}: the floor {floor} includes {match[1]} of a higher one")
                continue
            if target in (None, room, "support") or target in ALLOWED[room]:
                continue
            if target.startswith("codegen/") and "codegen" in ALLOWED[room]:
                continue
            broken += 1
            allowed = ", ".join(sorted(ALLOWED[room] | {"support"}))
            print(f"{path}:{number}: {room} includes {match[1]} of {target}; {room} may use {allowed}")
    if checked == 0:
        print("check_walls.py: no includes found; is this the source tree?")
        return 1
    print(f"{checked} includes, {broken} across a wall")
    return 1 if broken else 0


sys.exit(main())
