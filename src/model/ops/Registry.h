// The operator records as plain data, for all rooms outside the compiler.
#pragma once

#include "ops/Shape.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct OperandRecord {
  const char *name;
  bool optional;
  bool variadic;
  /// Attribute of the operator that gets this operand's value when the value is constant; "": there is none.
  const char *staticAttribute;
};

struct AttrRecord {
  const char *name;
  const char *kind; // "int64", "double", "bool", "string", "int64s", "doubles", "type"
  const char *defaultText;
};

/// An operator of a source format that is imported as this operator, or as several operators including this one.
struct FormatMapping {
  const char *format; // "onnx"
  const char *op;
  int since, until; // first and last version of the format's operator set (ONNX: opset) with this mapping
  bool direct;      // a node becomes this operator: operands in the same order, attributes by name
  std::span<const char *const> renames; // attributes with another name in the format: "format_name=field"

  /// Name of the record's attribute `field` in the format.
  std::string attribute(std::string_view field) const;
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
  bool takesValues; // operands may be sequences and optionals; the reference gets values unchanged
  std::span<const AttrRecord> attrs;
  std::span<const FormatMapping> mappings; // mappings of all formats
  std::span<const char *const> benchmarkAxes;

  std::unique_ptr<Attrs> (*makeAttrs)(); // makes the operator's attributes, with default values
  InferResult (*infer)(const Attrs &attrs, const InferInputs &in);
  /// Number of operations of one evaluation; a multiply-accumulate counts as two. `in` and `out` as for `infer`.
  Dim (*flops)(const Attrs &attrs, const InferInputs &in, const InferInputs &out);

  /// True if some operator of `format` is imported as this operator.
  bool isIn(std::string_view format) const;
  bool compiled() const { return std::string_view(lowering) != "reference"; }
};

/// The records of all operators, sorted by name.
std::span<const OpRecord> opRecords();
/// Returns the record called `name`, or null.
const OpRecord *findOp(std::string_view name);

/// An operator's record together with one of its mappings.
struct MappedOp {
  const OpRecord *record = nullptr;
  const FormatMapping *mapping = nullptr;
};
/// All direct mappings of the operators of `format`.
std::vector<MappedOp> mappings(std::string_view format);
/// Returns the mapping in `among` for operator `op` at `version` of the operator set; without a
/// record if there is none.
MappedOp findMapping(std::span<const MappedOp> among, std::string_view op, int64_t version);
/// Returns the direct mapping of `record` at `version` of the operator set of `format`, or null.
const FormatMapping *mappingOf(const OpRecord &record, std::string_view format, int64_t version);

} // namespace lathe
