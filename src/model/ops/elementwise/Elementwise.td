include "ops/Base.td"

// y[i] = f(x[i]), the same type in and out. Constraint unary_c1: the element type is one f is defined for: floating-point
// (Nn_Unary), any number (Nn_NumberUnary).
class Nn_Unary<string mnemonic, string onnxOp, list<Mapping> others = []> : NnOp<mnemonic> {
  let description = [{
    Constraints: unary_c1: x is floating-point.
  }];
  let arguments = (ins NnTensor:$x);
  let results = (outs NnTensor:$y);
  let mappings = !listconcat([Onnx<onnxOp>], others);
  let inferFunction = "inferFloatUnary";
  let lowering = "elementwise";
  let benchmarkAxes = ["shape"];
}
class Nn_NumberUnary<string mnemonic, string onnxOp, list<Mapping> others = []> : Nn_Unary<mnemonic, onnxOp, others> {
  let description = [{
    Constraints: unary_c1: x has numbers.
  }];
  let inferFunction = "inferNumberUnary";
}

def Nn_ReluOp : Nn_NumberUnary<"relu", "Relu", [TensorFlow<["Relu"], ["RELU"]>]> {
  let summary = "max(x, 0); NaN stays NaN";
}

def Nn_LeakyReluOp : Nn_Unary<"leaky_relu", "LeakyRelu"> {
  let summary = "x for x >= 0, alpha * x below";
  let arguments = (ins NnTensor:$x, NnF64<"0.01">:$alpha);
}

def Nn_EluOp : Nn_Unary<"elu", "Elu", [TensorFlow<["Elu"], ["ELU"]>]> {
  let summary = "x for x >= 0, alpha * (exp(x) - 1) below";
  let arguments = (ins NnTensor:$x, NnF64<"1.0">:$alpha);
}

def Nn_SeluOp : Nn_Unary<"selu", "Selu", [TensorFlow<["Selu"]>]> {
  let summary = "gamma * x for x > 0, gamma * alpha * (exp(x) - 1) below";
  let arguments = (ins NnTensor:$x, NnF64<"1.67326319217681884765625">:$alpha, NnF64<"1.05070102214813232421875">:$gamma);
}

def Nn_CeluOp : Nn_Unary<"celu", "Celu"> {
  let summary = "max(0, x) + min(0, alpha * (exp(x / alpha) - 1))";
  let arguments = (ins NnTensor:$x, NnF64<"1.0">:$alpha);
}

def Nn_ThresholdedReluOp : Nn_Unary<"thresholded_relu", "ThresholdedRelu"> {
  let summary = "x for x > alpha, 0 below";
  let arguments = (ins NnTensor:$x, NnF64<"1.0">:$alpha);
}

def Nn_SigmoidOp : Nn_Unary<"sigmoid", "Sigmoid", [TensorFlow<["Sigmoid"], ["LOGISTIC", "STABLEHLO_LOGISTIC"]>]> {
  let summary = "1 / (1 + exp(-x))";
}

def Nn_TanhOp : Nn_Unary<"tanh", "Tanh", [TensorFlow<["Tanh"], ["TANH", "STABLEHLO_TANH"]>]> {
  let summary = "hyperbolic tangent";
}

def Nn_ExpOp : Nn_Unary<"exp", "Exp", [
    TensorFlow<["Exp"], ["EXP", "STABLEHLO_EXPONENTIAL"]>, Keras<["ops.Exp", "tf.math.exp"]>]> {
  let summary = "e to the power of x";
}

def Nn_LogOp : Nn_Unary<"log", "Log", [
    TensorFlow<["Log"], ["LOG", "STABLEHLO_LOG"]>, Keras<["ops.Log", "tf.math.log"]>]> {
  let summary = "natural logarithm";
}

def Nn_SqrtOp : Nn_Unary<"sqrt", "Sqrt", [TensorFlow<["Sqrt"], ["SQRT"]>, Keras<["ops.Sqrt", "tf.math.sqrt"]>]> {
  let summary = "square root; NaN below zero";
}

def Nn_NegOp : Nn_NumberUnary<"neg", "Neg", [
    TensorFlow<["Neg"], ["NEG", "STABLEHLO_NEGATE"]>, Keras<["ops.Negative", "tf.math.negative"]>]> {
  let summary = "-x";
  let inferFunction = "";
}

