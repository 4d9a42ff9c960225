#include "codegen/contraction/WeightPacking.h"

#include "ir/Bridge.h"

#include <cstring>

namespace lathe {

// ---- direct ----

namespace {

/// O x I x kernel to [group][tile][pass][tap][channel][lane of all vectors of the tile], channels beyond the last zero.
std::vector<char> packWeights(const nn::ConstantData &data, const DirectPlan &plan) {
  const ConvGeometry &conv = plan.conv;
  int64_t size = bitWidth(data.type) / 8, taps = conv.taps();
  std::vector<char> packed(conv.groups * plan.groupStride() * size);
  char *to = packed.data();
  for (int64_t g = 0; g < conv.groups; ++g)
    for (int64_t t = 0; t < plan.tiles.perGroup(); ++t) {
      int64_t wide = (t < plan.tiles.full ? plan.tiles.vectors : plan.tiles.tailVectors) * plan.lanes;
      int64_t first = t * plan.tiles.vectors * plan.lanes;
      int64_t real = std::min(wide, conv.outChannels - first);
      for (int64_t pass = 0; pass < plan.passes(); ++pass)
        for (int64_t tap = 0; tap < taps; ++tap)
          for (int64_t c = 0; c < plan.kc; ++c, to += wide * size)
            for (int64_t o = 0; o < real; ++o) {
              int64_t from = ((g * conv.outChannels + first + o) * conv.inChannels + pass * plan.kc + c) * taps + tap;
              std::memcpy(to + o * size, data.bytes.data() + (data.splat ? 0 : from * size), size);
            }
    }
  return packed;
}

/// O x I x kernel rounded, to [group][tile][tap][pair of channels][lane of all vectors of the tile][channel of the
/// pair].
std::vector<char> packPairs(const nn::ConstantData &data, const DirectPlan &plan) {
  const ConvGeometry &conv = plan.conv;
  int64_t taps = conv.taps();
  std::vector<char> packed(conv.groups * plan.groupStride() * bf16::unitBytes);
  char *to = packed.data();
  for (int64_t g = 0; g < conv.groups; ++g)
    for (int64_t t = 0; t < plan.tiles.perGroup(); ++t) {
      int64_t wide = (t < plan.tiles.full ? plan.tiles.vectors : plan.tiles.tailVectors) * plan.lanes;
      int64_t first = t * plan.tiles.vectors * plan.lanes;
      int64_t real = std::min(wide, conv.outChannels - first);
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t step = 0; step < plan.steps; ++step, to += wide * bf16::unitBytes)
          for (int64_t o = 0; o < real; ++o)
            for (int64_t c = step * bf16::pair; c < std::min(conv.inChannels, (step + 1) * bf16::pair); ++c) {
              int64_t from = ((g * conv.outChannels + first + o) * conv.inChannels + c) * taps + tap;
              float value;
              std::memcpy(&value, data.bytes.data() + (data.splat ? 0 : from * sizeof value), sizeof value);
              uint16_t half = bf16::rounded(value);
              std::memcpy(to + (o * bf16::pair + c % bf16::pair) * sizeof half, &half, sizeof half);
            }
    }
  return packed;
}

} // namespace

Packing directPacking(const DirectPlan &plan) {
  return {[plan](const nn::ConstantData &data) { return plan.bf16 ? packPairs(data, plan) : packWeights(data, plan); },
          fmt::format("goihw/oc={}x{} kc={}{}", plan.tiles.vectors, plan.lanes, plan.kc, plan.bf16 ? " bf16" : ""),
          plan.bf16 ? ElementType::bf16 : plan.conv.type};
}

// ---- gemm ----

