// The operator records (from ops/*/*.td) as plain data, for all rooms outside the compiler.
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
  /// Attribute of the operator that takes this operand's value if the value is constant; "": none.
  const char *staticAttribute;
};

struct AttrRecord {
  const char *name;
  const char *kind; // "int64", "double", "bool", "string", "int64s", "doubles", "type"
  const char *defaultText;
};

/// An operator of a source format that the importers turn into this operator, or into several operators including this
/// one.
struct FormatMapping {
  const char *format; // name of the source format, such as "onnx"
  const char *op;
  int since, until; // first and last version of the format's operator set (ONNX: opset) with this mapping
  bool direct;      // a node becomes exactly this operator: operands in the same order, attributes by name
  std::span<const char *const> renames; // attributes that the format calls by another name: "format_name=field"

  /// The name that the source format has for the attribute `field` of the record.
  std::string attribute(std::string_view field) const;
};

struct OpRecord {
  const char *name;    // mnemonic of the operator without the dialect, such as "conv"
  const char *family;  // folder under ops/
  const char *summary; // one line about the operator
  const char *lowering;
  double tolerance;
  std::span<const OperandRecord> operands;
  std::span<const char *const> results; // names of the results; a variadic result is the only result
  bool variadicResult;
  bool takesValues; // true: operands may be sequences and optionals, which the reference gets unchanged
  std::span<const AttrRecord> attrs;
  std::span<const FormatMapping> mappings; // mappings from the operators of all source formats
  std::span<const char *const> benchmarkAxes;

  std::unique_ptr<Attrs> (*makeAttrs)(); // makes the operator's attributes, with default values
  InferResult (*infer)(const Attrs &attrs, const InferInputs &in);
  /// Returns the number of operations of one evaluation; a multiply-accumulate counts as two. `in` and `out` as for
  /// `infer`.
  Dim (*flops)(const Attrs &attrs, const InferInputs &in, const InferInputs &out);

  /// True if some operator of the source format `format` is imported as this operator.
  bool isIn(std::string_view format) const;
  bool compiled() const { return std::string_view(lowering) != "reference"; }
};

/// The records of all operators, sorted by name.
std::span<const OpRecord> opRecords();
/// Returns the record of the operator called `name`, or null.
const OpRecord *findOp(std::string_view name);

/// An operator's record together with one of its mappings from a source format.
struct MappedOp {
  const OpRecord *record = nullptr;
  const FormatMapping *mapping = nullptr;
};
/// Returns all direct mappings from the operators of the source format `format`.
std::vector<MappedOp> mappings(std::string_view format);
/// Returns the mapping in `among` for the source operator `op` at `version` of the operator set; without a record if
/// there is none.
MappedOp findMapping(std::span<const MappedOp> among, std::string_view op, int64_t version);
/// Returns the direct mapping to `record` at `version` of the operator set of the source format `format`, or null.
const FormatMapping *mappingOf(const OpRecord &record, std::string_view format, int64_t version);

} // namespace lathe
