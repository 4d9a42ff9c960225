#!/usr/bin/env python3
"""A runner for tests: its model is a JSON text, its output the input times a factor. Misbehaves where the model says so."""
import array, json, os, re, signal, sys, time

model, data, dims = {}, None, []
start = 0  # which process with this model this is, where the model names a file to count them in


def read_npy(path):
    raw = open(path, "rb").read()
    length = int.from_bytes(raw[8:10], "little")
    header = raw[10:10 + length].decode("latin1")
    shape = [int(d) for d in re.search(r"'shape': \(([^)]*)\)", header).group(1).split(",") if d.strip()]
    values = array.array("f")
    values.frombytes(raw[10 + length:])
    return shape, values


def write_npy(path, shape, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % "".join("%d, " % d for d in shape)
    header = header.ljust((len(header) + 11 + 63) // 64 * 64 - 11) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode("latin1") + values.tobytes())


def misbehave(at):
    how = model.get("misbehave", {}).get(at)
    if how == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "hang":
        time.sleep(1000)
    if how == "garbage":
        print("warming up...", flush=True)
    if how == "error":
        raise RuntimeError("this framework cannot do that")
    return how == "empty"


def answer(request):
    global model, data, dims, start
    what = request["do"]
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
    if misbehave(what):
        return {}
    port = {"type": "f32", "dims": model.get("dims", ["N", 4])}
    if what == "load":
        return {"load_ns": 1000, "inputs": [{"name": "x", **port}],
                "outputs": [{"name": model.get("output", "y"), **port}]}
    if what == "inputs":
        dims, data = read_npy(request["files"]["x"])
        return {}
    if what == "run":
        path = request["directory"] + "/0.npy"
        factor = model.get("factor", 1)
        write_npy(path, dims, array.array("f", [factor * v + model.get("offset", 0) for v in data]))
        return {"outputs": {model.get("output", "y"): path}}
    if what == "time":
        ns = int(model.get("ms", 1) * model.get("mood", 1) * 1e6)
        return {"samples_ns": [ns + 1000 * (i % 7) for i in range(request["repetitions"])]}
    if what == "threads":
        return {}
    raise RuntimeError("unknown request '%s'" % what)


for line in sys.stdin:
    try:
        request = json.loads(line)
        if request["do"] == "quit":
            break
        result = {"ok": True, **answer(request)}
    except Exception as error:
        result = {"ok": False, "error": str(error)}
    print(json.dumps(result), flush=True)
