// Types, attributes and structural operations of the nn dialect. The operators are in ops/.
#ifndef LATHE_IR_NN
#define LATHE_IR_NN

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "ops/Base.td"

def Nn_StringType : TypeDef<NnDialect, "String"> {
  let mnemonic = "string";
  let summary = "element type of tensors of text";
}

// A value that is not a tensor has the type of a scalar with one of these as its element type. So code that asks for a
// tensor type finds one.
def Nn_SequenceType : TypeDef<NnDialect, "Sequence"> {
  let mnemonic = "sequence";
  let summary = "a list of tensors of one element type";
  let description = [{
    `tensor<!nn.sequence<tensor<?x5xf32>>>` is a sequence of tensors of rank 2. `!nn.sequence<tensor<*xf32>>`: their rank is not
    known. `!nn.sequence<f32>`: there are no tensors yet, so nothing is known of them.
  }];
  let parameters = (ins "::mlir::Type":$items);
  let assemblyFormat = "`<` $items `>`";
}

def Nn_OptionalType : TypeDef<NnDialect, "Optional"> {
  let mnemonic = "optional";
  let summary = "a tensor or a sequence, or nothing";
  let description = [{
    The parameter is a tensor type or `!nn.sequence`; `!nn.optional<f32>`: it never holds anything.
  }];
  let parameters = (ins "::mlir::Type":$held);
  let assemblyFormat = "`<` $held `>`";
}

def Nn_BlockedAttr : AttrDef<NnDialect, "Blocked"> {
  let mnemonic = "blocked";
  let summary = "layout encoding: one axis split, its inner part innermost in memory";
  let description = [{
    `tensor<1x64x56x56xf32, #nn.blocked<1, 16>>` is stored as 1 x ceil(64/16) x 56 x 56 x 16. Elements of the last block beyond
    the extent are unspecified and must not reach a result. Extents stay logical: shape functions and references never see
    the fifth dimension. A tensor without an encoding is row-major.
  }];
  let parameters = (ins "int64_t":$axis, "int64_t":$size);
  let assemblyFormat = "`<` $axis `,` $size `>`";
}

// Structural operations: no record, no reference.
class Nn_StructuralOp<string mnemonic, list<Trait> traits = []> : Op<NnDialect, mnemonic, !listconcat([Pure], traits)>;

def Nn_ConstantOp : Nn_StructuralOp<"constant", [ConstantLike]> {
  let summary = "a weight or other constant; large ones are dense resources";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs NnTensor:$output);
  let assemblyFormat = "attr-dict `:` type($output)";
  let hasFolder = 1;
}

def Nn_ConvertLayoutOp : Nn_StructuralOp<"convert_layout"> {
  let summary = "the same logical tensor in another layout";
  let arguments = (ins NnTensor:$input);
  let results = (outs NnTensor:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
}

// Control flow. A body is a module of its own inside the module, with a function @main: passes, the interpreter and the
// plan treat it like a model. It sees no value around it but its arguments.
def Nn_IfOp : Nn_StructuralOp<"if", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs one of two bodies";
  let description = [{
    `@main` of both bodies takes the captured values and returns the results. Extents of a result that differ between the
    bodies are `?`.
  }];
  let arguments = (ins NnTensor:$condition, Variadic<NnTensor>:$captured, FlatSymbolRefAttr:$then_body,
                       FlatSymbolRefAttr:$else_body);
  let results = (outs Variadic<NnTensor>:$results);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_LoopOp : Nn_StructuralOp<"loop", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a body while its condition holds, at most trip_count times";
  let description = [{
    ONNX's Loop. The first `carried` values are those before the first iteration, the others are captured. `@main` of the
    body takes the iteration number (i64, rank 0), the condition (i1, rank 0), the carried and the captured values, and
    returns the condition, the carried values and the scanned values. Results are the carried values after the last
    iteration, then the scanned values of all iterations along a new axis 0.
  }];
  let arguments = (ins NnTensor:$trip_count, NnTensor:$condition, Variadic<NnTensor>:$values, FlatSymbolRefAttr:$body,
                       NnI64<"0">:$carried);
  let results = (outs Variadic<NnTensor>:$results);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif
