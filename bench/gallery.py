#!/usr/bin/env python3
"""docs/gallery.md: what the reports look like, from measurements of this machine.

usage: gallery.py LATHE [--pictures]     --pictures: only draws what an earlier run has measured

The measurements are kept in build/bench/gallery; a run that was interrupted goes on. Chromium and playwright-core take the
screenshots; without them nothing is written.
"""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "bench" / "gallery"
PAGE = ROOT / "docs" / "gallery.md"
MODELS = pathlib.Path(os.environ.get("LATHE_TEST_DATA") or ROOT.parent / "shared") / "models"
CLASSIFIER = "mobilenet_v2_1.0_224_quant.tflite"
# What the photographs show, as the beginning of a label.
PHOTOGRAPHS = {"bird.bmp": "chickadee", "cat.bmp": "Egyptian cat", "dragonfly.bmp": "dragonfly", "grace_hopper.bmp": "military uniform", "hot_dog.jpg": "hotdog",
               "owl.jpg": "great grey owl", "parrot.jpg": "macaw", "sunflower.bmp": "daisy"}

# Name -> command. All of them write into one store.
COMMANDS = {
    "operators": "lathe ops bench --suite networks/resnet18 --provider all --max-seconds 3",
    "operators of a network": "lathe ops bench --from-model zoo:resnet18 --provider lathe,onednn,onnxruntime --max-seconds 3",
    "segments": "lathe segments zoo:resnet18 --threads 2",
    "segments of another network": "lathe segments zoo:mobilenet_v2 --threads 2",
    "profile": "lathe profile zoo:resnet18 --threads 2",
    "tuning": "lathe tune zoo:squeezenet --trials 64 --budget 2m",
    "sweep": "lathe sweep zoo:mobilenet_v2 --levels 0,2,3 --layouts nchw,nhwc,auto --threads 1,2",
    "comparison": "lathe compare zoo:resnet18",
    "evaluation": "lathe evaluate %s --data photographs.csv --labels imagenet_labels.txt --preprocess model --random-crops 200" % CLASSIFIER,
}
HEIGHTS = {390: 844, 1280: 1100}  # most of a picture, by its width
REPORT = "lathe report --from-model zoo:resnet18 -o gallery.html"

LIVE = "live"  # in place of a section: the first page of `lathe serve`
# (section of the page, width, dark, commands, what it shows)
PICTURES = [
    ("overview", 1280, False, list(COMMANDS), "One page of everything in the store: the operators of a suite in all libraries, two networks segment by segment, a search, a sweep and an evaluation."),
    ("violins", 1280, False, ["operators"], "The distribution of all samples of a problem in every library, with median and quartiles. The plot switches to GFLOPS, to platforms and to schedules."),
    ("speedups", 1280, True, ["operators"], "Speedups over a baseline that the reader chooses, with 95 % intervals; the bars below are geometric means."),
    ("roofline", 1280, False, ["operators", "profile"], "Measured speed over operations per byte, under the ceilings that `lathe machine` measured."),
    ("best", 1280, False, ["operators"], "The fastest library of each problem, the next one, and whether the difference is larger than the noise."),
    ("segments", 1280, False, ["segments", "segments of another network"], "Two runtimes from the input to each checkpoint, and on each block alone."),
    ("profile", 1280, True, ["profile"], "The kernels of a run as a timeline, sorted by time, and predicted against measured."),
    ("graph", 1280, False, ["profile"], "The kernels of a network as a graph: fused groups, shapes and layouts, values written in place, time as colour."),
    ("tuning", 1280, False, ["tuning"], "The tasks of a search, and the best time over the trials of each."),
    ("sweeps", 1280, False, ["sweep"], "Levels, layouts and threads of a network, timed in turns, with size and speedup."),
    ("networks", 1280, False, ["comparison", "evaluation", "tuning"], "Whole networks: comparisons, accuracies, what a search gained."),
    ("confusion", 1280, False, ["evaluation"], "What an int8 classifier takes 200 random crops of eight photographs for."),
    ("estimates", 1280, False, ["operators of a network", "comparison"], "The sum over a network's operators beside its measured time."),
    ("violins", 390, True, ["operators"], "The same page on a telephone."),
    (LIVE, 1280, False, [], "`lathe serve` lists experiments, platforms and models of the store, shows these pages live, and compares two experiments ([serving.md](serving.md))."),
]