namespace {

/// K x N (or N x K) to [pass][tile][k][lane of all vectors of the tile], columns beyond the last zero.
std::vector<char> packColumns(const nn::ConstantData &data, const GemmPlan &plan) {
  const GemmGeometry &gemm = plan.gemm;
  int64_t size = bitWidth(data.type) / 8;
  std::vector<char> packed(plan.columnVectors() * plan.lanes * gemm.k * size);
  char *to = packed.data();
  for (int64_t begin = 0; begin < gemm.k; begin += plan.kc)
    for (int64_t tile = 0; tile < plan.tiles(); ++tile) {
      int64_t first = tile * plan.vectors * plan.lanes, steps = std::min(plan.kc, gemm.k - begin);
      int64_t wide = (tile + 1 < plan.tiles() ? plan.vectors : plan.tailVectors()) * plan.lanes;
      int64_t real = std::min(wide, gemm.n - first);
      auto copy = [&](int64_t k, int64_t j, int64_t from) {
        std::memcpy(to + (k * wide + j) * size, data.bytes.data() + (data.splat ? 0 : from * size), size);
      };
      if (gemm.transB) // a row of the source at a time: it is as long as the reduction
        for (int64_t j = 0; j < real; ++j)
          for (int64_t k = 0; k < steps; ++k)
            copy(k, j, (first + j) * gemm.k + begin + k);
      else
        for (int64_t k = 0; k < steps; ++k)
          for (int64_t j = 0; j < real; ++j)
            copy(k, j, (begin + k) * gemm.n + first + j);
      to += wide * steps * size;
    }
  return packed;
}

/// K x N (or N x K) rounded, to [pass][tile][pair of steps][lane of all vectors of the tile][step of the pair].
std::vector<char> packPairs(const nn::ConstantData &data, const GemmPlan &plan) {
  const GemmGeometry &gemm = plan.gemm;
  std::vector<char> packed(plan.columnVectors() * plan.lanes * plan.allSteps() * bf16::unitBytes);
  char *to = packed.data();
  for (int64_t begin = 0; begin < plan.allSteps(); begin += plan.kc)
    for (int64_t tile = 0; tile < plan.tiles(); ++tile) {
      int64_t first = tile * plan.vectors * plan.lanes, steps = std::min(plan.kc, plan.allSteps() - begin);
      int64_t wide = (tile + 1 < plan.tiles() ? plan.vectors : plan.tailVectors()) * plan.lanes;
      int64_t real = std::min(wide, gemm.n - first), low = begin * bf16::pair,
              high = std::min(gemm.k, low + steps * bf16::pair);
      auto copy = [&](int64_t k, int64_t j) {
        int64_t from = gemm.transB ? (first + j) * gemm.k + k : k * gemm.n + first + j;
        float value;
        std::memcpy(&value, data.bytes.data() + (data.splat ? 0 : from * sizeof value), sizeof value);
        uint16_t half = bf16::rounded(value);
        std::memcpy(to + ((k - low) / bf16::pair * wide + j) * bf16::unitBytes + k % bf16::pair * sizeof half, &half,
                    sizeof half);
      };
      if (gemm.transB) // a row of the source at a time: it is as long as the reduction
        for (int64_t j = 0; j < real; ++j)
          for (int64_t k = low; k < high; ++k)
            copy(k, j);
      else
        for (int64_t k = low; k < high; ++k)
          for (int64_t j = 0; j < real; ++j)
            copy(k, j);
      to += wide * steps * bf16::unitBytes;
    }
  return packed;
}

} // namespace

Packing gemmPacking(const GemmPlan &plan) {
  return {[plan](const nn::ConstantData &data) { return plan.bf16 ? packPairs(data, plan) : packColumns(data, plan); },
          fmt::format("kn/{}x{}{}", plan.vectors, plan.lanes, plan.bf16 ? " bf16" : ""),
          plan.bf16 ? ElementType::bf16 : plan.gemm.type};
}

// ---- lanewise ----

namespace {

/// O x I x kernel to [block of output channels][tap][channel of the group][lane].
std::vector<char> packWeights(const nn::ConstantData &data, const LanewisePlan &plan) {
  int64_t size = bitWidth(data.type) / 8, taps = plan.conv.taps(), depth = plan.conv.inChannels;
  std::vector<char> packed(plan.blocks() * plan.blockStride() * size);
  for (int64_t o = 0; o < plan.channels(); ++o)
    for (int64_t c = 0; c < depth; ++c)
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t to = o / plan.lanes * plan.blockStride() + (tap * depth + c) * plan.lanes + o % plan.lanes;
        std::memcpy(packed.data() + to * size,
                    data.bytes.data() + (data.splat ? 0 : ((o * depth + c) * taps + tap) * size), size);
      }
  return packed;
}

} // namespace

Packing lanewisePacking(const LanewisePlan &plan) {
  return {[plan](const nn::ConstantData &data) { return packWeights(data, plan); },
          fmt::format("oihw/lanes={}", plan.lanes)};
}

// ---- amx ----

