// The language operators are declared in: one record per operator, read by mlir-tblgen (the MLIR op) and, through
// `llvm-tblgen --dump-json`, by dev/gen_ops.py (attribute structs, registry, importer tables, documentation).
#ifndef LATHE_OPS_BASE
#define LATHE_OPS_BASE

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def NnDialect : Dialect {
  let name = "nn";
  let cppNamespace = "::lathe::nn";
  let summary = "Neural-network operators on logical tensors, ONNX's newest semantics without its history";
  let usePropertiesForAttributes = 0;
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

// ---- Types -------------------------------------------------------------------------------------------------------
// Element types are checked by the shape function (with numbered constraints), not here: one message for all.
def NnTensor : Type<CPred<"::llvm::isa<::mlir::TensorType>($_self)">, "tensor", "::mlir::TensorType">;

// ---- Attributes: the only kinds a record may use; each is a field of the generated struct --------------------------
class NnI64<string default> : DefaultValuedAttr<I64Attr, default>;                    // int64_t
class NnF64<string default> : DefaultValuedAttr<F64Attr, default>;                    // double
class NnBool<string default> : DefaultValuedAttr<BoolAttr, default>;                  // bool
class NnStr<string default> : DefaultValuedStrAttr<StrAttr, default>;                 // std::string
class NnI64s<string default = "{}"> : DefaultValuedAttr<DenseI64ArrayAttr, default>;  // std::vector<int64_t>
class NnF64s<string default = "{}"> : DefaultValuedAttr<DenseF64ArrayAttr, default>;  // std::vector<double>
def NnElementType : TypeAttrBase<"::mlir::Type", "element type">;                     // ElementType

// ---- Mappings from source formats ---------------------------------------------------------------------------------
// Operators of a source format that become this op, from version `since` of the format's operator set to `until`,
// both included. `direct`: operands in order, attributes by equal name (or `renames`, "format_name=field"), operands
// beyond a static one become attributes when constant. Otherwise the importer has a function of its own for it.
// A new format adds a class like Onnx; `formatName` is what mappings(format) of ops/Registry.h takes. `tflite`: the names
// of the same operators in TFLite.
class Mapping<string format, list<string> ops, list<string> tflite = [], int since = 0, int until = 0x7fffffff,
              bit direct = 1, list<string> renames = []> {
  string formatName = format;
  list<string> formatOps = ops;
  list<string> tfliteOps = tflite;
  int formatSince = since;
  int formatUntil = until;
  bit formatDirect = direct;
  list<string> formatRenames = renames;
}
class Onnx<string op, int since = 1, int until = 1000, bit direct = 1, list<string> renames = []>
    : Mapping<"onnx", [op], [], since, until, direct, renames>;
class TensorFlow<list<string> ops, list<string> tflite = []> : Mapping<"tensorflow", ops, tflite>;
class Tflite<list<string> ops> : Mapping<"tflite", ops>;
// Functions of keras.ops ("ops.Add") and of TensorFlow in Keras models ("tf.math.add").
class Keras<list<string> ops> : Mapping<"keras", ops>;

// An operand that is usually constant: where it is, pass `static-operands` moves its value into attribute `attribute`
// and drops the operand. While the operand is present the attribute is ignored.
class StaticOperand<string operand, string attribute> {
  string staticOperand = operand;
  string staticAttribute = attribute;
}

// Every op is verified by its shape function (ir/Verify.cpp), so a constraint is written once.
def ShapeVerified : NativeOpTrait<"ShapeVerified"> {
  let cppNamespace = "::lathe::nn";
}

// ---- The operator -------------------------------------------------------------------------------------------------
class NnOp<string mnemonic, list<Trait> traits = []> : Op<NnDialect, mnemonic, !listconcat([Pure, ShapeVerified], traits)> {
  // Operators of source formats that become this one.
  list<Mapping> mappings = [];
  list<StaticOperand> staticOperands = [];

  // Name of the shape function in Shape.cpp; empty means infer<CamelName>. Ops that share one name it here.
  string inferFunction = "";
  // Name of the reference in Reference.cpp; empty means run<CamelName>.
  string referenceFunction = "";

  // C++ expression (type Dim) for the operations of one evaluation; a multiply-accumulate counts as two, a bias and
  // taps in padding count nothing, as in benchdnn. In scope:
  // `a` (the attribute struct), `in` and `out` (TensorInfo pointers by position). Empty: one a result element.
  string flops = "";

  // How the operator is compiled: "elementwise" (scalar expression in Lower.cpp), a kernel family of codegen/
  // ("contraction", "pool", "reduction", "softmax", "movement", ...), "view" (no code: same bytes, other shape),
  // "fold" (always folded or decomposed by a pass before kernels are formed) or "reference" (never compiled).
  string lowering = "reference";

  // Judge's tolerance: relative L2 error of a float32 result against float64.
  string tolerance = "1e-6";

  // Operands and results may be sequences and optionals. The reference then gets the operands and results as they are: static
  // operands are not moved into attributes, and results are not allocated beforehand.
  bit takesValues = 0;

  // Axes a laboratory problem of this operator varies, in the order of its compact syntax.
  list<string> benchmarkAxes = [];

  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif
