// The attributes that all reduction operators (reduce_*) have.
#pragma once

#include "ops/Attrs.h"

#include <string_view>
#include <vector>

namespace lathe {

/// Reads the attributes of a reduction: pass this object to the function `visit` of its attribute struct.
struct ReduceFields : AttrVisitor {
  std::vector<int64_t> axes;
  bool keepdims = true;
  bool noop = false; // noop_with_empty_axes: true if nothing is reduced when no axes are given
  using AttrVisitor::field;
  void field(const char *, int64_t &) override {}
  void field(const char *, double &) override {}
  void field(const char *name, bool &value) override {
    (std::string_view(name) == "keepdims" ? keepdims : noop) = value;
  }
  void field(const char *, std::string &) override {}
  void field(const char *, ElementType &) override {}
  void field(const char *, std::vector<int64_t> &value) override { axes = value; }
  void field(const char *, std::vector<double> &) override {}
};

} // namespace lathe
