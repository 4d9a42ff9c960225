"""The TensorFlow runner speaks its protocol, and asks TensorFlow for what is right: with a module that pretends to be TensorFlow.

usage: runner_test.py
"""
import json
import os
import subprocess
import sys
import tempfile
import textwrap

import numpy as np

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Runner.py")
# y = 2 x as a Keras model, y = 3 x as the signature "triple", and a graph
# whose output "out" reads the placeholder "in"; what a loop leaves unread and what a check reads are no ports.
FAKE = textwrap.dedent('''
    import types
    import numpy as np
    __version__ = "2.99"
    class Shape(list):
        rank = property(len)
    class Spec:
        def __init__(self, name, shape, dtype="float32"):
            self.name, self.shape, self.dtype = name, Shape(shape), types.SimpleNamespace(name=dtype)
    class Tensor:
        def __init__(self, array): self.array = array
        def numpy(self): return self.array
    def constant(array): return Tensor(array)
    def function(call): return call
    state = {"threads": None, "computed": False}
    class threading:
        def set_intra_op_parallelism_threads(count):
            if state["computed"]:
                raise RuntimeError("too late")
            state["threads"] = count
        def set_inter_op_parallelism_threads(count): pass
        def get_intra_op_parallelism_threads(): return state["threads"]
    config = types.SimpleNamespace(threading=threading)
    def times(factor, tensor):
        state["computed"] = True
        return Tensor(np.float32(factor) * tensor.numpy())
    class Keras:
        inputs, outputs, input_names, output_names = [Spec("x:0", [None, 2])], [Spec("y:0", [None, 2])], ["x"], ["y"]
        def __call__(self, arguments, training):
            assert training is False
            return times(2, arguments)
    def load_model(path, compile): return Keras()
    keras = types.SimpleNamespace(models=types.SimpleNamespace(load_model=load_model))
    class Signature:
        structured_input_signature = ((), {"x": Spec("x", [2])})
        structured_outputs = {"x": Spec("x", [2])}
        def __call__(self, **given): return {"x": times(3, given["x"])}
    saved_model = types.SimpleNamespace(load=lambda folder: types.SimpleNamespace(signatures={"triple": Signature(), "other": None}))
    class Node:
        def __init__(self, name, op, *inputs): self.name, self.op, self.input = name, op, inputs
    class GraphDef:
        def ParseFromString(self, text):
            self.node = [Node("in", "Placeholder"), Node("five", "Const"), Node("out", "FusedBatchNormV3", "in", "five", "^five"), Node("left", "Exit", "in:0"),
                         Node("checked", "Placeholder"), Node("check", "Assert", "checked", "^out"),
                         Node("branches", "Switch", "checked", "checked"), Node("pivot", "Identity", "branches:1")]
    class Wrapped:
        graph = types.SimpleNamespace(get_tensor_by_name=lambda name: Spec(name, [None]),
                                      get_operation_by_name=lambda name: types.SimpleNamespace(
                                          type="FusedBatchNormV3", outputs=[Spec(name + ":0", [None]), Spec(name + ":1", [None])]))
        def prune(self, feeds, fetches):
            assert [each.name for each in feeds] == ["in:0"] and [each.name for each in fetches] == ["out:0"]
            return lambda tensor: [times(5, tensor)]
    compat = types.SimpleNamespace(v1=types.SimpleNamespace(GraphDef=GraphDef, wrap_function=lambda call, signature: Wrapped()))
''')


def talk(folder, *requests, arguments=(), python=(sys.executable,), environment=None):
    """The answers to requests, in order."""
    given = {**os.environ, "PYTHONPATH": folder, **(environment or {})}
    text = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([*python, "-B", SCRIPT, *arguments], input=text, capture_output=True, text=True, env=given)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len([each for each in requests if each["do"] != "quit"]), (answers, done.stderr)
    return answers


def check_model(folder, path, names, factor, arguments=()):
    x = os.path.join(folder, "x.npy")
    np.save(x, np.array([1.5, -2], "float32"))
    hello, loaded, unbound, wrong, bound, ran, timed, more = talk(
        folder, {"do": "hello", "protocol": 1}, {"do": "load", "path": path, "threads": 2}, {"do": "time", "repetitions": 1},
        {"do": "inputs", "files": {"nothing": x}}, {"do": "inputs", "files": {names[0]: x}}, {"do": "run", "directory": folder},
        {"do": "time", "warmup": 1, "repetitions": 3}, {"do": "threads", "count": 3}, {"do": "quit"}, arguments=arguments)
    assert hello["ok"] and hello["version"] == "2.99" and hello["formats"] == ["tensorflow", "savedmodel", "keras"], hello
    assert [each["name"] for each in loaded["inputs"] + loaded["outputs"]] == list(names), loaded
    assert loaded["inputs"][0]["type"] == "f32" and loaded["load_ns"] > 0, loaded
    assert unbound == {"ok": False, "error": "input '%s' is not bound" % names[0]}, unbound
    assert not wrong["ok"] and "no input 'nothing'" in wrong["error"], wrong
    assert bound["ok"] and list(ran["outputs"]) == [names[1]], ran
    assert np.array_equal(np.load(ran["outputs"][names[1]]), np.float32(factor) * np.array([1.5, -2], "float32"))
    assert len(timed["samples_ns"]) == 3 and all(ns > 0 for ns in timed["samples_ns"]), timed
    assert not more["ok"] and more["error"].startswith("3 threads"), more
    return loaded


with tempfile.TemporaryDirectory() as folder:
    early, hello, unknown = talk(folder, {"do": "run", "directory": folder}, {"do": "hello", "protocol": 1}, {"do": "nonsense"},
                                  python=(sys.executable, "-I"))
    assert early == {"ok": False, "error": "'run' before 'load'"}, early
    assert hello["ok"] or "TensorFlow is not installed" in hello["error"], hello  # where nobody has it
    assert unknown == {"ok": False, "error": "'nonsense' before 'load'"}, unknown
    with open(os.path.join(folder, "tensorflow.py"), "w", encoding="utf-8") as file:
        file.write(FAKE)
    for name, begin in [("m.h5", b"\x89HDF\r\n"), ("m.keras", b"PK\x03\x04"), ("m.pb", b"\x0a\x02hi"), ("saved_model.pb", b"\x08\x01")]:
        with open(os.path.join(folder, name), "wb") as file:
            file.write(begin)
    for name in ("m.h5", "m.keras"):
        loaded = check_model(folder, os.path.join(folder, name), ("x", "y"), 2)
        assert loaded["inputs"][0]["dims"] == ["x_0", 2], loaded
    check_model(folder, os.path.join(folder, "m.pb"), ("in", "out"), 5)
    for path in (folder, os.path.join(folder, "saved_model.pb")):
        check_model(folder, path, ("x", "x_out"), 3, arguments=("--signature", "triple"))
    [refused] = talk(folder, {"do": "load", "path": folder})
    assert refused["error"] == "has no signature 'serving_default', expected one of: other, triple", refused
    [part] = talk(folder, {"do": "load", "path": os.path.join(folder, "m.pb"), "from": ["in"]})
    assert part == {"ok": False, "error": "this runner runs whole models alone"}, part
    [gone] = talk(folder, {"do": "load", "path": os.path.join(folder, "none.pb")})
    assert not gone["ok"] and "none.pb" in gone["error"], gone
print("the runner answers as docs/runner-protocol.md says")