def Nn_AbsOp : Nn_NumberUnary<"abs", "Abs", [
    TensorFlow<["Abs"], ["ABS", "STABLEHLO_ABS"]>, Keras<["ops.Absolute", "tf.math.abs"]>]> {
  let summary = "|x|";
}

def Nn_FloorOp : Nn_Unary<"floor", "Floor", [
    TensorFlow<["Floor"], ["FLOOR", "STABLEHLO_FLOOR"]>, Keras<["ops.Floor", "tf.math.floor"]>]> {
  let summary = "greatest whole number not above x";
}

def Nn_CeilOp : Nn_Unary<"ceil", "Ceil", [TensorFlow<["Ceil"], ["CEIL"]>, Keras<["ops.Ceil", "tf.math.ceil"]>]> {
  let summary = "least whole number not below x";
}

def Nn_RoundOp : Nn_Unary<"round", "Round", [TensorFlow<["Rint"], ["ROUND"]>]> {
  let summary = "nearest whole number, halves to even";
}

def Nn_ErfOp : Nn_Unary<"erf", "Erf", [TensorFlow<["Erf"]>, Keras<["ops.Erf", "tf.math.erf"]>]> {
  let summary = "error function";
}

def Nn_ReciprocalOp : Nn_Unary<"reciprocal", "Reciprocal", [
    TensorFlow<["Inv", "Reciprocal"]>, Keras<["ops.Reciprocal", "tf.math.reciprocal"]>]> {
  let summary = "1 / x";
}

def Nn_SignOp : Nn_NumberUnary<"sign", "Sign", [TensorFlow<["Sign"], ["SIGN"]>, Keras<["ops.Sign", "tf.math.sign"]>]> {
  let summary = "-1, 0 or 1";
}

def Nn_SoftplusOp : Nn_Unary<"softplus", "Softplus", [TensorFlow<["Softplus"]>]> {
  let summary = "log(1 + exp(x))";
}

def Nn_SoftsignOp : Nn_Unary<"softsign", "Softsign", [TensorFlow<["Softsign"]>]> {
  let summary = "x / (1 + |x|)";
}

def Nn_HardSigmoidOp : Nn_Unary<"hard_sigmoid", "HardSigmoid"> {
  let summary = "max(0, min(1, alpha * x + beta))";
  let arguments = (ins NnTensor:$x, NnF64<"0.2">:$alpha, NnF64<"0.5">:$beta);
}

def Nn_HardSwishOp : Nn_Unary<"hard_swish", "HardSwish", [Tflite<["HARD_SWISH"]>]> {
  let summary = "x * max(0, min(1, x / 6 + 0.5))";
}

def Nn_MishOp : Nn_Unary<"mish", "Mish"> {
  let summary = "x * tanh(softplus(x))";
}

def Nn_SinOp : Nn_Unary<"sin", "Sin", [TensorFlow<["Sin"], ["SIN"]>, Keras<["ops.Sin", "tf.math.sin"]>]> {
  let summary = "sine";
}

def Nn_CosOp : Nn_Unary<"cos", "Cos", [
    TensorFlow<["Cos"], ["COS", "STABLEHLO_COSINE"]>, Keras<["ops.Cos", "tf.math.cos"]>]> {
  let summary = "cosine";
}

def Nn_AtanOp : Nn_Unary<"atan", "Atan", [TensorFlow<["Atan"]>]> {
  let summary = "arc tangent";
}

def Nn_TanOp : Nn_Unary<"tan", "Tan", [TensorFlow<["Tan"]>]> {
  let summary = "tangent";
}

def Nn_AsinOp : Nn_Unary<"asin", "Asin", [TensorFlow<["Asin"]>]> {
  let summary = "arc sine; NaN outside [-1, 1]";
}

def Nn_AcosOp : Nn_Unary<"acos", "Acos", [TensorFlow<["Acos"]>]> {
  let summary = "arc cosine; NaN outside [-1, 1]";
}

def Nn_SinhOp : Nn_Unary<"sinh", "Sinh", [TensorFlow<["Sinh"]>]> {
  let summary = "hyperbolic sine";
}

def Nn_CoshOp : Nn_Unary<"cosh", "Cosh", [TensorFlow<["Cosh"]>]> {
  let summary = "hyperbolic cosine";
}

