#!/usr/bin/python3
"""A provider for tests: FakeProvider.py [HOW]. Right without HOW, which is "wrong", "decline", "moody", "counted", "shared",
"company" (it counts the runs of a companion, and is one), "lonely" (so, and the companion ends none), "accompany-wrong" (its results become wrong as a companion), "flushes" (it says that it has cold caches), "slow" (variant twin takes 0.2 s a call), "swift" (it says a nanosecond), "local" (it has relu, too), "remote" (so, and every call takes 0.6 ms more), or AT-WHAT with AT a request (prepare, run, time) and WHAT crash, hang, garbage, error, memory, empty."""
import array, mmap, os, struct, sys, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from FakeProgram import misbehave, read_npy, serve, write_npy  # noqa: E402

COMPANY = ("company", "lonely", "accompany-wrong", "accompany-crash", "prepare-crash", "decline", "wrong")
how = sys.argv[1] if len(sys.argv) > 1 else ""
held, preparations, variant = None, 0, ""
# "moody": as fast as the process happens to be.
mood = 0.9 + 0.2 * (os.getpid() * 7919 % 101) / 101 if how == "moody" else 1


def convolution(problem):
    """The fields that `convolve` wants of a problem of the protocol."""
    dims = {operand["name"]: operand["dims"] for operand in problem["operands"]}
    attrs, (n, c, h, w), (o, _, kh, kw) = problem["attrs"], dims["x"], dims["w"]
    (sy, sx), (dy, dx), (top, left, bottom, right) = attrs["strides"], attrs["dilations"], attrs["pads"]
    return {"batch": n, "groups": attrs["group"], "in_channels": c, "in_height": h, "in_width": w, "out_channels": o,
            "kernel_height": kh, "kernel_width": kw, "stride_height": sy, "stride_width": sx,
            "dilation_height": dy, "dilation_width": dx, "pad_top": top, "pad_left": left,
            "out_height": (h + top + bottom - (kh - 1) * dy - 1) // sy + 1,
            "out_width": (w + left + right - (kw - 1) * dx - 1) // sx + 1,
            "bias": "b" in dims, "relu": problem["epilogue"] == ["relu"]}


def convolve(p, x, w, b):
    y = array.array("f")
    ci, co = p["in_channels"] // p["groups"], p["out_channels"] // p["groups"]
    for n in range(p["batch"]):
        for o in range(p["out_channels"]):
            for oy in range(p["out_height"]):
                for ox in range(p["out_width"]):
                    total = b[o] if p["bias"] else 0.0
                    for c in range(ci):
                        channel = o // co * ci + c
                        for ky in range(p["kernel_height"]):
                            for kx in range(p["kernel_width"]):
                                iy = oy * p["stride_height"] - p["pad_top"] + ky * p["dilation_height"]
                                ix = ox * p["stride_width"] - p["pad_left"] + kx * p["dilation_width"]
                                if 0 <= iy < p["in_height"] and 0 <= ix < p["in_width"]:
                                    at = ((n * p["in_channels"] + channel) * p["in_height"] + iy) * p["in_width"] + ix
                                    tap = ((o * ci + c) * p["kernel_height"] + ky) * p["kernel_width"] + kx
                                    total += x[at] * w[tap]
                    y.append(max(total, 0.0) if p["relu"] else total)
    return y


class Runs:
    """The shared memory of a companion."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 128)

    def count(self):
        return struct.unpack_from("Q", self.memory, 0)[0]

    def accompany(self):
        while True:
            struct.pack_into("Q", self.memory, 0, self.count() + 1)
            time.sleep(0.0005)
            if struct.unpack_from("I", self.memory, 64)[0]:
                return self.count()


def answer(request):
    global held, preparations, variant
    what = request["do"]
    if what == "hello":
        return {"protocol": 2, "name": "fake", "version": "0.1", "operators": {"conv": ["auto", "twin"], **({"relu": ["auto"]} if how in ("remote", "local") else {})}, "cold": how == "flushes", "company": how in COMPANY}
    if misbehave(how.removeprefix(what + "-")):
        return {}
    if what == "prepare":
        if how == "decline":
            return {"declined": "not on Sundays"}
        if request["problem"]["op"] == "relu":
            held = None
            return {"implementation": "relu", "prepare_ns": 1000}
        variant = request["variant"]
        p, files = convolution(request["problem"]), request["inputs"]
        held = p, convolve(p, *(read_npy(files[name])[1] if name in files else None for name in "xwb"))
        preparations += 1
        return {"implementation": "loops" if how != "slow" else variant, "prepare_ns": 1000 * preparations}
    if what in ("run", "accompany"):
        p, y = held
        runs = Runs(request["runs"]).accompany() if what == "accompany" else 1
        if how in ("wrong", what + "-wrong"):
            y[len(y) // 2] += 1
        path = request["directory"] + "/y.npy"
        write_npy(path, [p["batch"], p["out_channels"], p["out_height"], p["out_width"]], y)
        return {"outputs": {"y": path}, "runs": runs}
    if what == "time":
        runs = request["repetitions"]
        if how == "swift":
            return {"samples_ns": [1] * runs}
        if how == "slow" and variant == "twin":
            time.sleep(0.2 * runs)
            return {"samples_ns": [200000000] * runs}
        work = (1000000 if held else 1000) + (600000 if how == "remote" else 0)
        answer = {"samples_ns": [int(mood * (work + 1000 * (i % 7))) for i in range(runs)]}
        if request.get("beside"):  # a turn lasts until the companion has ended four runs
            answer["samples_ns"] = [2 * ns for ns in answer["samples_ns"]]
            runs_beside = Runs(request["beside"])
            first = runs_beside.count()
            while how != "lonely" and runs_beside.count() < first + 4:
                time.sleep(0.001)
            answer["beside_runs"] = 0 if how == "lonely" else 4
        if how == "counted":
            answer["counts"] = {"cpu_ns": 2000000 * runs, "cycles": 6000000 * runs, "instructions": 9000000 * runs, "cache_misses": 70 * runs}
        if how == "shared":
            answer["counts"] = {"cpu_ns": 2000000 * runs, "multiplexed": True}
        return answer
    raise RuntimeError("unknown request '%s'" % what)


serve(answer)
