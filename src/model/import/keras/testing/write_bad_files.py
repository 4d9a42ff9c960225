"""usage: write_bad_files.py FOLDER

Writes files that are refused, each with NAME.txt: a part of the message, which names the file.
"""
import io
import json
import os
import sys
import zipfile

import h5py
import numpy as np

from keras_files import Layer, Model, Ref, input_layer, model_config, write

folder = sys.argv[1]


def dense(name="dense", kind="Dense", config=None, weights=None):
    return Layer(kind, name, config or {"units": 3}, [np.ones((4, 3)), np.zeros(3)] if weights is None else weights,
                 calls=[([Ref("x")], {})])


def model_of(*layers):
    return Model("model", [input_layer("x", [4]), *layers], ["x"], [Ref(layers[-1].name)])


def bad(name, says, model=None, change=None):
    path = os.path.join(folder, name)
    write(path, model or model_of(dense()))
    if change:
        with h5py.File(path, "r+") as file:
            change(file)
    with open(path + ".txt", "w") as text:
        text.write(says)


def replaced(key, link):
    def change(file):
        del file[key]
        file[key] = link
    return change


def with_config(edit):
    def change(file):
        config = json.loads(file.attrs["model_config"])
        edit(config["config"])
        file.attrs["model_config"] = json.dumps(config)
    return change


def external_storage(file):
    del file["model_weights/dense/dense/weight_0:0"]
    file.create_dataset("model_weights/dense/dense/weight_0:0", (4, 3), "f4", external=[("/etc/passwd", 0, 48)])


def virtual(file):
    layout = h5py.VirtualLayout((4, 3), "f4")
    layout[...] = h5py.VirtualSource("/etc/passwd", "x", (4, 3))
    del file["model_weights/dense/dense/weight_0:0"]
    file.create_virtual_dataset("model_weights/dense/dense/weight_0:0", layout)


def bomb(file):  # ten gigabytes of zeros
    file["model_weights"].create_dataset("zeros", (50000, 50000), "f4", chunks=(5000, 5000), compression="gzip")


def circle(file):
    file["model_weights/again"] = file["model_weights"]


def deep(file):
    group = file
    for _ in range(40):
        group = group.create_group("g")


weight = "model_weights/dense/dense/weight_0:0"
bad("external.h5", "is an external link, which is refused", change=replaced(weight, h5py.ExternalLink("/etc/passwd", "/x")))
bad("soft.h5", "is a soft link, which is refused", change=replaced(weight, h5py.SoftLink("/elsewhere")))
bad("storage.h5", "has its data in another file, which is refused", change=external_storage)
bad("virtual.h5", "has its data in another file, which is refused", change=virtual)
bad("bomb.h5", "more than a file of this size may hold", change=bomb)
bad("circle.h5", "has two names, which is refused", change=circle)
bad("deep.h5", "nested more than 32 deep", change=deep)
bad("weights.h5", "has no attribute model_config", change=lambda file: file.attrs.pop("model_config"))
bad("json.h5", "model_config is not valid JSON", change=lambda file: file.attrs.__setitem__("model_config", "{]"))
bad("version.h5", "was written by Keras 4.1, expected 1, 2 or 3", change=lambda file: file.attrs.__setitem__("keras_version", "4.1"))
bad("subclass.h5", "a subclassed model is Python code", change=lambda file: file.attrs.__setitem__(
    "model_config", json.dumps({"class_name": "MyModel", "config": {"units": 3}})))
bad("missing.h5", "has 1 weight in the file, expected 2", model_of(dense(weights=[np.ones((4, 3))])))
bad("extents.h5", "'dense' (Dense, Keras 2)", model_of(dense(weights=[np.ones((5, 3)), np.zeros(3)])))
bad("unknown.h5", "define it with --custom Scale=FILE.mlir", model_of(dense(kind="Scale")))
bad("hashing.h5", "the layer is not supported (text; numbers are hashed as texts)", model_of(dense(kind="Hashing")))
bad("adapted.h5", "a vocabulary that the layer has adapted to data is neither", model_of(dense(
    kind="IntegerLookup", config={"vocabulary": None}, weights=[])))
