"""Recurrent layers, masks, attention, wrappers, and graphs of several layers (cases.py)."""
import numpy as np

import reference as ref
from cases import data, model_of, one
from keras_files import Layer, Model, Ref, input_layer

CELLS = {"LSTM": 4, "GRU": 3, "SimpleRNN": 1}


def weights_of(kind, inputs, units, reset_after=False):
    gates = CELLS[kind] * units
    bias = data(2, gates) if kind == "GRU" and reset_after else data(gates)
    return [data(inputs, gates), data(units, gates), bias]


def cell_of(kind, weights, reset_after=False, **functions):
    if kind == "LSTM":
        return ref.lstm_cell(*weights, **functions)
    return ref.gru_cell(*weights, reset_after, **functions) if kind == "GRU" else ref.rnn_cell(*weights, **functions)


MASK = np.array([[1, 0, 1, 1, 0], [0, 0, 1, 0, 1], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]], bool)


def recurrents():
    x = data(3, 5, 4)
    for kind in CELLS:
        for reset_after in ((False, True) if kind == "GRU" else (False,)):
            weights = weights_of(kind, 4, 6, reset_after)
            config = {"units": 6, "activation": "tanh", "recurrent_activation": "sigmoid", "use_bias": True,
                      "reset_after": reset_after}
            cell = cell_of(kind, weights, reset_after)
            for sequences, backwards, state in ((False, False, False), (True, False, True), (True, True, False)):
                ys, last, states = ref.run_cell(cell, x, backwards=backwards)
                own = dict(config, return_sequences=sequences, go_backwards=backwards, return_state=state)
                yield one(f"{kind}_{reset_after:d}{sequences:d}{backwards:d}{state:d}", kind, own, [x],
                          [ys if sequences else last, *(states if state else [])], weights, [("cell", 3)])
    # Activations that the operators of nn lack, step by step.
    for kind in CELLS:
        weights = weights_of(kind, 4, 3)
        config = {"units": 3, "activation": "gelu", "recurrent_activation": "sigmoid", "return_sequences": True,
                  "reset_after": False}
        ys = ref.run_cell(cell_of(kind, weights, g=ref.ACTIVATIONS["gelu"]), x)[0]
        yield one(f"{kind}_steps", kind, config, [x], [ys], weights, [("cell", 3)])
    # As cuDNN keeps the weights.
    for kind in ("LSTM", "GRU"):
        k, r, b = weights_of(kind, 4, 6)
        b = data(2, CELLS[kind] * 6)
        own, recurrent = ([f(gate) for gate in np.split(each, CELLS[kind], 1)] for each, f in (
            (k, lambda gate: gate.T.reshape(gate.shape, order="F")), (r, lambda gate: gate.T)))
        cell = cell_of(kind, [np.hstack(own), np.hstack(recurrent), b if kind == "GRU" else b.sum(0)], True)
        ys, last, states = ref.run_cell(cell, x)
        yield one(f"CuDNN{kind}", f"CuDNN{kind}", {"units": 6, "return_sequences": True, "return_state": True}, [x],
                  [ys, *states], [k, r, b.reshape(-1)])
    # A given state.
    h, c = data(3, 6), data(3, 6)
    weights = weights_of("LSTM", 4, 6)
    last = ref.run_cell(cell_of("LSTM", weights), x, initial=[h, c])[1]
    for name, call in (("positions", ([Ref("x0"), Ref("x1"), Ref("x2")], {})),
                       ("keyword", ([Ref("x0")], {"initial_state": [Ref("x1"), Ref("x2")]}))):
        yield one(f"LSTM_state_{name}", "LSTM", {"units": 6, "activation": "tanh", "recurrent_activation": "sigmoid"},
                  [x, h, c], [last], weights, [("cell", 3)], calls=[call])
    # A state that the layer keeps: an input and an output more for each.
    h, c = data(3, 6), data(3, 6)
    _, last, states = ref.run_cell(cell_of("LSTM", weights), x, initial=[h, c])
    name, model, _, _ = one("LSTM_stateful", "LSTM", {"units": 6, "activation": "tanh", "recurrent_activation": "sigmoid",
                                                      "stateful": True}, [x], [last], weights, [("cell", 3)])
    yield name, model, [x, h, c], [last, *states]
    # Cells on one another.
    first, second = weights_of("LSTM", 4, 3), weights_of("GRU", 3, 2, True)
    cells = [{"class_name": "LSTMCell", "config": {"units": 3, "activation": "tanh", "recurrent_activation": "sigmoid"}},
             {"class_name": "GRUCell", "config": {"units": 2, "activation": "tanh", "recurrent_activation": "sigmoid",
                                                  "reset_after": True}}]
    inner = ref.run_cell(cell_of("LSTM", first), x)[0]
    yield one("RNN_stacked", "RNN", {"cell": {"class_name": "StackedRNNCells", "config": {"cells": cells}}}, [x],
              [ref.run_cell(cell_of("GRU", second, True), inner)[1]], [*first, *second],
              [("cell/cells/lstm_cell", 3), ("cell/cells/gru_cell", 3)])