def missing():
    if not shutil.which("chromium"):
        return "Chromium (dev/setup.sh bench)"
    if not (ROOT / "src" / "laboratory" / "report" / "page" / "node_modules" / "playwright-core").is_dir():
        return "playwright-core (npm ci in src/laboratory/report/page)"
    if not (MODELS / "images").is_dir():
        return "%s (LATHE_TEST_DATA)" % MODELS
    return None


def run(lathe, command):
    """Runs a command as it is shown on the page, on the gallery's store."""
    print("$ " + command, flush=True)
    with open(WORK / "log.txt", "a", encoding="utf-8") as log:
        code = subprocess.run([lathe, *command.split()[1:], "--store", WORK / "gallery.db"], cwd=WORK, stdout=log).returncode
    if code not in (0, 1):  # 1: a verdict, such as a library that is wrong on a problem
        sys.exit("gallery.py: %s: exit code %d, expected 0 or 1" % (command, code))


def photographs():
    labels = [line.strip() for line in (MODELS / "images" / "imagenet_labels.txt").read_text(encoding="utf-8").splitlines()]
    with open(WORK / "photographs.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "class"])
        for name, label in PHOTOGRAPHS.items():
            rows.writerow([MODELS / "images" / name, next(one for one in labels if one.startswith(label))])
    for path in [MODELS / "tflite" / CLASSIFIER, MODELS / "images" / "imagenet_labels.txt"]:
        link = WORK / path.name
        link.unlink(missing_ok=True)
        link.symlink_to(path)


def measure(lathe):
    done = json.loads((WORK / "done.json").read_text()) if (WORK / "done.json").exists() else []
    for command in COMMANDS.values():
        if command not in done:
            run(lathe, command)
            done.append(command)
            (WORK / "done.json").write_text(json.dumps(done))


def file_of(section, width, dark):
    return "gallery/%s%s%s.png" % (section, "" if width == 1280 else "-%d" % width, "-dark" if dark else "")


def draw(lathe):
    run(lathe, REPORT)
    server = subprocess.Popen([lathe, "serve", "--port", "0", "--store", WORK / "gallery.db"], stdout=subprocess.PIPE, text=True)
    try:
        screenshots(server.stdout.readline().split()[0])
    finally:
        server.terminate()
        server.wait()


def screenshots(address):
    (ROOT / "docs" / "gallery").mkdir(exist_ok=True)
    wanted = [{"page": address if section == LIVE else str(WORK / "gallery.html"), "section": "" if section == LIVE else section, "width": width, "height": HEIGHTS[width], "dark": dark, "file": str(ROOT / "docs" / file_of(section, width, dark))}
              for section, width, dark, _, _ in PICTURES]
    (WORK / "wanted.json").write_text(json.dumps(wanted))
    subprocess.run(["node", ROOT / "src" / "laboratory" / "report" / "page" / "tests" / "sections.mjs", WORK / "wanted.json", shutil.which("chromium")], check=True)


def write(lathe):
    experiments = json.loads(subprocess.run([lathe, "store", "list", "--store", WORK / "gallery.db", "--json", "-"], check=True, capture_output=True, text=True).stdout)["experiments"]
    by = lambda value: ", ".join(sorted({value(one) for one in experiments}))  # the commands may have run on several days
    parts = ["# What do the reports look like?\n\nWritten by `make gallery`; do not edit. Measured on %s, %s, by builds %s of lathe. The commands filled one store, and\n\n```sh\n%s\n```\n\n"
             "made the page that the pictures show ([reports.md](reports.md))." % (by(lambda one: one["started"][:10]), by(lambda one: one["cpu"]), by(lambda one: one["build"]), REPORT)]
    for section, width, dark, commands, text in PICTURES:
        lines = [COMMANDS[name] for name in commands] or ["lathe serve"]
        shown = [] if commands == list(COMMANDS) else ["```sh\n%s\n```" % "\n".join(lines)]
        parts += ["## %s%s" % (section.capitalize(), "" if width == 1280 else ", %d pixels wide" % width), text, *shown, "![%s](%s)" % (section, file_of(section, width, dark))]
    PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print("wrote %s" % PAGE)


def main():
    lathe = os.path.abspath(sys.argv[1])
    if what := missing():
        print("gallery.py: SKIPPED, %s is missing" % what)
        return 0
    WORK.mkdir(parents=True, exist_ok=True)
    photographs()
    if "--pictures" not in sys.argv[2:]:
        measure(lathe)
    draw(lathe)
    write(lathe)
    return 0


if __name__ == "__main__":
    sys.exit(main())