bad("twice.h5", "the vocabulary has the token 12 twice", model_of(dense(
    kind="IntegerLookup", config={"vocabulary": [12, 36, 12]}, weights=[])))
bad("activation.h5", "the activation 'swish2' is not supported; define it with --custom swish2=FILE.mlir",
    model_of(dense(config={"units": 3, "activation": "swish2"})))
nested = Layer("Functional", "inner", calls=[([Ref("x")], {})],
               model=Model("inner", [input_layer("z", [4]), Layer("Scale", "deep", calls=[([Ref("z")], {})])], ["z"], [Ref("deep")]))
bad("nested.h5", "'inner/deep' (Scale, Keras 2)", model_of(nested))
bad("both.h5", "'a' (Scale, Keras 2)", model_of(dense("a", "Scale"), dense("b", "Lambda", {}, [])))
bad("circular.h5", "depends on its own result", change=with_config(
    lambda config: config["layers"][1].update(inbound_nodes=[[["dense", 0, 0, {}]]])))
bad("nobody.h5", "has no layer 'nobody'", change=with_config(
    lambda config: config["layers"][1].update(inbound_nodes=[[["nobody", 0, 0, {}]]])))
bad("call.h5", "which has 1 calls", change=with_config(
    lambda config: config["layers"][1].update(inbound_nodes=[[["x", 7, 0, {}]]])))


def archive(name, says, members):
    path = os.path.join(folder, name)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for member, content in members.items():
            file.writestr(member, content)
    with open(path + ".txt", "w") as text:
        text.write(says)


weights = io.BytesIO()
with h5py.File(weights, "w") as file:
    file.create_group("layers")
good = {"metadata.json": json.dumps({"keras_version": "3.1.0"}),
        "config.json": json.dumps(model_config(model_of(dense()), 3)), "model.weights.h5": weights.getvalue()}
archive("empty.keras", "has 0 weights in the file, expected 2", good)
archive("without.keras", "member 'model.weights.h5' is missing", {k: v for k, v in good.items() if "weights" not in k})
archive("metadata.keras", "member 'metadata.json' is missing", {k: v for k, v in good.items() if "metadata" not in k})
archive("bomb.keras", "expected at most", dict(good, **{"model.weights.h5": bytes(100 << 20)}))
archive("levels.keras", "config.json is nested deeper than 500 levels", dict(good, **{"config.json": "[" * 200000 + "]" * 200000}))
archive("other.keras", "is damaged", dict(good, **{"model.weights.h5": b"no HDF5"}))
lookup = model_of(Layer("IntegerLookup", "lookup", {"vocabulary": None}, calls=[([Ref("x")], {})]))
archive("vocabulary.keras", "'assets/layers/integer_lookup/vocabulary.txt': line 2 is 'two', expected an integer",
        dict(good, **{"config.json": json.dumps(model_config(lookup, 3)), "assets/layers/integer_lookup/vocabulary.txt": "1\ntwo\n"}))
bad("mask.h5", "operand 1 has rank 1, expected at least 2 beside an operand with a mask",
    Model("model", [input_layer("x", [4]), input_layer("y", []),
                    Layer("Embedding", "embedding", {"input_dim": 10, "output_dim": 3, "mask_zero": True}, [np.ones((10, 3))],
                          calls=[([Ref("x")], {})]),
                    Layer("Concatenate", "concatenate", {"axis": 1}, calls=[([[Ref("embedding"), Ref("y")]], {})]),
                    Layer("GlobalAveragePooling1D", "pool", {}, calls=[([Ref("concatenate")], {})])],
          ["x", "y"], [Ref("pool")]))