namespace {

/// Weights rounded, to [tile of outputs][tap][block of 32 channels][vector][pair of channels][output][channel of the
/// pair].
std::vector<char> packTiles(const nn::ConstantData &data, const TilePlan &plan) {
  int64_t taps = plan.taps.size();
  std::vector<char> packed(taps * plan.blocks() * plan.vectors() * tileBytes);
  auto place = [&](int64_t output, int64_t tap, int64_t channel) {
    int64_t tile = output / (plan.oc * tileLanes), count = tile + 1 < plan.tiles() ? plan.oc : plan.tailVectors();
    int64_t in = channel % tileDepth;
    return tile * plan.panel(plan.oc) +
           ((tap * plan.blocks() + channel / tileDepth) * count + output / tileLanes % plan.oc) * tileBytes +
           in / bf16::pair * tileLineBytes + (output % tileLanes * bf16::pair + in % bf16::pair) * 2;
  };
  auto copy = [&](int64_t output, int64_t tap, int64_t channel, int64_t from) {
    float value;
    std::memcpy(&value, data.bytes.data() + (data.splat ? 0 : from * sizeof value), sizeof value);
    uint16_t half = bf16::rounded(value);
    std::memcpy(packed.data() + place(output, tap, channel), &half, sizeof half);
  };
  bool columnsLast = plan.gemm && !plan.gemm->transB; // K x N; all others: outputs x channels x taps
  for (int64_t i = 0; i < (columnsLast ? plan.channels : plan.outputs); ++i)
    for (int64_t j = 0; j < (columnsLast ? plan.outputs : plan.channels); ++j)
      for (int64_t tap = 0; tap < taps; ++tap)
        columnsLast ? copy(j, tap, i, i * plan.outputs + j) : copy(i, tap, j, (i * plan.channels + j) * taps + tap);
  return packed;
}

} // namespace

Packing tilePacking(const TilePlan &plan) {
  return {[plan](const nn::ConstantData &data) { return packTiles(data, plan); },
          fmt::format("tiles/oc={} bf16", plan.oc), ElementType::bf16};
}

// ---- winograd ----

namespace {

/// O x I x 3 x 3 to G g G^T as [tile of channels][point][input channel][lane of the tile's vectors], rounded with the
/// channels of a pair innermost.
std::vector<char> packWeights(const nn::ConstantData &data, const WinogradPlan &plan) {
  const ConvGeometry &conv = plan.conv;
  int64_t alpha = plan.alpha(), wide = plan.wide();
  const CoefficientRows &g = plan.transform.filter;
  int64_t panel = plan.steps() * wide;
  std::vector<char> packed(plan.channelTiles() * plan.points() * panel * sizeof(float));
  auto *weights = reinterpret_cast<const float *>(data.bytes.data());
  std::vector<double> half(alpha * 3);
  for (int64_t o = 0; o < conv.outChannels; ++o)
    for (int64_t c = 0; c < conv.inChannels; ++c) {
      double taps[9];
      for (int64_t i = 0; i < 9; ++i) {
        float value;
        std::memcpy(&value, weights + (data.splat ? 0 : (o * conv.inChannels + c) * 9 + i), sizeof value);
        taps[i] = value;
      }
      for (int64_t i = 0; i < alpha; ++i)
        for (int64_t x = 0; x < 3; ++x)
          half[i * 3 + x] = g[i][0] * taps[x] + g[i][1] * taps[3 + x] + g[i][2] * taps[6 + x];
      char *to = packed.data() +
                 (o / wide * plan.points() * panel + c / plan.channelsOfStep() * wide + o % wide) * sizeof(float);
      for (int64_t i = 0; i < alpha; ++i)
        for (int64_t j = 0; j < alpha; ++j, to += panel * sizeof(float)) {
          auto value = float(g[j][0] * half[i * 3] + g[j][1] * half[i * 3 + 1] + g[j][2] * half[i * 3 + 2]);
          uint16_t rounded = bf16::rounded(value);
          if (plan.bf16)
            std::memcpy(to + c % bf16::pair * sizeof rounded, &rounded, sizeof rounded);
          else
            std::memcpy(to, &value, sizeof value);
        }
    }
  return packed;
}

} // namespace

Packing winogradPacking(const WinogradPlan &plan) {
  return {[plan](const nn::ConstantData &data) { return packWeights(data, plan); },
          fmt::format("winograd m={} oc={}x{}{}", plan.m(), plan.oc, plan.lanes, plan.bf16 ? " bf16" : ""),
          plan.bf16 ? ElementType::bf16 : plan.conv.type};
}

} // namespace lathe
