#include "codegen/contraction/WeightPacking.h"

#include "ir/Bridge.h"

#include <cstring>

namespace lathe {

// ---- direct ----

namespace {

/// Reads the elements of a constant and writes them as elements of units.
class Elements {
public:
  Elements(const nn::ConstantData &data, const ContractionFormat &format)
      : data(data), format(format), size(bitWidth(data.type) / 8) {}

  /// Writes element `index` to step `step` of the unit at `unit`.
  void write(int64_t index, char *unit, int64_t step = 0) const {
    const char *from = data.bytes.data() + (data.splat ? 0 : index * size);
    if (format.converts)
      format.write(from, data.type, unit + step * format.elementBytes());
    else
      std::memcpy(unit, from, size);
  }

private:
  const nn::ConstantData &data;
  const ContractionFormat &format;
  int64_t size;
};

/// `count` sums, for formats that take something of the weights from results.
class Sums {
public:
  Sums(const nn::ConstantData &data, const ContractionFormat &format, int64_t count)
      : data(data), size(bitWidth(data.type) / 8), sums(format.correctsSums() || addsOperands(format) ? count : 0) {}

  /// Adds element `index` of the constant to sum number `sum`.
  void add(int64_t sum, int64_t index) {
    if (!sums.empty())
      sums[sum] += number(index);
  }
  /// Takes the product of two elements from a sum.
  void takeProduct(int64_t sum, int64_t index, int64_t other) { sums[sum] -= number(index) * number(other); }
  void appendTo(std::vector<char> &packed) const {
    auto *bytes = reinterpret_cast<const char *>(sums.data());
    packed.insert(packed.end(), bytes, bytes + sums.size() * sizeof(int32_t));
  }

private:
  int32_t number(int64_t index) const { return static_cast<int8_t>(data.bytes[data.splat ? 0 : index * size]); }

