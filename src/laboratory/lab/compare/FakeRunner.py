#!/usr/bin/env python3
"""A runner for tests: its model is a JSON text, its output the input times a factor. Misbehaves where the model says so."""
import array, json, os, sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from FakeProgram import misbehave, read_npy, serve, write_npy  # noqa: E402

model, data, dims = {}, None, []
start = 0  # which process with this model this is, where the model names a file to count them in


def answer(request):
    global model, data, dims, start
    what = request["do"]
    if what == "hello" and "--hello" in sys.argv:  # what it says instead
        return json.loads(sys.argv[sys.argv.index("--hello") + 1])
    if what == "hello":
        version = 2 if "--newer" in sys.argv else 1
        return {"protocol": version, "name": "fake", "version": "0.1", "formats": ["fake"], "settings": {"kind": "test"}}
    if what == "load":
        model = json.load(open(request["path"]))
        if "counter" in model:
            with open(model["counter"], "a+") as counter:
                start = counter.tell()
                counter.write("x")
        for name in ("factor", "mood"):  # one value for each start
            if name + "s" in model:
                model[name] = model[name + "s"][start]
    if misbehave(model.get("misbehave", {}).get(what)):
        return {}
    port = {"type": "f32", "dims": model.get("dims", ["N", 4])}
    if what == "load":
        return {"load_ns": 1000, "inputs": [{"name": name, **port} for name in [model.get("input", "x"), *model.get("variables", [])]],
                "outputs": [{"name": model.get("output", "y"), **port}]}
    if what == "inputs":
        dims, data = read_npy(request["files"][model.get("input", "x")])
        return {}
    if what == "run":
        path = request["directory"] + "/0.npy"
        factor = model.get("factor", 1)
        shape = [len(data)] if "flat" in model else dims
        write_npy(path, shape, array.array("f", [factor * v + model.get("offset", 0) for v in data]))
        return {"outputs": {model.get("output", "y"): path}}
    if what == "time":
        ns = int(model.get("ms", 1) * model.get("mood", 1) * 1e6)
        return {"samples_ns": [ns + 1000 * (i % 7) for i in range(request["repetitions"])]}
    if what == "threads":
        return {}
    raise RuntimeError("unknown request '%s'" % what)


serve(answer)
