#include "codegen/contraction/common/ContractionFacts.h"

#include "codegen/space/RegisterBlock.h"
#include "codegen/target/Caches.h"

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

double stepCycles(const Target &target, int64_t rows, int64_t vectors, bool weightsFar,
                  const ContractionFormat &format) {
  int64_t held = std::min<int64_t>(vectors, int64_t(target.vectorRegisters) - rows * vectors - 1);
  int64_t groups = vectors == 1 ? 1 : (vectors + held - 1) / std::max<int64_t>(held, 1);
  double multiplies = double(rows * vectors) / format.productsPerCycle(target), loads = (vectors + rows * groups) / 2.0;
  double arrival = weightsFar ? vectors * target.vectorBits / 8 / 32.0 : 0;
  double wait = format.latency(target) / accumulatorChains(target, rows, vectors);
  // Vectors of a step that do not stay in registers beside the sums: measured 1 to 2 % alone on the core, 7 to 28 %
  // between other processes (docs/notes/avx2.md).
  double reloading = groups > 1 ? 1.06 : 1;
  return (std::max({multiplies, loads, arrival, wait}) + 0.05 * loads + 0.05 * arrival) * reloading;
}

bool panelIsFar(const Target &target, int64_t steps, int64_t vectors) {
  return double(steps) * vectors * target.vectorBits / 8 > target.machine.bytesPerCore(0) / 2;
}

} // namespace lathe