  const nn::ConstantData &data;
  int64_t size;
  std::vector<int32_t> sums;
};

/// Part of a packing's text: formats that do not convert store the same bytes.
std::string suffix(const ContractionFormat &format) {
  return format.converts ? fmt::format(" {}", format.name) : std::string();
}

/// O x I x kernel to [group][tile][pass][tap][unit of channels][lane of all vectors of the tile], channels beyond the
/// last zero. Behind them the sums over channels, where sums are corrected, or, where operands are added, minus those of
/// products of two units: [group][tile][tap][lane].
std::vector<char> packWeights(const nn::ConstantData &data, const DirectPlan &plan) {
  const ConvGeometry &conv = plan.conv;
  const ContractionFormat &format = plan.format;
  Elements elements(data, format);
  int64_t size = format.unitBytes(), taps = conv.taps();
  bool adds = addsOperands(format);
  std::vector<char> packed(conv.groups * plan.groupStride() * size);
  Sums sums(data, format, conv.groups * plan.groupStride() / plan.steps);
  char *to = packed.data();
  int64_t line = 0; // of sums
  for (int64_t g = 0; g < conv.groups; ++g)
    for (int64_t t = 0; t < plan.tiles.perGroup(); ++t) {
      int64_t wide = (t < plan.tiles.full ? plan.tiles.vectors : plan.tiles.tailVectors) * plan.lanes;
      int64_t first = t * plan.tiles.vectors * plan.lanes;
      int64_t real = std::min(wide, conv.outChannels - first);
      for (int64_t pass = 0; pass < plan.passes(); ++pass)
        for (int64_t tap = 0; tap < taps; ++tap, line += wide)
          for (int64_t unit = pass * plan.kc; unit < (pass + 1) * plan.kc; ++unit, to += wide * size)
            for (int64_t o = 0; o < real; ++o)
              for (int64_t c = unit * format.group; c < std::min(conv.inChannels, (unit + 1) * format.group); ++c) {
                int64_t from = ((g * conv.outChannels + first + o) * conv.inChannels + c) * taps + tap;
                elements.write(from, to + o * size, c % format.group);
                if (!adds)
                  sums.add(line + o, from);
                else if (c % (2 * format.group) < format.group && c + format.group < conv.inChannels)
                  sums.takeProduct(line + o, from, from + format.group * taps);
              }
    }
  sums.appendTo(packed);
  return packed;
}

} // namespace

Packing packingOf(const DirectPlan &plan) {
  return {[plan](const nn::ConstantData &data) { return packWeights(data, plan); },
          fmt::format("goihw/oc={}x{} kc={}{}{}", plan.tiles.vectors, plan.lanes, plan.kc,
                      plan.conv.groups > 1 ? fmt::format(" g={}", plan.conv.groups) : "", suffix(plan.format)),
          plan.format.element};
}

// ---- gemm ----

namespace {

/// K x N (or N x K) to [pass][tile][unit of steps][lane of all vectors of the tile], columns beyond the last zero. Behind
/// them the sums of the columns, where sums are corrected.
std::vector<char> packColumns(const nn::ConstantData &data, const GemmPlan &plan) {
  const GemmGeometry &gemm = plan.gemm;
  const ContractionFormat &format = plan.format;
  Elements elements(data, format);
  int64_t size = format.unitBytes();
  std::vector<char> packed(plan.columnVectors() * plan.lanes * plan.allSteps() * size);
  Sums sums(data, format, plan.columnVectors() * plan.lanes);
  char *to = packed.data();
  for (int64_t begin = 0; begin < plan.allSteps(); begin += plan.kc)
    for (int64_t tile = 0; tile < plan.tiles(); ++tile) {
      int64_t first = tile * plan.vectors * plan.lanes, steps = std::min(plan.kc, plan.allSteps() - begin);
      int64_t wide = (tile + 1 < plan.tiles() ? plan.vectors : plan.tailVectors()) * plan.lanes;
      int64_t real = std::min(wide, gemm.n - first), low = begin * format.group,
              high = std::min(gemm.k, low + steps * format.group);
      auto copy = [&](int64_t k, int64_t j) {
        int64_t from = gemm.transB ? (first + j) * gemm.k + k : k * gemm.n + first + j;
        elements.write(from, to + ((k - low) / format.group * wide + j) * size, k % format.group);
        sums.add(first + j, from);
      };
      if (gemm.transB) // a row of the source at a time: it is as long as the reduction
        for (int64_t j = 0; j < real; ++j)
          for (int64_t k = low; k < high; ++k)
            copy(k, j);
      else
        for (int64_t k = low; k < high; ++k)
          for (int64_t j = 0; j < real; ++j)
            copy(k, j);
      to += wide * steps * size;
    }
  sums.appendTo(packed);
  return packed;
}

} // namespace

Packing packingOf(const GemmPlan &plan) {
  return {[plan](const nn::ConstantData &data) { return packColumns(data, plan); },
          fmt::format("{}/{}x{} kc={}{}", plan.gemm.transB ? "nk" : "kn", plan.vectors, plan.lanes, plan.kc,
                      suffix(plan.format)),
          plan.format.element};
}

// ---- lanewise ----

namespace {

/// C x 1 x kernel to [block of channels][kernel row][unit of columns][lane], the last unit whole. Behind them the sums of the
/// kernel rows: [block][kernel row][lane].
std::vector<char> packJoined(const nn::ConstantData &data, const LanewisePlan &plan) {
  const ContractionFormat &format = plan.format;
  Elements elements(data, format);
  int64_t columns = plan.conv.kernel[2], rows = plan.conv.taps() / columns;
  int64_t before = plan.rowVectors() * format.group - columns; // steps without a column
  std::vector<char> packed(plan.sumsAt() * format.unitBytes());
  Sums sums(data, format, plan.blocks() * rows * plan.lanes);
  for (int64_t c = 0; c < plan.channels(); ++c)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        int64_t step = before + column, line = c / plan.lanes * rows + row, from = (c * rows + row) * columns + column;
        int64_t unit = (line * plan.rowVectors() + step / format.group) * plan.lanes + c % plan.lanes;
        elements.write(from, packed.data() + unit * format.unitBytes(), step % format.group);
        sums.add(line * plan.lanes + c % plan.lanes, from);
      }
  sums.appendTo(packed);
  return packed;
}

/// O x I x kernel to [block of output channels][tap][channel of the group][lane]. Of bytes each lane is a unit, whose
/// elements behind the first are zero.
std::vector<char> packWeights(const nn::ConstantData &data, const LanewisePlan &plan) {
  if (plan.joined)
    return packJoined(data, plan);
  int64_t taps = plan.conv.taps(), depth = plan.conv.inChannels, from = bitWidth(data.type) / 8;
  int64_t size = plan.convertsBytes() ? plan.format.unitBytes() : from;
  std::vector<char> packed(plan.blocks() * plan.blockStride() * size);
  for (int64_t o = 0; o < plan.channels(); ++o)
    for (int64_t c = 0; c < depth; ++c)
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t to = o / plan.lanes * plan.blockStride() + (tap * depth + c) * plan.lanes + o % plan.lanes;
        plan.format.write(data.bytes.data() + (data.splat ? 0 : ((o * depth + c) * taps + tap) * from), data.type,
                          packed.data() + to * size);
      }
  return packed;
}

} // namespace

Packing packingOf(const LanewisePlan &plan) {
  return {[plan](const nn::ConstantData &data) { return packWeights(data, plan); },
          fmt::format("oihw/lanes={}{}{}", plan.lanes, plan.joined ? " columns" : "", suffix(plan.format)),
          plan.convertsBytes() ? plan.format.element : ElementType::invalid};
}

// ---- amx ----