def Nn_AsinhOp : Nn_Unary<"asinh", "Asinh", [TensorFlow<["Asinh"]>]> {
  let summary = "inverse hyperbolic sine";
}

def Nn_AcoshOp : Nn_Unary<"acosh", "Acosh", [TensorFlow<["Acosh"]>]> {
  let summary = "inverse hyperbolic cosine; NaN below 1";
}

def Nn_AtanhOp : Nn_Unary<"atanh", "Atanh", [TensorFlow<["Atanh"]>]> {
  let summary = "inverse hyperbolic tangent; NaN outside [-1, 1]";
}

def Nn_SwishOp : Nn_Unary<"swish", "Swish"> {
  let summary = "x / (1 + exp(-alpha * x))";
  let arguments = (ins NnTensor:$x, NnF64<"1.0">:$alpha);
  let mappings = [Onnx<"Swish", 24>];
}

def Nn_BitwiseNotOp : Nn_Unary<"bitwise_not", "BitwiseNot"> {
  let summary = "every bit inverted";
  let description = [{
    Constraints: bitwise_c1: x has integers.
  }];
  let mappings = [Onnx<"BitwiseNot", 18>, TensorFlow<["Invert"]>];
  let inferFunction = "inferBitwiseUnary";
}

def Nn_ShrinkOp : Nn_Unary<"shrink", "Shrink"> {
  let summary = "x + bias below -lambd, x - bias above lambd, 0 between";
  let arguments = (ins NnTensor:$x, NnF64<"0.0">:$bias, NnF64<"0.5">:$lambd);
}

def Nn_GeluOp : Nn_Unary<"gelu", "Gelu"> {
  let summary = "x times the normal distribution's cumulative function, exact or by tanh";
  let description = [{
    approximate is "none": 0.5 * x * (1 + erf(x / sqrt(2))), or "tanh": 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).

    Constraints: unary_c1: x is floating-point. gelu_c1: approximate is "none" or "tanh".
  }];
  let arguments = (ins NnTensor:$x, NnStr<"none">:$approximate);
  let inferFunction = "";
}

def Nn_NotOp : Nn_Unary<"not", "Not", [TensorFlow<["LogicalNot"], ["LOGICAL_NOT"]>]> {
  let summary = "logical negation";
  let description = [{
    Constraints: unary_c1: x is bool.
  }];
  let inferFunction = "inferLogicalUnary";
}

def Nn_IsNanOp : Nn_Unary<"is_nan", "IsNaN", [TensorFlow<["IsNan"]>]> {
  let summary = "whether x is not a number";
  let inferFunction = "inferFloatPredicate";
}

def Nn_IsInfOp : Nn_Unary<"is_inf", "IsInf"> {
  let summary = "whether x is infinite, for the selected signs";
  let arguments = (ins NnTensor:$x, NnBool<"true">:$detect_negative, NnBool<"true">:$detect_positive);
  let mappings = [Onnx<"IsInf", 10>, TensorFlow<["IsInf"]>];
  let inferFunction = "inferFloatPredicate";
}

def Nn_ClipOp : NnOp<"clip", [AttrSizedOperandSegments]> {
  let summary = "max(min(x, max), min)";
  let description = [{
    Constraints: clip_c1: min_in and max_in are scalars (one element) of x's type. clip_c2: x has numbers.
  }];
  let arguments = (ins NnTensor:$x, Optional<NnTensor>:$min_in, Optional<NnTensor>:$max_in,
    NnF64<"-std::numeric_limits<double>::infinity()">:$min, NnF64<"std::numeric_limits<double>::infinity()">:$max);
  let results = (outs NnTensor:$y);
  let staticOperands = [StaticOperand<"min_in", "min">, StaticOperand<"max_in", "max">];
  let mappings = [Onnx<"Clip", 6>];
  let lowering = "elementwise";
  let benchmarkAxes = ["shape"];
}

def Nn_CastOp : NnOp<"cast"> {
  let summary = "conversion to element type `to`; floating-point to integer truncates";
  let description = [{
    `saturate` says what becomes of values an 8-bit float cannot hold: its greatest finite value, or NaN/infinity.

    Constraints: cast_c1: `to` is given.
  }];
  let arguments = (ins NnTensor:$x, NnElementType:$to, NnBool<"true">:$saturate);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"Cast", 6>, Onnx<"CastLike", 15, 1000, 0>];
  let lowering = "elementwise";
  let benchmarkAxes = ["shape"];
}

