#include "codegen/space/ContractionFacts.h"

#include "codegen/space/DirectPlan.h"
#include "codegen/space/GemmPlan.h"
#include "codegen/space/LanewisePlan.h"
#include "codegen/space/SeparablePlan.h"
#include "codegen/space/TilePlan.h"
#include "codegen/space/WinogradPlan.h"

namespace lathe {

double ConvGeometry::reached(int axis) const {
  double count = 0;
  for (int64_t tap = 0; tap < kernel[axis]; ++tap) {
    int64_t shift = tap * dilation[axis] - padBegin[axis];
    int64_t first = (std::max<int64_t>(0, -shift) + stride[axis] - 1) / stride[axis];
    int64_t end = (std::max<int64_t>(0, in[axis] - shift) + stride[axis] - 1) / stride[axis];
    count += double(std::max<int64_t>(0, std::min(end, out[axis]) - first));
  }
  return count;
}

bool ConvGeometry::pointwise() const {
  for (int i = 0; i < 3; ++i)
    if (kernel[i] != 1 || stride[i] != 1 || padBegin[i] != 0 || in[i] != out[i] || (open && open->padEnd[i] != 0))
      return false;
  return true;
}

bool ConvGeometry::padded() const {
  for (int i = 0; i < 3; ++i)
    if (padBegin[i] != 0 || (open && open->padEnd[i] != 0))
      return true;
  return false;
}

bool ConvGeometry::planar() const {
  return inExtent(0) == Dim(1) && outExtent(0) == Dim(1) && kernel[0] == 1 && padBegin[0] == 0;
}

bool ConvGeometry::mergesRows() const {
  if (open)
    return mergesOpenRows();
  if (pointwise())
    return true;
  for (int i = 0; i < 3; ++i)
    if (kernel[i] != 1 || padBegin[i] != 0 || (out[i] - 1) * stride[i] >= in[i])
      return false;
  return in[0] == 1 && out[0] == 1;
}

int64_t ConvGeometry::storedChannels() const {
  int64_t channels = groups * inChannels;
  return inBlock ? (channels + inBlock - 1) / inBlock * inBlock : channels;
}

int64_t ConvGeometry::inImageStride() const { return storedChannels() * inPixels(); }

int64_t convLanes(const Target &target, const ConvGeometry &conv) {
  return target.lanes(std::max(32u, bitWidth(conv.type)));
}

namespace {

/// Number of equal tiles from tile `first` on, which must lie inside the row with all its taps.
int64_t tilesInside(const ConvGeometry &conv, const EvenPieces &tiles, int64_t first) {
  int64_t width = tiles.size(first), alike = (first < tiles.large ? tiles.large : tiles.count) - first;
  // The last input column at which a position may begin so that all its taps lie in the row.
  int64_t reach = conv.in[2] - 1 + conv.padBegin[2] - (conv.kernel[2] - 1) * conv.dilation[2];
  int64_t room = reach / conv.stride[2] - (tiles.start(first) + width - 1); // for more tiles behind
  return std::min(alike, 1 + std::max<int64_t>(0, room) / width);
}

} // namespace

std::vector<TileClass> tileClasses(const ConvGeometry &conv, int64_t px) {
  std::vector<TileClass> classes;
  EvenPieces tiles = evenPieces(conv.out[2], px);
  for (int64_t number = 0; number < tiles.count;) {
    int64_t start = tiles.start(number), width = tiles.size(number);
    TileClass tile;
    tile.start = start;
    tile.count = 1;
    tile.width = width;
    bool inside = true;
    for (int64_t kw = 0; kw < conv.kernel[2]; ++kw) {
      int64_t first = width, last = 0;
      for (int64_t p = 0; p < width; ++p) {
        int64_t at = (start + p) * conv.stride[2] - conv.padBegin[2] + kw * conv.dilation[2];
        if (at >= 0 && at < conv.in[2]) {
          first = std::min(first, p);
          last = p + 1;
        }
      }
      tile.reach.emplace_back(std::min(first, last), last);
      inside &= first == 0 && last == width;
    }
    if (inside)
      tile.count = tilesInside(conv, tiles, number);
    number += tile.count;
    if (!classes.empty() && classes.back().width == width && classes.back().reach == tile.reach)
      classes.back().count += tile.count;
    else
      classes.push_back(std::move(tile));
  }
  return classes;
}

int64_t atMost(const char *constraint, const char *name, int64_t value, int64_t most) {
  if (value > most)
    illegal(constraint, "{}={} is more than {}", name, value, most);
  return value;
}

EvenPieces evenPieces(int64_t extent, int64_t most) {
  int64_t count = (extent + most - 1) / most;
  return {count, extent / count, extent % count};
}

namespace {

/// Groups that are narrower than a block, or that do not end where blocks do, are computed lane by lane, and so are
/// open volumes.
bool needsLanewise(const Target &target, const ConvGeometry &conv) {
  if (conv.open && !conv.planar())
    return true;
  if (conv.groups == 1)
    return false;
  int64_t lanes = target.lanes(bitWidth(conv.type) == 16 ? 32 : bitWidth(conv.type));
  if (conv.inBlock && conv.inChannels % conv.inBlock)
    return true;
  if (conv.outBlock && conv.outChannels % conv.outBlock)
    return true;
  // Row-major activations allow both: vectors that one group fills in part, or lanes gathered from many groups.
  return conv.outChannels < (conv.inBlock || conv.outBlock ? lanes : std::min<int64_t>(lanes, 4));
}

} // namespace

Schedule ContractionFacts::prior() const {
  if (separable)
    return separablePrior(*this, *separable);
  if (gemm) {
    std::optional<Schedule> tiles = tilePrior(*this, *gemm);
    return tiles ? *tiles : gemmPrior(*this, *gemm);
  }
  if (needsLanewise(target, *conv))
    return lanewisePrior(*this, *conv);
  if (!conv->open)
    if (std::optional<Schedule> tiles = tilePrior(*this, *conv))
      return *tiles;
  if (std::optional<Schedule> winograd = winogradPrior(*this, *conv))
    return *winograd;
  return directPrior(*this, *conv);
}

void ContractionFacts::requireGeometry(const std::string &algorithm) const {
  if (algorithm == "separable") {
    if (!separable)
      illegal("computes", "separable is for a depthwise convolution and a pointwise one behind it");
  } else if (separable) {
    illegal("computes", "algorithm '{}' does not compute two convolutions", algorithm);
  } else if (algorithm == "gemm") {
    if (!gemm)
      illegal("computes", "algorithm '{}' does not compute convolutions", algorithm);
  } else if (algorithm == "amx" && conv && conv->open) {
    illegal("open", "amx needs static spatial extents");
  } else if (algorithm != "amx" && !conv) {
    illegal("computes", "algorithm '{}' does not compute matrix products", algorithm);
  }
}

Schedule ContractionFacts::priorOf(const AlgorithmChoice &choice) const {
  const std::string &algorithm = choice.algorithm;
  requireGeometry(algorithm);
  if (algorithm == "separable")
    return separablePrior(*this, *separable);
  if (algorithm == "amx")
    return conv ? tilePriorOf(*this, *conv) : tilePriorOf(*this, *gemm);
  if (algorithm == "gemm")
    return gemmPrior(*this, *gemm);
  if (algorithm == "direct")
    return directPrior(*this, *conv);
  if (algorithm == "winograd")
    return winogradPriorOf(*this, *conv, choice.m);
  return lanewisePrior(*this, *conv);
}

void ContractionFacts::require(const Schedule &schedule) const {
  const std::string &algorithm = schedule.algorithm;
  requireGeometry(algorithm);
  if (algorithm == "separable")
    makeSeparablePlan(*this, *separable, schedule);
  else if (algorithm == "amx")
    conv ? makeTilePlan(target, *conv, schedule) : makeTilePlan(target, *gemm, schedule);
  else if (algorithm == "gemm")
    makeGemmPlan(target, *gemm, schedule);
  else if (algorithm == "direct")
    makeDirectPlan(*this, *conv, schedule);
  else if (algorithm == "winograd")
    makeWinogradPlan(*this, *conv, schedule);
  else
    makeLanewisePlan(target, *conv, schedule);
}

} // namespace lathe