namespace {

/// Weights in units of channels, to [tile of outputs][tap][block of channels][vector][unit of channels][output]. Behind
/// them the sums of each output's weights, where sums are corrected.
std::vector<char> packTiles(const nn::ConstantData &data, const TilePlan &plan) {
  const ContractionFormat &format = plan.format;
  Elements elements(data, format);
  Sums sums(data, format, plan.vectors() * tileLanes);
  int64_t taps = plan.taps.size();
  std::vector<char> packed(taps * plan.blocks() * plan.vectors() * tileBytes);
  auto place = [&](int64_t output, int64_t tap, int64_t channel) {
    int64_t tile = output / (plan.oc * tileLanes), count = tile + 1 < plan.tiles() ? plan.oc : plan.tailVectors();
    int64_t in = channel % plan.depth();
    return tile * plan.panel(plan.oc) +
           ((tap * plan.blocks() + channel / plan.depth()) * count + output / tileLanes % plan.oc) * tileBytes +
           in / format.group * tileLineBytes + output % tileLanes * format.unitBytes();
  };
  auto copy = [&](int64_t output, int64_t tap, int64_t channel, int64_t from) {
    elements.write(from, packed.data() + place(output, tap, channel), channel % format.group);
    sums.add(output, from);
  };
  bool columnsLast = plan.gemm && !plan.gemm->transB; // K x N; all others: outputs x channels x taps
  for (int64_t i = 0; i < (columnsLast ? plan.channels : plan.outputs); ++i)
    for (int64_t j = 0; j < (columnsLast ? plan.outputs : plan.channels); ++j)
      for (int64_t tap = 0; tap < taps; ++tap)
        columnsLast ? copy(j, tap, i, i * plan.outputs + j) : copy(i, tap, j, (i * plan.channels + j) * taps + tap);
  sums.appendTo(packed);
  return packed;
}

} // namespace

Packing packingOf(const TilePlan &plan) {
  return {[plan](const nn::ConstantData &data) { return packTiles(data, plan); },
          fmt::format("tiles/oc={}{}{}", plan.oc, plan.gemm && !plan.gemm->transB ? " kn" : "", suffix(plan.format)),
          plan.format.element};
}

// ---- winograd ----

namespace {

double numberAt(const nn::ConstantData &data, int64_t index) {
  index = data.splat ? 0 : index;
  if (data.type == ElementType::i8)
    return static_cast<int8_t>(data.bytes[index]);
  float value;
  std::memcpy(&value, data.bytes.data() + index * int64_t(sizeof value), sizeof value);
  return value;
}

/// Writes a value at a point, of integers a whole number, as an element of a unit.
void writePoint(double value, const WinogradPlan &plan, char *to) {
  auto number = static_cast<float>(value);
  auto whole = static_cast<int16_t>(plan.integers() ? value : 0);
  if (plan.integers())
    plan.format.write(reinterpret_cast<const char *>(&whole), ElementType::i16, to);
  else
    plan.format.write(reinterpret_cast<const char *>(&number), ElementType::f32, to);
}

/// O x I x 3 x 3 to G g G^T as [tile of channels][point][unit of input channels][lane of the tile's vectors].
std::vector<char> packWeights(const nn::ConstantData &data, const WinogradPlan &plan) {
  const ConvGeometry &conv = plan.conv;
  int64_t alpha = plan.alpha(), wide = plan.wide();
  const CoefficientRows &g = plan.transform.filter;
  int64_t panel = plan.steps() * wide, unit = plan.format.unitBytes();
  std::vector<char> packed(plan.channelTiles() * plan.points() * panel * unit);
  std::vector<double> half(alpha * 3);
  for (int64_t o = 0; o < conv.outChannels; ++o)
    for (int64_t c = 0; c < conv.inChannels; ++c) {
      double taps[9];
      for (int64_t i = 0; i < 9; ++i)
        taps[i] = numberAt(data, (o * conv.inChannels + c) * 9 + i);
      for (int64_t i = 0; i < alpha; ++i)
        for (int64_t x = 0; x < 3; ++x)
          half[i * 3 + x] = g[i][0] * taps[x] + g[i][1] * taps[3 + x] + g[i][2] * taps[6 + x];
      char *to = packed.data() + (o / wide * plan.points() * panel + c / plan.format.group * wide + o % wide) * unit;
      for (int64_t i = 0; i < alpha; ++i)
        for (int64_t j = 0; j < alpha; ++j, to += panel * unit)
          writePoint(g[j][0] * half[i * 3] + g[j][1] * half[i * 3 + 1] + g[j][2] * half[i * 3 + 2], plan,
                     to + c % plan.format.group * plan.format.elementBytes());
    }
  return packed;
}

} // namespace

Packing packingOf(const WinogradPlan &plan) {
  return {[plan](const nn::ConstantData &data) { return packWeights(data, plan); },
          fmt::format("winograd m={} oc={}x{}{}", plan.m(), plan.oc, plan.lanes, suffix(plan.format)),
          plan.format.element};
}

} // namespace lathe
