"""A network that reads lines of text, as TensorFlow 1 froze it.

Convolutions, then bidirectional_dynamic_rnn over the columns with the lengths of the lines, a projection, and
CTCGreedyDecoder. The nodes of dynamic_rnn have the names and the order of TensorFlow 1.15: a frame whose variables are
the counter of iterations, the time, the flow of the outputs' TensorArray, and both states.
"""
import numpy as np

from graph_files import Graph
from scope import FLOAT, INT, Scope

HEIGHT, WIDTH, UNITS, CLASSES = 32, 128, 64, 40
STEPS = WIDTH // 4


class DynamicRnn:
    """dynamic_rnn of an LSTMCell over a tensor batch x time x inputs; `run` returns batch x time x UNITS."""

    def __init__(self, scope, variables, inputs):
        self.scope, self.variables, self.inputs = scope, variables, inputs

    def swapped(self, name, x, suffix=""):
        """_transpose_batch_time: the permutation is computed."""
        s = self.scope
        rank = s.const("Rank" + suffix, 3)
        axes = s.node("range" + suffix, "Range",
                      [s.const(f"range{suffix}/start", 2), rank, s.const(f"range{suffix}/delta", 1)], Tidx=INT)
        order = s.node("concat" + suffix, "ConcatV2", [s.const(f"concat{suffix}/values_0", [1, 0]), axes,
                                                       s.const(f"concat{suffix}/axis", 0)], N=2, T=INT, Tidx=INT)
        return s.transpose(name, x, order)

    def zeros(self, name, batch):
        s = self.scope.within(name)
        rows = s.node("ExpandDims", "ExpandDims", [batch, s.const("ExpandDims/dim", 0)], T=INT, Tdim=INT)
        shape = s.concat("concat", [rows, s.const("Const", [UNITS])], 0, INT)
        return s.node("zeros", "Fill", [shape, s.const("zeros/Const", 0.0)], T=FLOAT, index_type=INT)

    def checked_lengths(self, lengths, batch):
        s = self.scope
        lengths = s.node("sequence_length", "Identity", [lengths], T=INT)
        same = s.node("Equal", "Equal", [s.node("Shape_1", "Shape", [lengths], T=INT, out_type=INT),
                                         s.node("stack", "Pack", [batch], N=1, T=INT, axis=0)], T=INT)
        good = s.node("All", "All", [same, s.const("Const", [0])], Tidx=INT, keep_dims=False)
        check = s.node("Assert/Assert", "Assert", [good, lengths], summarize=3)
        return s.node("CheckSeqLen", "Identity", [lengths, "^" + check], T=INT)

    def array(self, name, size, tensor):
        return self.scope.node(name, "TensorArrayV3", [size], dtype=FLOAT, element_shape=[], dynamic_size=False,
                               clear_after_read=True, identical_element_shapes=True, tensor_array_name=tensor)

    def counted(self, scope, size):
        return scope.node("range", "Range", [scope.const("range/start", 0), size, scope.const("range/delta", 1)], Tidx=INT)

    def run(self, x, lengths):
        s = self.scope
        x = self.swapped("transpose", x)
        batch = s.extent("strided_slice", s.shape("Shape", x), 1)
        lengths = self.checked_lengths(lengths, batch)
        states = [self.zeros("LSTMCellZeroState", batch), self.zeros("LSTMCellZeroState_1", batch)]
        steps = s.extent("strided_slice_1", s.shape("Shape_2", x), 0)
        zero_output = self.zeros("zero_output", batch)
        longest = s.node("Max", "Max", [lengths, s.const("Const_2", [0])], T=INT, Tidx=INT, keep_dims=False)
        outputs, operands = self.array("TensorArray", steps, "output_0"), self.array("TensorArray_1", steps, "input_0")
        unstack = s.within("TensorArrayUnstack")
        every = self.counted(unstack, unstack.extent("strided_slice", unstack.shape("Shape", x), 0))
        read = unstack.float("TensorArrayScatter/TensorArrayScatterV3", "TensorArrayScatterV3",
                             [operands, every, x, operands + ":1"])
        least = s.node("Maximum", "Maximum", [s.const("Maximum/x", 1), longest], T=INT)
        bound = s.node("Minimum", "Minimum", [steps, least], T=INT)
        flow = self.loop(steps, bound, lengths, states, zero_output, outputs, operands, read)
        stack = s.within("TensorArrayStack")
        size = stack.node("TensorArraySizeV3", "TensorArraySizeV3", [outputs, flow])
        y = stack.node("TensorArrayGatherV3", "TensorArrayGatherV3", [outputs, self.counted(stack, size), flow],
                       dtype=FLOAT)
        return self.swapped("transpose_1", y, "_1")

    def loop(self, steps, bound, lengths, states, zero_output, outputs, operands, read):
        s, frame = self.scope.within("while"), self.scope.path("while/while_context")
        variables = [(s.const("iteration_counter", 0), INT), (self.scope.const("time", 0), INT), (outputs + ":1", FLOAT),
                     (states[0], FLOAT), (states[1], FLOAT)]

        def numbered(name, i):
            return f"{name}_{i}" if i else name

        def enter(name, tensor, kind, constant=True):
            return s.node(name, "Enter", [tensor], T=kind, frame_name=frame, is_constant=constant, parallel_iterations=32)

        merges = []
        for i, (value, kind) in enumerate(variables):
            first = enter(numbered("Enter", i), value, kind, False)
            merges.append(s.node(numbered("Merge", i), "Merge", [first, s.path(numbered("NextIteration", i))], N=2, T=kind))
        less = [s.node(name, "Less", [merge, enter(name + "/Enter", limit, INT)], T=INT)
                for name, merge, limit in (("Less", merges[0], steps), ("Less_1", merges[1], bound))]
        condition = s.node("LoopCond", "LoopCond", [s.node("LogicalAnd", "LogicalAnd", less)])
        now = []
        for i, (_, kind) in enumerate(variables):
            port = s.node(numbered("Switch", i), "Switch", [merges[i], condition], T=kind)
            now.append(s.node(numbered("Identity", i), "Identity", [port + ":1"], T=kind))
        one = "^" + now[0]
        counter = s.node("add", "AddV2", [now[0], self.after(s, "add/y", one)], T=INT)
        x = s.node("TensorArrayReadV3", "TensorArrayReadV3",
                   [enter("TensorArrayReadV3/Enter", operands, INT), now[1], enter("TensorArrayReadV3/Enter_1", read, FLOAT)],
                   dtype=FLOAT)
        ended = s.node("GreaterEqual", "GreaterEqual", [now[1], enter("GreaterEqual/Enter", lengths, INT)], T=INT)
        cell, hidden = self.cell(s.within("lstm_cell"), x, now[3], now[4], enter, one)
        nothing = enter("Select/Enter", zero_output, FLOAT)
        y = s.float("Select", "Select", [ended, nothing, hidden])
        cell = s.float("Select_1", "Select", [ended, now[3], cell])
        hidden = s.float("Select_2", "Select", [ended, now[4], hidden])
        flow = s.float("TensorArrayWrite/TensorArrayWriteV3", "TensorArrayWriteV3",
                       [enter("TensorArrayWrite/TensorArrayWriteV3/Enter", outputs, INT), now[1], y, now[2]])
        time = s.node("add_1", "AddV2", [now[1], self.after(s, "add_1/y", one)], T=INT)
        for i, value in enumerate((counter, time, flow, cell, hidden)):
            s.node(numbered("NextIteration", i), "NextIteration", [value], T=variables[i][1])
        return s.node("Exit_2", "Exit", [s.path("Switch_2")], T=FLOAT)

    @staticmethod
    def after(scope, name, control, value=1):
        """A constant inside of a frame, which a control input puts there."""
        value = np.asarray(value, "float32" if isinstance(value, float) else "int32")
        return scope.node(name, "Const", [control], dtype=type(FLOAT)(value.dtype.name), value=value)

    def cell(self, s, x, cell, hidden, enter, control):
        kernel = self.variables.weight("lstm_cell/kernel", self.inputs + UNITS, 4 * UNITS)
        bias = self.variables.weight("lstm_cell/bias", 4 * UNITS, deviation=0.2)
        axis = self.after(s, "concat/axis", control)
        joined = s.node("concat", "ConcatV2", [x, hidden, axis], N=2, T=FLOAT, Tidx=INT)
        sums = s.float("MatMul", "MatMul", [joined, enter("lstm_cell/MatMul/Enter", kernel, FLOAT)], transpose_a=False,
                       transpose_b=False)
        sums = s.float("BiasAdd", "BiasAdd", [sums, enter("lstm_cell/BiasAdd/Enter", bias, FLOAT)], data_format="NHWC")
        gates = s.float("split", "Split", [self.after(s, "split/split_dim", control), sums], num_split=4)
        forget = s.float("add", "AddV2", [gates + ":2", self.after(s, "add/y", control, 1.0)])
        kept = s.float("mul", "Mul", [s.float("Sigmoid", "Sigmoid", [forget]), cell])
        new = s.float("mul_1", "Mul", [s.float("Sigmoid_1", "Sigmoid", [gates]), s.float("Tanh", "Tanh", [gates + ":1"])])
        cell = s.float("add_1", "AddV2", [kept, new])
        hidden = s.float("mul_2", "Mul", [s.float("Sigmoid_2", "Sigmoid", [gates + ":3"]),
                                          s.float("Tanh_1", "Tanh", [cell])])
        return cell, hidden