// y[i] = f(a[i], b[i]) with NumPy broadcasting; operands and result of one type.
class Nn_Binary<string mnemonic, string onnxOp, list<Mapping> others = []> : NnOp<mnemonic> {
  let description = [{
    Constraints: binary_c1: a and b have one element type. binary_c2: they broadcast. binary_c3: they have numbers.
  }];
  let arguments = (ins NnTensor:$a, NnTensor:$b);
  let results = (outs NnTensor:$y);
  let mappings = !listconcat([Onnx<onnxOp, 7>], others);
  let lowering = "elementwise";
  let benchmarkAxes = ["shape", "shape2"];
}

def Nn_AddOp : Nn_Binary<"add", "Add"> {
  let summary = "a + b";
  let mappings = [Onnx<"Add", 7>, Onnx<"Sum", 6, 1000, 0>, Onnx<"Mean", 6, 1000, 0>,
    TensorFlow<["Add", "AddV2"], ["STABLEHLO_ADD"]>, Keras<["ops.Add", "tf.math.add", "tf.__operators__.add"]>];
}

def Nn_SubOp : Nn_Binary<"sub", "Sub", [
    TensorFlow<["Sub"], ["STABLEHLO_SUBTRACT"]>, Keras<["ops.Subtract", "tf.math.subtract", "tf.__operators__.sub"]>]> {
  let summary = "a - b";
}

def Nn_MulOp : Nn_Binary<"mul", "Mul", [
    TensorFlow<["Mul"], ["STABLEHLO_MULTIPLY"]>, Keras<["ops.Multiply", "tf.math.multiply", "tf.__operators__.mul"]>]> {
  let summary = "a * b";
}

def Nn_DivOp : Nn_Binary<"div", "Div", [
    TensorFlow<["Div", "RealDiv", "TruncateDiv"], ["STABLEHLO_DIVIDE"]>,
    Keras<["ops.Divide", "ops.TrueDivide", "tf.math.divide", "tf.math.truediv", "tf.__operators__.truediv"]>]> {
  let summary = "a / b; integers truncate towards zero";
}

def Nn_PowOp : Nn_Binary<"pow", "Pow"> {
  let summary = "a to the power of b";
  let mappings = [Onnx<"Pow", 7, 11>, Onnx<"Pow", 12, 1000, 0>,
    TensorFlow<["Pow"], ["POW", "STABLEHLO_POWER"]>, Keras<["ops.Power", "tf.math.pow"]>];
}

def Nn_MaxOp : Nn_Binary<"max", "Max"> {
  let summary = "maximum of a and b; NaN if either is NaN";
  let mappings = [Onnx<"Max", 6, 1000, 0>,
    TensorFlow<["Maximum"], ["MAXIMUM", "STABLEHLO_MAXIMUM"]>, Keras<["ops.Maximum", "tf.math.maximum"]>];
}

def Nn_MinOp : Nn_Binary<"min", "Min"> {
  let summary = "minimum of a and b; NaN if either is NaN";
  let mappings = [Onnx<"Min", 6, 1000, 0>,
    TensorFlow<["Minimum"], ["MINIMUM", "STABLEHLO_MINIMUM"]>, Keras<["ops.Minimum", "tf.math.minimum"]>];
}

def Nn_ModOp : Nn_Binary<"mod", "Mod"> {
  let summary = "remainder with the sign of b or, with fmod, of a";
  let description = [{
    Constraints: those of add. mod_c1: floating-point operands need fmod.
  }];
  let arguments = (ins NnTensor:$a, NnTensor:$b, NnBool<"false">:$fmod);
  let mappings = [Onnx<"Mod", 10>];
}

def Nn_PreluOp : NnOp<"prelu"> {
  let summary = "x for x >= 0, slope * x below";
  let description = [{
    Constraints: binary_c1 to binary_c3. prelu_c1: slope broadcasts to the shape of x.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$slope);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"PRelu", 7>, Tflite<["PRELU"]>];
  let lowering = "elementwise";
  let benchmarkAxes = ["shape", "shape2"];
}

