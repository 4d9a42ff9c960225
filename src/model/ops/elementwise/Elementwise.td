include "ops/Base.td"

// y[i] = f(x[i]), the same type in and out. Constraint unary_c1: the element type is one f is defined for: floating-point
// (Nn_Unary), any number (Nn_NumberUnary).
class Nn_Unary<string mnemonic, string onnxOp, list<Trait> traits = []> : NnOp<mnemonic, traits> {
  let description = [{
    Constraints: unary_c1: x is floating-point.
  }];
  let arguments = (ins NnTensor:$x);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<onnxOp>];
  let inferFunction = "inferFloatUnary";
  let lowering = "elementwise";
  let benchmarkAxes = ["shape"];
}
class Nn_NumberUnary<string mnemonic, string onnxOp> : Nn_Unary<mnemonic, onnxOp> {
  let description = [{
    Constraints: unary_c1: x has numbers.
  }];
  let inferFunction = "inferNumberUnary";
}

def Nn_ReluOp : Nn_NumberUnary<"relu", "Relu"> {
  let summary = "max(x, 0); NaN stays NaN";
}

def Nn_LeakyReluOp : Nn_Unary<"leaky_relu", "LeakyRelu"> {
  let summary = "x for x >= 0, alpha * x below";
  let arguments = (ins NnTensor:$x, NnF64<"0.01">:$alpha);
}

def Nn_EluOp : Nn_Unary<"elu", "Elu"> {
  let summary = "x for x >= 0, alpha * (exp(x) - 1) below";
  let arguments = (ins NnTensor:$x, NnF64<"1.0">:$alpha);
}