def bidirectional(s, x, lengths, inputs):
    def reversed_steps(name, x):
        return s.float(name, "ReverseSequence", [x, lengths], Tlen=INT, batch_dim=0, seq_dim=1)

    forward = DynamicRnn(s.within("fw/fw"), s.within("fw"), inputs).run(x, lengths)
    backward = DynamicRnn(s.within("bw/bw"), s.within("bw"), inputs).run(reversed_steps("bw/ReverseSequence", x), lengths)
    return forward, reversed_steps("ReverseSequence", backward)


def ocr():
    graph = Graph()
    s = Scope(graph, "", np.random.RandomState(11))
    x = graph.placeholder("images", [-1, HEIGHT, WIDTH, 1])
    lengths = graph.placeholder("lengths", [-1], "int32")
    cnn = s.within("cnn")
    x = cnn.pool("pool1/MaxPool", cnn.conv("conv1", x, (3, 3), 1, 32), (2, 2), (2, 2))
    x = cnn.pool("pool2/MaxPool", cnn.norm("bn2", cnn.conv("conv2", x, (3, 3), 32, 64), 64), (2, 2), (2, 2))
    x = cnn.pool("pool3/MaxPool", cnn.conv("conv3", x, (3, 3), 64, 128), (2, 1), (2, 1))
    x = cnn.pool("pool4/MaxPool", cnn.norm("bn4", cnn.conv("conv4", x, (3, 3), 128, 128), 128), (2, 1), (2, 1))
    columns = s.within("columns")
    x = columns.transpose("transpose", x, [0, 2, 1, 3])  # height 2 is left
    x = columns.reshape("Reshape", x, [-1, STEPS, 256])
    both = s.concat("concat", bidirectional(s.within("bidirectional_rnn"), x, lengths, 256), 2)
    flat = s.reshape("Reshape", both, [-1, 2 * UNITS])
    scores = s.dense("projection", flat, 2 * UNITS, CLASSES)
    scores = s.reshape("scores", scores, [-1, STEPS, CLASSES])
    s.float("probabilities", "Softmax", [scores])
    s.float("CTCGreedyDecoder", "CTCGreedyDecoder", [s.transpose("time_major", scores, [1, 0, 2]), lengths],
            merge_repeated=True)
    return graph
