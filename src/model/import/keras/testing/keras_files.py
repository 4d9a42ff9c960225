"""Writes models as Keras 2 (.h5) and Keras 3 (.keras) do, without Keras.

The forms are those of keras/src/legacy/saving/legacy_h5_format.py and keras/src/saving/saving_lib.py.
"""
import io
import json
import re
import zipfile

import h5py
import numpy as np


class Ref:
    """Result `tensor` of call `call` of the layer `layer`."""

    def __init__(self, layer, call=0, tensor=0):
        self.layer, self.call, self.tensor = layer, call, tensor


class Layer:
    """A layer with its calls.

    weights   arrays in the order of Keras
    parts     where Keras 3 keeps them: (path below the layer, number of arrays) one after the other
    calls     (positional arguments, keyword arguments); arguments are Ref, lists of Ref or constants
    model     of a model that is called as a layer
    assets    files of its own in an archive of Keras 3: name and text
    """

    assets = {}

    def __init__(self, kind, name, config=None, weights=(), parts=None, calls=(), model=None, module="keras.layers"):
        self.kind, self.name, self.config = kind, name, dict(config or {}, name=name)
        self.weights = [np.asarray(weight, "float32") for weight in weights]
        self.parts = parts or [("", len(self.weights))]
        self.calls, self.model, self.module = list(calls), model, module


class Model:
    """Layers with their inputs (names of InputLayers) and outputs (Ref)."""

    def __init__(self, name, layers, inputs=(), outputs=(), sequential=False):
        self.name, self.layers, self.sequential = name, list(layers), sequential
        self.inputs, self.outputs = list(inputs), list(outputs)


def input_layer(name, shape, dtype="float32"):
    return Layer("InputLayer", name, {"batch_shape": [None, *shape], "dtype": dtype})


def snake_case(name):
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", name))
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


# ---- Configurations


def old_call(arguments, keywords):
    def plain(value):
        if isinstance(value, list):
            return [plain(each) for each in value]
        return [value.layer, value.call, value.tensor] if isinstance(value, Ref) else value

    keywords = {key: plain(value) for key, value in keywords.items()}
    flat = [each for argument in arguments for each in (argument if isinstance(argument, list) else [argument])]
    return [[each.layer, each.call, each.tensor, keywords if i == 0 else {}] for i, each in enumerate(flat)]


def new_value(value):
    if isinstance(value, Ref):
        return {"class_name": "__keras_tensor__",
                "config": {"shape": [None], "dtype": "float32", "keras_history": [value.layer, value.call, value.tensor]}}
    if isinstance(value, list):
        return [new_value(each) for each in value]
    return value


def model_config(model, version):
    layers = []
    for layer in model.layers:
        config = model_config(layer.model, version)["config"] if layer.model else dict(layer.config)
        kind = ("Sequential" if layer.model.sequential else "Functional") if layer.model else layer.kind
        if version == 2 and isinstance(config, dict) and "batch_shape" in config:  # one within may be mutated
            config["batch_input_shape"] = config.pop("batch_shape")
        entry = {"class_name": kind, "config": config}
        if version == 3:
            entry.update(module=layer.module, registered_name=None, build_config={})
        if not model.sequential:
            entry["name"] = layer.name
            if version == 3:
                entry["inbound_nodes"] = [{"args": [new_value(each) for each in arguments],
                                           "kwargs": {key: new_value(each) for key, each in keywords.items()}}
                                          for arguments, keywords in layer.calls]
            else:
                entry["inbound_nodes"] = [old_call(*call) for call in layer.calls]
        layers.append(entry)
    config = {"name": model.name, "trainable": True, "layers": layers}
    if not model.sequential:
        config["input_layers"] = [[name, 0, 0] for name in model.inputs]
        config["output_layers"] = [[each.layer, each.call, each.tensor] for each in model.outputs]
    return {"class_name": "Sequential" if model.sequential else "Functional", "config": config}


# ---- Weights


def old_weights(group, model):
    group.attrs["layer_names"] = np.array([layer.name.encode() for layer in model.layers])
    group.attrs["backend"], group.attrs["keras_version"] = "tensorflow", "2.13.1"

    def of(layer):
        if not layer.model:
            return [(f"{layer.name}/weight_{i}:0", weight) for i, weight in enumerate(layer.weights)]
        return [each for inner in layer.model.layers for each in of(inner)]

    for layer in model.layers:
        own = group.create_group(layer.name)
        named = of(layer)
        own.attrs["weight_names"] = np.array([name.encode() for name, _ in named])
        for name, weight in named:
            own.create_dataset(name, data=weight)


def new_weights(group, model):
    used = {}
    group = group.create_group("layers")
    for layer in model.layers:
        name = ("sequential" if layer.model.sequential else "functional") if layer.model else snake_case(layer.kind)
        count = used.get(name, 0)
        used[name] = count + 1
        own = group.create_group(f"{name}_{count}" if count else name)
        if layer.model:
            new_weights(own, layer.model)
            continue
        own.create_group("vars")
        at = 0
        for path, number in layer.parts:
            place = own.require_group(f"{path}/vars" if path else "vars")
            for i in range(number):
                place.create_dataset(str(i), data=layer.weights[at + i])
            at += number
        assert at == len(layer.weights), layer.name


def assets_of(model, folder="assets/layers"):
    """Names and texts of the assets of all layers."""
    used = {}
    for layer in model.layers:
        name = ("sequential" if layer.model.sequential else "functional") if layer.model else snake_case(layer.kind)
        count = used.get(name, 0)
        used[name] = count + 1
        own = f"{folder}/{name}_{count}" if count else f"{folder}/{name}"
        yield from ((f"{own}/{asset}", text) for asset, text in layer.assets.items())
        if layer.model:
            yield from assets_of(layer.model, own + "/layers")


def write(path, model, version="2.13.1"):
    """As Keras 2 (or an older version) where the name ends in .h5, as Keras 3 where it ends in .keras. Equal models make equal
    files."""
    if path.endswith(".h5"):
        with h5py.File(path, "w") as file:
            file.attrs["keras_version"], file.attrs["backend"] = version, "tensorflow"
            file.attrs["model_config"] = json.dumps(model_config(model, 2))
            old_weights(file.create_group("model_weights"), model)
            file.create_group("optimizer_weights").create_dataset("iterations", data=3)
        return
    weights = io.BytesIO()
    with h5py.File(weights, "w") as file:
        new_weights(file, model)
    metadata = {"keras_version": "3.3.3", "date_saved": "2024-01-01@00:00:00"}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in [("metadata.json", json.dumps(metadata)),
                              ("config.json", json.dumps(model_config(model, 3))),
                              ("model.weights.h5", weights.getvalue()), *assets_of(model)]:
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