def bidirectionals():
    x = data(3, 5, 4)
    forward, backward = weights_of("LSTM", 4, 3), weights_of("LSTM", 4, 3)
    parts = [("forward_layer/cell", 3), ("backward_layer/cell", 3)]
    for mode, merge in (("concat", lambda a, b: [np.concatenate([a, b], -1)]), ("sum", lambda a, b: [a + b]),
                        ("mul", lambda a, b: [a * b]), ("ave", lambda a, b: [(a + b) / 2]), (None, lambda a, b: [a, b])):
        for sequences in (False, True):
            inner = {"class_name": "LSTM", "config": {"name": "lstm", "units": 3, "activation": "tanh",
                                                      "recurrent_activation": "sigmoid", "return_sequences": sequences,
                                                      "return_state": mode == "sum"}}
            a = ref.run_cell(cell_of("LSTM", forward), x)
            b = ref.run_cell(cell_of("LSTM", backward), x, backwards=True)
            y = merge(a[0], b[0][:, ::-1]) if sequences else merge(a[1], b[1])
            yield one(f"Bidirectional_{mode}{sequences:d}", "Bidirectional", {"layer": inner, "merge_mode": mode}, [x],
                      y + ([*a[2], *b[2]] if mode == "sum" else []), [*forward, *backward], parts)


def keras_1():
    """Recurrent layers of Keras 1: other names, and the weights of every gate apart, unless consume_less is "gpu"."""
    x = data(3, 5, 4)
    orders = {"LSTM": (0, 2, 1, 3), "GRU": (0, 1, 2), "SimpleRNN": (0,)}  # an LSTM has c before f

    def config_of(**options):
        return dict({"output_dim": 6, "activation": "tanh", "inner_activation": "hard_sigmoid", "return_sequences": True,
                     "go_backwards": False, "consume_less": "cpu"}, **options)

    def apart(kind, weights):
        gates = [np.split(weight, CELLS[kind], -1) for weight in weights]
        return [part[gate] for gate in orders[kind] for part in gates]

    for kind in CELLS:
        for consumes in ("cpu", "gpu"):
            weights = weights_of(kind, 4, 6)
            functions = {} if kind == "SimpleRNN" else {"f": ref.hard_sigmoid(1)}
            ys = ref.run_cell(cell_of(kind, weights, **functions), x)[0]
            own = weights if consumes == "gpu" else apart(kind, weights)
            yield one(f"{kind}_{consumes}", kind, config_of(consume_less=consumes), [x], [ys], own)
    forward, backward = weights_of("LSTM", 4, 6), weights_of("LSTM", 4, 6)
    cells = [cell_of("LSTM", weights, f=ref.hard_sigmoid(1)) for weights in (forward, backward)]
    y = np.concatenate([ref.run_cell(cells[0], x)[0], ref.run_cell(cells[1], x, backwards=True)[0][:, ::-1]], -1)
    inner = {"class_name": "LSTM", "config": config_of(name="lstm")}
    yield one("Bidirectional", "Bidirectional", {"layer": inner, "merge_mode": "concat"}, [x], [y],
              [*apart("LSTM", forward), *apart("LSTM", backward)])


def masked(name, layers, inputs, outputs, results=1):
    """An input, Masking, and layers after it."""
    last = layers[-1]
    model = Model("model", [input_layer("x0", inputs[0].shape[1:], str(inputs[0].dtype).replace("float64", "float32")), *layers],
                  ["x0"], [Ref(last.name, 0, i) for i in range(results)])
    return name, model, inputs, outputs


