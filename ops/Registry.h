// The operator records as plain data, for all rooms outside the compiler.
#pragma once

#include "ops/Shape.h"

#include <span>
#include <string_view>

namespace lathe {

struct OperandRecord {
  const char *name;
  bool optional;
  bool variadic;
  /// Attribute that takes the value of this operand when it is constant; "": none.
  const char *staticAttribute;
};

struct AttrRecord {
  const char *name;
  const char *kind; // "int64", "double", "bool", "string", "int64s", "doubles", "type"
  const char *defaultText;
};

struct OnnxMapping {
  const char *op;
  int since, until; // opsets, inclusive
  bool direct;
  std::span<const char *const> renames; // "onnx_name=field"
};

struct OpRecord {
  const char *name;    // mnemonic without the dialect: "conv"
  const char *family;  // folder under ops/
  const char *summary; // one line
  const char *lowering;
  double tolerance;
  std::span<const OperandRecord> operands;
  std::span<const char *const> results; // names; a variadic result is the only result
  bool variadicResult;
  std::span<const AttrRecord> attrs;
  std::span<const OnnxMapping> onnx;
  std::span<const char *const> benchmarkAxes;

  std::unique_ptr<Attrs> (*makeAttrs)(); // with default values
  InferResult (*infer)(const Attrs &attrs, const InferInputs &in);
  /// Operations of one evaluation; a multiply-accumulate counts as two. `in` and `out` as for
  /// `infer`.
  Dim (*flops)(const Attrs &attrs, const InferInputs &in, const InferInputs &out);

  bool compiled() const { return std::string_view(lowering) != "reference"; }
};

/// All operators, sorted by name.
std::span<const OpRecord> opRecords();
/// Returns the record called `name`, or null.
const OpRecord *findOp(std::string_view name);

} // namespace lathe
