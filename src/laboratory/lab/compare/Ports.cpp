#include "lab/compare/Ports.h"

#include <algorithm>
#include <cstring>

namespace lathe::lab {
namespace {

/// The number in an extent's text; nothing for the name of a symbol.
std::optional<int64_t> extentOf(const std::string &dim) {
  char *end = nullptr;
  int64_t extent = std::strtoll(dim.c_str(), &end, 10);
  return dim.empty() || *end != 0 || extent < 0 ? std::nullopt : std::optional(extent);
}

bool meets(const std::vector<std::string> &dims, const std::vector<size_t> &permutation, const RunnerPort &port) {
  for (size_t i = 0; i < port.dims.size(); ++i) {
    auto have = extentOf(dims[permutation.empty() ? i : permutation[i]]), want = extentOf(port.dims[i]);
    if (have && want && *have != *want)
      return false;
  }
  return true;
}

bool sameType(const RunnerPort &one, const RunnerPort &other) {
  return one.type == other.type || one.type.empty() || other.type.empty();
}

} // namespace

PortFit fitOf(const RunnerPort &tensor, const RunnerPort &port) {
  if (!tensor.ranked || !port.ranked)
    return {true, {}};
  size_t rank = tensor.dims.size();
  if (rank != port.dims.size())
    return {};
  if (meets(tensor.dims, {}, port))
    return {true, {}};
  if (rank < 3)
    return {};
  std::vector<size_t> toFirst{0, rank - 1}, toLast{0};
  for (size_t axis = 1; axis + 1 < rank; ++axis) {
    toFirst.push_back(axis);
    toLast.push_back(axis + 1);
  }
  toLast.push_back(1);
  for (auto &permutation : {toFirst, toLast})
    if (meets(tensor.dims, permutation, port))
      return {true, permutation};
  return {};
}

std::vector<std::optional<size_t>> pairPorts(const std::vector<RunnerPort> &ours,
                                             const std::vector<RunnerPort> &theirs) {
  std::vector<std::optional<size_t>> pairs(theirs.size());
  std::vector<bool> taken(ours.size());
  auto take = [&](size_t port, auto &&suits) {
    for (size_t i = 0; i < ours.size() && !pairs[port]; ++i)
      if (!taken[i] && sameType(ours[i], theirs[port]) && suits(ours[i])) {
        taken[i] = true;
        pairs[port] = i;
      }
  };
  for (size_t i = 0; i < theirs.size(); ++i)
    take(i, [&](const RunnerPort &port) { return port.name == theirs[i].name; });
  for (bool permuted : {false, true}) // a port of the same layout comes first
    for (size_t i = 0; i < theirs.size(); ++i)
      take(i, [&](const RunnerPort &port) {
        PortFit fit = fitOf(port, theirs[i]);
        return fit.fits && fit.permutation.empty() != permuted;
      });
  return pairs;
}

RunnerPort portOf(const std::string &name, const Tensor &tensor) {
  RunnerPort port{name, std::string(lathe::name(tensor.type())), {}};
  for (int64_t extent : tensor.dims())
    port.dims.push_back(std::to_string(extent));
  return port;
}

Tensor transposed(const Tensor &tensor, const std::vector<size_t> &permutation) {
  size_t rank = permutation.size(), width = bitWidth(tensor.type()) / 8;
  require(rank == tensor.dims().size() && width > 0, "cannot transpose a tensor of {}", lathe::name(tensor.type()));
  std::vector<int64_t> dims(rank), strides(rank, 1), steps(rank), place(rank);
  for (size_t axis = rank - 1; axis-- > 0;)
    strides[axis] = strides[axis + 1] * tensor.dims()[axis + 1];
  for (size_t i = 0; i < rank; ++i) {
    dims[i] = tensor.dims()[permutation[i]];
    steps[i] = strides[permutation[i]];
  }
  Tensor result(tensor.type(), dims);
  auto *to = static_cast<char *>(result.data());
  const auto *from = static_cast<const char *>(tensor.data());
  int64_t at = 0;
  for (int64_t element = 0; element < result.elements(); ++element, to += width) {
    std::memcpy(to, from + at * int64_t(width), width);
    for (size_t axis = rank; axis-- > 0;) {
      at += steps[axis];
      if (++place[axis] < dims[axis])
        break;
      at -= steps[axis] * dims[axis];
      place[axis] = 0;
    }
  }
  return result;
}

std::string extentsText(const RunnerPort &port) {
  return !port.ranked ? "of any rank" : port.dims.empty() ? "scalar" : fmt::format("{}", fmt::join(port.dims, "x"));
}

std::string portText(const RunnerPort &port) {
  return fmt::format("{} {} {}", port.name, port.type.empty() ? "of any type" : port.type, extentsText(port));
}

std::string portsText(const std::vector<RunnerPort> &ports) {
  std::vector<std::string> texts;
  std::transform(ports.begin(), ports.end(), std::back_inserter(texts), portText);
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

} // namespace lathe::lab