def masks():
    x = data(4, 5, 4)
    x[~MASK] = 0
    masking = lambda: Layer("Masking", "masking", {"mask_value": 0.0}, calls=[([Ref("x0")], {})])
    for kind in CELLS:
        for sequences, backwards, zero in ((False, False, False), (True, False, False), (True, True, False), (True, False, True),
                                           (False, True, True)):
            for activation in ("tanh", "gelu"):
                weights = weights_of(kind, 4, 3)
                config = {"units": 3, "activation": activation, "recurrent_activation": "sigmoid", "reset_after": False,
                          "return_sequences": sequences, "go_backwards": backwards, "zero_output_for_mask": zero,
                          "return_state": True}
                cell = cell_of(kind, weights, g=ref.ACTIVATIONS[activation])
                ys, last, states = ref.run_cell(cell, x, MASK, backwards=backwards, zero_masked=zero)
                layer = Layer(kind, "layer", config, weights, [("cell", 3)], [([Ref("masking")], {})])
                yield masked(f"{kind}_masked_{sequences:d}{backwards:d}{zero:d}_{activation}", [masking(), layer], [x],
                             [ys if sequences else last, *states], 1 + len(states))
    a, b = weights_of("GRU", 4, 3), weights_of("GRU", 4, 3)
    inner = {"class_name": "GRU", "config": {"units": 3, "activation": "tanh", "recurrent_activation": "sigmoid",
                                             "reset_after": False, "return_sequences": True}}
    y = np.concatenate([ref.run_cell(cell_of("GRU", a), x, MASK, zero_masked=True)[0],
                        ref.run_cell(cell_of("GRU", b), x, MASK, backwards=True, zero_masked=True)[0][:, ::-1]], -1)
    layer = Layer("Bidirectional", "layer", {"layer": inner, "merge_mode": "concat"}, [*a, *b],
                  [("forward_layer/cell", 3), ("backward_layer/cell", 3)], [([Ref("masking")], {})])
    yield masked("Bidirectional_masked", [masking(), layer], [x], [y])
    # The mean of the steps that count, of rows that have some.
    some = x[:3]
    weights = MASK[:3, :, None].astype(float)
    layer = Layer("GlobalAveragePooling1D", "layer", {}, calls=[([Ref("masking")], {})])
    yield masked("GlobalAveragePooling1D_masked", [masking(), layer], [some], [(some * weights).sum(1) / weights.sum(1)])
    # An embedding's mask, through a layer that passes it on.
    ids = np.array([[3, 0, 2, 1, 0], [0, 4, 0, 0, 1]], "int32")
    table, w, cell = data(5, 4), data(4, 4), weights_of("LSTM", 4, 3)
    layers = [Layer("Embedding", "embedding", {"input_dim": 5, "output_dim": 4, "mask_zero": True}, [table],
                    calls=[([Ref("x0")], {})]),
              Layer("Dense", "dense", {"units": 4, "use_bias": False}, [w], calls=[([Ref("embedding")], {})]),
              Layer("LSTM", "lstm", {"units": 3, "activation": "tanh", "recurrent_activation": "sigmoid"}, cell, [("cell", 3)],
                    [([Ref("dense")], {})])]
    yield masked("Embedding_masked", layers, [ids], [ref.run_cell(cell_of("LSTM", cell), table[ids] @ w, ids != 0)[1]])


def attentions():
    q, v = data(2, 3, 6), data(2, 4, 6)
    heads, size = 2, 5
    weights = [w for _ in range(3) for w in (data(6, heads, size), data(heads, size))] + [data(heads, size, 6), data(6)]
    parts = [(f"{part}_dense", 2) for part in ("query", "key", "value", "output")]

    def projected(x, i):
        return np.einsum("btd,dnk->bntk", x, weights[2 * i]) + weights[2 * i + 1][:, None]

    def multi_head(x, y, mask=None):
        z, scores = ref.attention(projected(x, 0), projected(y, 1), projected(y, 2), size ** -0.5, mask)
        return np.einsum("bntk,nkd->btd", z, weights[6]) + weights[7], scores

    config = {"num_heads": heads, "key_dim": size, "value_dim": size, "use_bias": True}
    yield one("MultiHeadAttention", "MultiHeadAttention", config, [q, v], [multi_head(q, v)[0]], weights, parts,
              calls=[([Ref("x0")], {"value": Ref("x1")})])
    yield one("MultiHeadAttention_scores", "MultiHeadAttention", config, [q, v], [*multi_head(q, v)], weights, parts,
              calls=[([Ref("x0")], {"value": Ref("x1"), "return_attention_scores": True})])
    causal = np.tril(np.ones((3, 3), bool))
    yield one("MultiHeadAttention_causal", "MultiHeadAttention", config, [q], [multi_head(q, q, causal)[0]], weights, parts,
              calls=[([Ref("x0")], {"value": Ref("x0"), "use_causal_mask": True})])
    seen = np.array([[[1, 0, 1, 1]] * 3, [[0, 1, 1, 0]] * 3], "bool")
    yield one("MultiHeadAttention_mask", "MultiHeadAttention", config, [q, v, seen], [multi_head(q, v, seen[:, None])[0]],
              weights, parts, calls=[([Ref("x0")], {"value": Ref("x1"), "attention_mask": Ref("x2")})])
    scale = data(6)
    scores = (scale * np.tanh(q[:, :, None] + v[:, None])).sum(-1)
    yield one("AdditiveAttention", "AdditiveAttention", {"use_scale": True}, [q, v], [ref.softmax(scores) @ v], [scale],
              as_list=True)
    yield one("Attention", "Attention", {"use_scale": False}, [q, v], [ref.attention(q, v, v)[0]], as_list=True)


def conv_lstms():
    x = data(2, 3, 5, 6, 2)
    kernel, recurrent, bias = data(3, 3, 2, 16), data(3, 3, 4, 16), data(16)
    states = [np.zeros((2, 5, 6, 4))] * 2
    results = []
    for t in range(3):
        z = ref.conv(x[:, t], kernel, 1, "same") + ref.conv(states[0], recurrent, 1, "same") + bias
        i, f, c, o = np.split(z, 4, -1)
        cell = ref.sigmoid(f) * states[1] + ref.sigmoid(i) * np.tanh(c)
        states = [ref.sigmoid(o) * np.tanh(cell), cell]
        results.append(states[0])
    config = {"filters": 4, "kernel_size": [3, 3], "padding": "same", "activation": "tanh", "recurrent_activation": "sigmoid"}
    for sequences in (False, True):
        yield one(f"ConvLSTM2D_{sequences:d}", "ConvLSTM2D", dict(config, return_sequences=sequences), [x],
                  [np.stack(results, 1) if sequences else results[-1]], [kernel, recurrent, bias], [("cell", 3)])


def graphs():
    """Shared layers, models inside of models, several inputs and outputs, wrappers."""
    a, b = data(3, 4), data(3, 4)
    w, c = data(4, 4), data(4)
    dense = lambda x: np.tanh(x @ w + c)
    shared = Layer("Dense", "dense", {"units": 4, "activation": "tanh"}, [w, c],
                   calls=[([Ref("x0")], {}), ([Ref("x1")], {}), ([Ref("dense", 1)], {})])
    add = Layer("Add", "add", {}, calls=[([[Ref("dense", 0), Ref("dense", 2)]], {})])
    yield ("shared", Model("model", [input_layer("x0", [4]), input_layer("x1", [4]), shared, add], ["x0", "x1"],
                           [Ref("add"), Ref("dense", 1)]), [a, b], [dense(a) + dense(dense(b)), dense(b)])

    def block(name, first, second):
        return Model(name, [input_layer("inner", [4]),
                            Layer("Dense", f"{name}_a", {"units": 4, "use_bias": False}, [first], calls=[([Ref("inner")], {})]),
                            Layer("Dense", f"{name}_b", {"units": 4, "use_bias": False, "activation": "relu"}, [second],
                                  calls=[([Ref(f"{name}_a")], {})])], ["inner"], [Ref(f"{name}_b")])

    w1, w2, w3, w4 = data(4, 4), data(4, 4), data(4, 4), data(4, 4)
    one_block, other = block("one", w1, w2), block("two", w3, w4)
    f, g = (lambda x: np.maximum(x @ w1 @ w2, 0)), (lambda x: np.maximum(x @ w3 @ w4, 0))
    layers = [input_layer("x0", [4]),
              Layer("Functional", "one", model=one_block, calls=[([Ref("x0")], {}), ([Ref("two")], {})]),
              Layer("Functional", "two", model=other, calls=[([Ref("one")], {})])]
    yield ("nested", Model("model", layers, ["x0"], [Ref("one", 1)]), [a], [f(g(f(a)))])
    sequence = Model("sequential", [input_layer("x0", [4]), Layer("Dense", "d", {"units": 4, "use_bias": False}, [w1]),
                                    Layer("ReLU", "r", {}), Layer("Dense", "e", {"units": 4, "use_bias": False}, [w2])],
                     sequential=True)
    yield "sequential", sequence, [a], [np.maximum(a @ w1, 0) @ w2]
    x = data(2, 3, 4)
    inner = {"class_name": "Dense", "config": {"name": "dense", "units": 4, "activation": "tanh", "use_bias": True}}
    yield one("TimeDistributed", "TimeDistributed", {"layer": inner}, [x], [dense(x)], [w, c], [("layer", 2)])