// y[i] = a[i] ? b[i] as bool.
class Nn_Comparison<string mnemonic, string onnxOp, int since, list<Mapping> others> : Nn_Binary<mnemonic, onnxOp> {
  let mappings = !listconcat([Onnx<onnxOp, since>], others);
  let inferFunction = "inferComparison";
}

def Nn_EqualOp : Nn_Comparison<"equal", "Equal", 7, [TensorFlow<["Equal"], ["EQUAL"]>]> {
  let summary = "a == b; NaN equals nothing";
  let description = [{
    Constraints: binary_c1: a and b have one element type (any). binary_c2: they broadcast.
  }];
  let inferFunction = "";
}

def Nn_LessOp : Nn_Comparison<"less", "Less", 7, [TensorFlow<["Less"], ["LESS"]>]> {
  let summary = "a < b";
}

def Nn_LessEqualOp : Nn_Comparison<"less_equal", "LessOrEqual", 12, [TensorFlow<["LessEqual"], ["LESS_EQUAL"]>]> {
  let summary = "a <= b";
}

def Nn_GreaterOp : Nn_Comparison<"greater", "Greater", 7, [TensorFlow<["Greater"], ["GREATER"]>]> {
  let summary = "a > b";
}

def Nn_GreaterEqualOp : Nn_Comparison<"greater_equal", "GreaterOrEqual", 12, [
    TensorFlow<["GreaterEqual"], ["GREATER_EQUAL"]>]> {
  let summary = "a >= b";
}

class Nn_Logical<string mnemonic, string onnxOp, list<Mapping> others> : Nn_Binary<mnemonic, onnxOp, others> {
  let description = [{
    Constraints: binary_c2: a and b broadcast. binary_c3: they are bool.
  }];
  let inferFunction = "inferLogical";
}

def Nn_AndOp : Nn_Logical<"and", "And", [TensorFlow<["LogicalAnd"], ["LOGICAL_AND"]>]> {
  let summary = "both a and b";
}

def Nn_OrOp : Nn_Logical<"or", "Or", [TensorFlow<["LogicalOr"], ["LOGICAL_OR"]>]> {
  let summary = "a or b or both";
}

def Nn_XorOp : Nn_Logical<"xor", "Xor", [TensorFlow<["LogicalXor"]>]> {
  let summary = "either a or b";
}

class Nn_Bitwise<string mnemonic, string onnxOp, list<Mapping> others> : Nn_Binary<mnemonic, onnxOp> {
  let description = [{
    Constraints: binary_c1: a and b have one element type. binary_c2: they broadcast. bitwise_c1: they have integers.
  }];
  let mappings = !listconcat([Onnx<onnxOp, 18>], others);
  let inferFunction = "inferBitwise";
}

def Nn_BitwiseAndOp : Nn_Bitwise<"bitwise_and", "BitwiseAnd", [TensorFlow<["BitwiseAnd"]>]> {
  let summary = "bits set in both a and b";
}

def Nn_BitwiseOrOp : Nn_Bitwise<"bitwise_or", "BitwiseOr", [TensorFlow<["BitwiseOr"]>]> {
  let summary = "bits set in a or b or both";
}

def Nn_BitwiseXorOp : Nn_Bitwise<"bitwise_xor", "BitwiseXor", [TensorFlow<["BitwiseXor"], ["BITWISE_XOR"]>]> {
  let summary = "bits set in either a or b";
}

def Nn_BitShiftOp : Nn_Binary<"bit_shift", "BitShift"> {
  let summary = "a shifted by b bits; 0 where b is at least the width";
  let description = [{
    Constraints: binary_c1: a and b have one element type. binary_c2: they broadcast. bit_shift_c1: they are unsigned.
    bit_shift_c2: direction is "LEFT" or "RIGHT".
  }];
  let arguments = (ins NnTensor:$a, NnTensor:$b, NnStr<"LEFT">:$direction);
  let mappings = [Onnx<"BitShift", 11>];
}

def Nn_WhereOp : NnOp<"where"> {
  let summary = "a where the condition holds, otherwise b";
  let description = [{
    Constraints: where_c1: cond is bool. where_c2: a and b have one element type. where_c3: the three broadcast.
  }];
  let arguments = (ins NnTensor:$cond, NnTensor:$a, NnTensor:$b);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"Where", 9>];
  let lowering = "elementwise";
  let benchmarkAxes = ["shape"];
}
