include "ops/Base.td"

// What the recurrent operators share. T: steps, B: rows of the batch, D: directions (2 when bidirectional), G: gates, H: hidden
// extent. Gates lie in the order of ONNX: LSTM i, o, f, c; GRU z, r, h; peepholes i, o, f.
class Nn_Recurrent<string mnemonic, string onnxOp, string gates> : NnOp<mnemonic, [AttrSizedOperandSegments]> {
  let mappings = [Onnx<onnxOp, 7, 1000, 0>];
  let inferFunction = "inferRecurrent";
  let referenceFunction = "runRecurrent";
  let lowering = "fold";
  let flops = "product(out[0]->dims) * " # gates # " * 2 * (in[0]->dims[2] + in[2]->dims[2])";
  let tolerance = "1e-5";
  let benchmarkAxes = ["steps", "batch", "input", "hidden", "direction"];
}

def Nn_LstmOp : Nn_Recurrent<"lstm", "LSTM", "4"> {
  let summary = "long short-term memory over a sequence";
  let description = [{
    x: T x B x I, w: D x 4H x I, r: D x 4H x H, b: D x 8H (for w, then for r), sequence_lens: B (i32), initial_h and initial_c: D x B x H, p: D x 3H.
    Results: y: T x D x B x H, y_h and y_c: D x B x H. ONNX's layout 1 is imported as transposes around the operator.

    i = f(x Wi + h Ri + Pi c + b), f likewise (1 - i with input_forget), g = g(x Wc + h Rc + b), c' = f c + i g,
    o = f(x Wo + h Ro + Po c' + b), h' = o h(c'). Whatever enters f or g is limited to [-clip, clip].
    activations: names of f, g, h a direction, separated by commas (sigmoid, tanh, relu, affine, leaky_relu, thresholded_relu, scaled_tanh,
    hard_sigmoid, elu, softsign, softplus); empty: sigmoid,tanh,tanh. activation_alpha and activation_beta: a value for each of
    them, or none for the activations' own defaults. Beyond a row's length y is zero; y_h and y_c are the state after its last step, zero
    for a length of 0 (as in ONNX Runtime). The reverse direction starts at the row's last step.

    Constraints: lstm_c1: x and the weights have rank 3. lstm_c2: direction is forward, reverse or bidirectional and D agrees with it.
    lstm_c3: the extents of w, r, b, p and the initial states agree. lstm_c4: element types of all but sequence_lens agree and are
    floating-point. lstm_c5: sequence_lens is i32 of extent B, each between 0 and T. lstm_c6: there are 3 activations a direction, of
    known names, and as many alphas and betas, or none. lstm_c7: clip is positive.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$w, NnTensor:$r, Optional<NnTensor>:$b, Optional<NnTensor>:$sequence_lens,
    Optional<NnTensor>:$initial_h, Optional<NnTensor>:$initial_c, Optional<NnTensor>:$p, NnStr<"forward">:$direction, NnStr<"">:$activations,
    NnF64s<>:$activation_alpha, NnF64s<>:$activation_beta, NnF64<"std::numeric_limits<double>::infinity()">:$clip, NnBool<"false">:$input_forget);
  let results = (outs NnTensor:$y, NnTensor:$y_h, NnTensor:$y_c);
}

def Nn_GruOp : Nn_Recurrent<"gru", "GRU", "3"> {
  let summary = "gated recurrent unit over a sequence";
  let description = [{
    x: T x B x I, w: D x 3H x I, r: D x 3H x H, b: D x 6H; everything else as in lstm, with activations f and g (sigmoid,tanh).

    z = f(x Wz + h Rz + b), r = f(x Wr + h Rr + b), n = g(x Wh + (r h) Rh + b), with linear_before_reset
    n = g(x Wh + r (h Rh + Rbh) + Wbh), h' = (1 - z) n + z h.

    Constraints: those of lstm, with gru_ before the number.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$w, NnTensor:$r, Optional<NnTensor>:$b, Optional<NnTensor>:$sequence_lens,
    Optional<NnTensor>:$initial_h, NnStr<"forward">:$direction, NnStr<"">:$activations, NnF64s<>:$activation_alpha,
    NnF64s<>:$activation_beta, NnF64<"std::numeric_limits<double>::infinity()">:$clip, NnBool<"false">:$linear_before_reset);
  let results = (outs NnTensor:$y, NnTensor:$y_h);
}

def Nn_RnnOp : Nn_Recurrent<"rnn", "RNN", "1"> {
  let summary = "simple recurrent network over a sequence";
  let description = [{
    x: T x B x I, w: D x H x I, r: D x H x H, b: D x 2H; everything else as in lstm, with one activation f (tanh).

    h' = f(x W + h R + b).

    Constraints: those of lstm, with rnn_ before the number.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$w, NnTensor:$r, Optional<NnTensor>:$b, Optional<NnTensor>:$sequence_lens,
    Optional<NnTensor>:$initial_h, NnStr<"forward">:$direction, NnStr<"">:$activations, NnF64s<>:$activation_alpha,
    NnF64s<>:$activation_beta, NnF64<"std::numeric_limits<double>::infinity()">:$clip);
  let results = (outs NnTensor:$y, NnTensor:$y_h);
}

// The rest of the three operators after pass split-recurrence has computed the input's contribution to all gates.
def Nn_RecurrenceOp : NnOp<"recurrence", [AttrSizedOperandSegments]> {
  let summary = "the steps of a recurrent network, given the input's contribution to all gates";
  let description = [{
    x: T x B x D*G*H, the input times its weights with all biases that are not inside a product; r: D x G*H x H; hidden_bias: D x H (only a gru with
    linear_before_reset: what is added to h Rh); the others as in lstm, p and initial_c only for cell lstm. cell is lstm, gru or rnn.
    Results: y, y_h and, for an lstm, y_c.

    Constraints: those of lstm, with recurrence_ before the number. recurrence_c8: cell is one of the three.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$r, Optional<NnTensor>:$hidden_bias, Optional<NnTensor>:$sequence_lens,
    Optional<NnTensor>:$initial_h, Optional<NnTensor>:$initial_c, Optional<NnTensor>:$p, NnStr<"lstm">:$cell, NnStr<"forward">:$direction,
    NnStr<"">:$activations, NnF64s<>:$activation_alpha, NnF64s<>:$activation_beta,
    NnF64<"std::numeric_limits<double>::infinity()">:$clip, NnBool<"false">:$input_forget, NnBool<"false">:$linear_before_reset);
  let results = (outs Variadic<NnTensor>:$states);
  let inferFunction = "inferRecurrent";
  let referenceFunction = "runRecurrent";
  let lowering = "recurrent";
  let flops = "product(out[0]->dims) * in[1]->dims[1] * 2";
  let tolerance = "1e-5";
  let benchmarkAxes = ["steps", "batch", "hidden", "direction"];
}
