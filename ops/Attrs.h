// Attribute structs: an operator's static parameters as plain data, outside any IR.
//
// dev/gen_ops.py writes one struct per operator record (ops/Attrs.inc). The same struct is what shape functions,
// references, lowerings and the plan's reference calls see. `visit` enumerates its fields, from which every other form
// (MLIR attributes, flexbuffers in a plan, JSON, text) is derived.
#pragma once

#include "support/ElementType.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace lathe {

/// Sees each field of an attribute struct by name and may read or write it.
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
  /// The same operator's attributes at their defaults.
  virtual std::unique_ptr<Attrs> defaults() const = 0;
};

/// Binary form stored in a plan (a flexbuffers map); `decodeAttrs` throws Error on malformed bytes and keeps the
/// default for a field that is not there.
std::vector<uint8_t> encodeAttrs(Attrs &attrs);
void decodeAttrs(const std::vector<uint8_t> &bytes, Attrs &attrs);

/// "strides=[2, 2], group=1" for messages and listings; fields at their default are left out.
std::string describe(const Attrs &attrs);

} // namespace lathe

#include "ops/Attrs.inc"
