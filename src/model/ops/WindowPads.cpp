#include "ops/WindowPads.h"

#include "support/Error.h"

#include <algorithm>
#include <string_view>

namespace lathe {
namespace {

int64_t ruleOf(const std::vector<int64_t> &pads, size_t axis, size_t spatial) {
  return pads.size() == 3 * spatial ? pads[2 * spatial + axis] : statedPads;
}

/// The part of a padding at the beginning of an axis.
Dim beginOf(const Dim &total, int64_t rule) { return rule == sameUpper ? floorDiv(total, 2) : ceilDiv(total, 2); }

/// The padding of both ends for the extent `in`: windows begin at multiples of the stride, and the last one is whole.
Dim totalPadding(const Dim &in, int64_t window, int64_t stride) {
  Dim beyond = ceilDiv(in, stride) * stride - in; // 0 to stride - 1
  Dim total = beyond + window - stride;
  return window < stride ? maximum(total, 0) : total;
}

int64_t leastBegin(int64_t window, int64_t stride, int64_t rule) {
  return beginOf(std::max<int64_t>(window - stride, 0), rule).constant();
}

/// `pads` for axes with the extents `in`: paddings of static extents become numbers.
std::vector<int64_t> settledPads(const std::vector<int64_t> &pads, const Dims &in, const std::vector<int64_t> &windows,
                                 const std::vector<int64_t> &strides) {
  size_t spatial = in.size();
  std::vector<int64_t> settled = pads;
  settled.resize(3 * spatial);
  bool follows = false;
  for (size_t i = 0; i < spatial; ++i) {
    int64_t &rule = settled[2 * spatial + i];
    if (rule != statedPads && in[i].isConstant()) {
      int64_t total = totalPadding(in[i], windows[i], strides[i]).constant();
      settled[i] = beginOf(total, rule).constant();
      settled[spatial + i] = total - settled[i];
      rule = statedPads;
    } else if (rule != statedPads && mostShift(settled, i, spatial, windows[i], strides[i]) == 0) {
      rule = statedPads; // only the end differs, beyond the last window
    }
    follows |= rule != statedPads;
  }
  settled.resize(follows ? 3 * spatial : 2 * spatial);
  return settled;
}

/// The attributes of an operator that belong to its window.
struct WindowFields : AttrVisitor {
  std::vector<int64_t> *pads = nullptr;
  std::vector<int64_t> kernel, strides, dilations;

  void field(const char *name, std::vector<int64_t> &value) override {
    std::string_view field = name;
    if (field == "pads")
      pads = &value;
    else if (field == "kernel")
      kernel = value;
    else if (field == "strides")
      strides = value;
    else if (field == "dilations")
      dilations = value;
  }
  void field(const char *, int64_t &) override {}
  void field(const char *, double &) override {}
  void field(const char *, bool &) override {}
  void field(const char *, std::string &) override {}
  void field(const char *, ElementType &) override {}
  void field(const char *, std::vector<double> &) override {}
};

} // namespace

bool hasFollowingPads(const std::vector<int64_t> &pads, size_t spatial) { return pads.size() > 2 * spatial; }

Dim windowShift(const std::vector<int64_t> &pads, size_t axis, size_t spatial, int64_t window, int64_t stride,
                const Dim &in) {
  int64_t rule = ruleOf(pads, axis, spatial);
  return rule == statedPads ? Dim(0) : Dim(pads[axis]) - beginOf(totalPadding(in, window, stride), rule);
}

int64_t mostShift(const std::vector<int64_t> &pads, size_t axis, size_t spatial, int64_t window, int64_t stride) {
  int64_t rule = ruleOf(pads, axis, spatial);
  return rule == statedPads ? 0 : pads[axis] - leastBegin(window, stride, rule);
}

std::vector<int64_t> samePads(const Dims &in, const std::vector<int64_t> &windows, const std::vector<int64_t> &strides,
                              SamePadding rule) {
  size_t spatial = in.size();
  std::vector<int64_t> pads(3 * spatial);
  for (size_t i = 0; i < spatial; ++i) {
    int64_t total = windows[i] - 1;
    pads[i] = beginOf(total, rule).constant();
    pads[spatial + i] = total - pads[i];
    pads[2 * spatial + i] = strides[i] > 1 ? rule : statedPads;
  }
  return settledPads(pads, in, windows, strides);
}

bool settlePads(Attrs &attrs, const Dims &x, const Dims &w) {
  WindowFields fields;
  attrs.visit(fields);
  size_t spatial = fields.strides.size();
  if (!fields.pads || spatial == 0 || !hasFollowingPads(*fields.pads, spatial) || x.size() != spatial + 2)
    return false;
  std::vector<int64_t> windows = fields.kernel;
  if (windows.empty() && w.size() == x.size() && allConstant(std::span(w).subspan(2)))
    windows = constants(std::span(w).subspan(2));
  if (windows.size() != spatial || fields.dilations.size() != spatial)
    return false;
  for (size_t i = 0; i < spatial; ++i)
    windows[i] = (windows[i] - 1) * fields.dilations[i] + 1;
  std::vector<int64_t> settled = settledPads(*fields.pads, Dims(x.begin() + 2, x.end()), windows, fields.strides);
  bool changed = settled != *fields.pads;
  *fields.pads = std::move(settled);
  return changed;
}

void checkPads(const char *constraint, const std::vector<int64_t> &pads, size_t spatial) {
  require(pads.size() == 2 * spatial || pads.size() == 3 * spatial, "{}: pads has {} values, expected {} or {}",
          constraint, pads.size(), 2 * spatial, 3 * spatial);
}

void checkFollowingPads(const char *constraint, const std::vector<int64_t> &pads, size_t axis, size_t spatial,
                        const Dim &window) {
  int64_t rule = ruleOf(pads, axis, spatial);
  require(rule == statedPads || rule == sameUpper || rule == sameLower,
          "{}: the third group of pads has the value {} for spatial axis {}, expected 0, 1 or -1", constraint, rule,
          axis);
  if (rule == statedPads)
    return;
  require(window.isConstant(), "{}: pads that follow the extent of a window {} that is not known", constraint,
          window.str());
  int64_t total = window.constant() - 1, begin = beginOf(total, rule).constant();
  require(pads[axis] == begin && pads[spatial + axis] == total - begin,
          "{}: pads [{}, {}] on spatial axis {}, expected [{}, {}] where they follow the extent", constraint,
          pads[axis], pads[spatial + axis], axis, begin, total - begin);
}

} // namespace lathe
