// Attribute structs: the static parameters of operators as plain data, independent of MLIR.
//
// dev/gen_ops.py writes one struct per operator record (ops/Attrs.inc). Shape functions,
// references, lowerings and the plan's reference calls use the struct. `visit` enumerates its
// fields; every other form (MLIR attributes, flexbuffers in a plan, JSON, text) is derived from it.
#pragma once

#include "support/ElementType.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace lathe {

/// Receives each field of an attribute struct with its name, to read or write it.
class AttrVisitor {
public:
  virtual ~AttrVisitor() = default;
  virtual void field(const char *name, int64_t &value) = 0;
  virtual void field(const char *name, double &value) = 0;
  virtual void field(const char *name, bool &value) = 0;
  virtual void field(const char *name, std::string &value) = 0;
  virtual void field(const char *name, ElementType &value) = 0;
  virtual void field(const char *name, std::vector<int64_t> &value) = 0;
  virtual void field(const char *name, std::vector<double> &value) = 0;
};

struct Attrs {
  virtual ~Attrs() = default;
  virtual void visit(AttrVisitor &visitor) = 0;
  virtual std::unique_ptr<Attrs> clone() const = 0;
  /// Attributes of the same operator, all with default values.
  virtual std::unique_ptr<Attrs> defaults() const = 0;
};

/// Encode and decode an operator's attributes for plans, as a flexbuffers map. `decodeAttrs` throws Error for
/// malformed bytes and keeps the default of a missing field.
std::vector<uint8_t> encodeAttrs(Attrs &attrs);
void decodeAttrs(const std::vector<uint8_t> &bytes, Attrs &attrs);

/// Attributes as text for messages, "strides=[2, 2], group=1"; fields with default values are left out.
std::string describe(const Attrs &attrs);

} // namespace lathe

#include "ops/Attrs.inc"