def Nn_SeluOp : Nn_Unary<"selu", "Selu"> {
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

def Nn_SigmoidOp : Nn_Unary<"sigmoid", "Sigmoid"> {
  let summary = "1 / (1 + exp(-x))";
}

def Nn_TanhOp : Nn_Unary<"tanh", "Tanh"> {
  let summary = "hyperbolic tangent";
}

def Nn_ExpOp : Nn_Unary<"exp", "Exp"> {
  let summary = "e to the power of x";
}

def Nn_LogOp : Nn_Unary<"log", "Log"> {
  let summary = "natural logarithm";
}

def Nn_SqrtOp : Nn_Unary<"sqrt", "Sqrt"> {
  let summary = "square root; NaN below zero";
}

def Nn_NegOp : Nn_NumberUnary<"neg", "Neg"> {
  let summary = "-x";
  let inferFunction = "";
}

def Nn_AbsOp : Nn_NumberUnary<"abs", "Abs"> {
  let summary = "|x|";
}

def Nn_FloorOp : Nn_Unary<"floor", "Floor"> {
  let summary = "greatest whole number not above x";
}

def Nn_CeilOp : Nn_Unary<"ceil", "Ceil"> {
  let summary = "least whole number not below x";
}

def Nn_RoundOp : Nn_Unary<"round", "Round"> {
  let summary = "nearest whole number, halves to even";
}

def Nn_ErfOp : Nn_Unary<"erf", "Erf"> {
  let summary = "error function";
}

def Nn_ReciprocalOp : Nn_Unary<"reciprocal", "Reciprocal"> {
  let summary = "1 / x";
}

def Nn_SignOp : Nn_NumberUnary<"sign", "Sign"> {
  let summary = "-1, 0 or 1";
}

def Nn_SoftplusOp : Nn_Unary<"softplus", "Softplus"> {
  let summary = "log(1 + exp(x))";
}

def Nn_SoftsignOp : Nn_Unary<"softsign", "Softsign"> {
  let summary = "x / (1 + |x|)";
}

def Nn_HardSigmoidOp : Nn_Unary<"hard_sigmoid", "HardSigmoid"> {
  let summary = "max(0, min(1, alpha * x + beta))";
  let arguments = (ins NnTensor:$x, NnF64<"0.2">:$alpha, NnF64<"0.5">:$beta);
}

def Nn_HardSwishOp : Nn_Unary<"hard_swish", "HardSwish"> {
  let summary = "x * max(0, min(1, x / 6 + 0.5))";
}

def Nn_MishOp : Nn_Unary<"mish", "Mish"> {
  let summary = "x * tanh(softplus(x))";
}

def Nn_SinOp : Nn_Unary<"sin", "Sin"> {
  let summary = "sine";
}

def Nn_CosOp : Nn_Unary<"cos", "Cos"> {
  let summary = "cosine";
}

def Nn_AtanOp : Nn_Unary<"atan", "Atan"> {
  let summary = "arc tangent";
}

def Nn_TanOp : Nn_Unary<"tan", "Tan"> {
  let summary = "tangent";
}

def Nn_AsinOp : Nn_Unary<"asin", "Asin"> {
  let summary = "arc sine; NaN outside [-1, 1]";
}

def Nn_AcosOp : Nn_Unary<"acos", "Acos"> {
  let summary = "arc cosine; NaN outside [-1, 1]";
}

def Nn_SinhOp : Nn_Unary<"sinh", "Sinh"> {
  let summary = "hyperbolic sine";
}

def Nn_CoshOp : Nn_Unary<"cosh", "Cosh"> {
  let summary = "hyperbolic cosine";
}

def Nn_AsinhOp : Nn_Unary<"asinh", "Asinh"> {
  let summary = "inverse hyperbolic sine";
}

def Nn_AcoshOp : Nn_Unary<"acosh", "Acosh"> {
  let summary = "inverse hyperbolic cosine; NaN below 1";
}

def Nn_AtanhOp : Nn_Unary<"atanh", "Atanh"> {
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
  let mappings = [Onnx<"BitwiseNot", 18>];
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

def Nn_NotOp : Nn_Unary<"not", "Not"> {
  let summary = "logical negation";
  let description = [{
    Constraints: unary_c1: x is bool.
  }];
  let inferFunction = "inferLogicalUnary";
}

def Nn_IsNanOp : Nn_Unary<"is_nan", "IsNaN"> {
  let summary = "whether x is not a number";
  let inferFunction = "inferFloatPredicate";
}

def Nn_IsInfOp : Nn_Unary<"is_inf", "IsInf"> {
  let summary = "whether x is infinite, for the selected signs";
  let arguments = (ins NnTensor:$x, NnBool<"true">:$detect_negative, NnBool<"true">:$detect_positive);
  let mappings = [Onnx<"IsInf", 10>];
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
class Nn_Binary<string mnemonic, string onnxOp> : NnOp<mnemonic> {
  let description = [{
    Constraints: binary_c1: a and b have one element type. binary_c2: they broadcast. binary_c3: they have numbers.
  }];
  let arguments = (ins NnTensor:$a, NnTensor:$b);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<onnxOp, 7>];
  let lowering = "elementwise";
  let benchmarkAxes = ["shape", "shape2"];
}

def Nn_AddOp : Nn_Binary<"add", "Add"> {
  let summary = "a + b";
  let mappings = [Onnx<"Add", 7>, Onnx<"Sum", 6, 1000, 0>, Onnx<"Mean", 6, 1000, 0>];
}

def Nn_SubOp : Nn_Binary<"sub", "Sub"> {
  let summary = "a - b";
}

def Nn_MulOp : Nn_Binary<"mul", "Mul"> {
  let summary = "a * b";
}

def Nn_DivOp : Nn_Binary<"div", "Div"> {
  let summary = "a / b; integers truncate towards zero";
}

def Nn_PowOp : Nn_Binary<"pow", "Pow"> {
  let summary = "a to the power of b";
  let mappings = [Onnx<"Pow", 7, 11>, Onnx<"Pow", 12, 1000, 0>];
}

def Nn_MaxOp : Nn_Binary<"max", "Max"> {
  let summary = "maximum of a and b; NaN if either is NaN";
  let mappings = [Onnx<"Max", 6, 1000, 0>];
}

def Nn_MinOp : Nn_Binary<"min", "Min"> {
  let summary = "minimum of a and b; NaN if either is NaN";
  let mappings = [Onnx<"Min", 6, 1000, 0>];
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
  let mappings = [Onnx<"PRelu", 7>];
  let lowering = "elementwise";
  let benchmarkAxes = ["shape", "shape2"];
}

// y[i] = a[i] ? b[i] as bool.
class Nn_Comparison<string mnemonic, string onnxOp, int since = 7> : Nn_Binary<mnemonic, onnxOp> {
  let mappings = [Onnx<onnxOp, since>];
  let inferFunction = "inferComparison";
}

def Nn_EqualOp : Nn_Comparison<"equal", "Equal"> {
  let summary = "a == b; NaN equals nothing";
  let description = [{
    Constraints: binary_c1: a and b have one element type (any). binary_c2: they broadcast.
  }];
  let inferFunction = "";
}

def Nn_LessOp : Nn_Comparison<"less", "Less", 7> {
  let summary = "a < b";
}

def Nn_LessEqualOp : Nn_Comparison<"less_equal", "LessOrEqual", 12> {
  let summary = "a <= b";
}

def Nn_GreaterOp : Nn_Comparison<"greater", "Greater", 7> {
  let summary = "a > b";
}

def Nn_GreaterEqualOp : Nn_Comparison<"greater_equal", "GreaterOrEqual", 12> {
  let summary = "a >= b";
}

class Nn_Logical<string mnemonic, string onnxOp> : Nn_Binary<mnemonic, onnxOp> {
  let description = [{
    Constraints: binary_c2: a and b broadcast. binary_c3: they are bool.
  }];
  let inferFunction = "inferLogical";
}

def Nn_AndOp : Nn_Logical<"and", "And"> {
  let summary = "both a and b";
}

def Nn_OrOp : Nn_Logical<"or", "Or"> {
  let summary = "a or b or both";
}

def Nn_XorOp : Nn_Logical<"xor", "Xor"> {
  let summary = "either a or b";
}

class Nn_Bitwise<string mnemonic, string onnxOp> : Nn_Binary<mnemonic, onnxOp> {
  let description = [{
    Constraints: binary_c1: a and b have one element type. binary_c2: they broadcast. bitwise_c1: they have integers.
  }];
  let mappings = [Onnx<onnxOp, 18>];
  let inferFunction = "inferBitwise";
}

def Nn_BitwiseAndOp : Nn_Bitwise<"bitwise_and", "BitwiseAnd"> {
  let summary = "bits set in both a and b";
}

def Nn_BitwiseOrOp : Nn_Bitwise<"bitwise_or", "BitwiseOr"> {
  let summary = "bits set in a or b or both";
}

def Nn_BitwiseXorOp : Nn_Bitwise<"bitwise_xor", "BitwiseXor"> {
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
