include "ops/Base.td"

// y[i] = f(x[i]); the same type in and out.
class Nn_Unary<string mnemonic, string onnxOp, list<Trait> traits = []> : NnOp<mnemonic, traits> {
  let arguments = (ins NnTensor:$x);
  let results = (outs NnTensor:$y);
  let onnx = [Onnx<onnxOp>];
  let inferFunction = "inferUnary";
  let lowering = "elementwise";
  let benchmarkAxes = ["shape"];
}

def Nn_ReluOp : Nn_Unary<"relu", "Relu"> {
  let summary = "max(x, 0)";
}

def Nn_LeakyReluOp : Nn_Unary<"leaky_relu", "LeakyRelu"> {
  let summary = "x for x >= 0, alpha * x below";
  let arguments = (ins NnTensor:$x, NnF64<"0.01">:$alpha);
}

// y[i] = f(a[i], b[i]) with NumPy broadcasting; operands and result of one type.
class Nn_Binary<string mnemonic, string onnxOp> : NnOp<mnemonic> {
  let arguments = (ins NnTensor:$a, NnTensor:$b);
  let results = (outs NnTensor:$y);
  let onnx = [Onnx<onnxOp>];
  let inferFunction = "inferBinary";
  let lowering = "elementwise";
  let benchmarkAxes = ["shape", "shape2"];
}

def Nn_AddOp : Nn_Binary<"add", "Add"> {
  let summary = "a + b with broadcasting";
}
