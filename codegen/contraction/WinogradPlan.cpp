// What a schedule of winograd/1 means for a convolution, and how its weights are stored.
#include "codegen/contraction/WinogradPlan.h"

#include <cstring>

namespace lathe {

std::string winogradObstacle(const ContractionProblem &problem, const ConvGeometry &conv) {
  int64_t lanes = problem.target().lanes(32);
  if (problem.kernel.exactMath)
    return "exact math forbids Winograd transforms";
  if (problem.kernel.smallMemory)
    return "--memory small forbids Winograd transforms, which grow the weights";
  if (conv.type != ElementType::f32)
    return fmt::format("Winograd transforms of elements of type {}", name(conv.type));
  if (conv.groups != 1 || conv.kernel != ConvGeometry::Axes{1, 3, 3} || conv.stride != ConvGeometry::Axes{1, 1, 1} ||
      conv.dilation != ConvGeometry::Axes{1, 1, 1} || conv.in[0] != 1)
    return "Winograd transforms are for dense 3x3 convolutions of stride 1";
  if (conv.inBlock != lanes || conv.outBlock != lanes)
    return fmt::format("Winograd transforms need blocks of {} channels", lanes);
  return "";
}

WinogradPlan makeWinogradPlan(const ContractionProblem &problem, const ConvGeometry &conv, const Schedule &schedule) {
  if (std::string reason = winogradObstacle(problem, conv); !reason.empty())
    throw Declined{reason};
  int64_t lanes = problem.target().lanes(32);
  bool rounds = bf16::scheduled(schedule, problem.target(), conv.type);
  WinogradPlan plan{conv, winogradTransform(schedule.number("m"), rounds), lanes, 1, 1, 1, 1, 1, false, rounds};
  plan.px = schedule.number("px");
  plan.blocks = schedule.number("blocks");
  plan.oc = schedule.number("oc");
  int64_t vectors = (conv.outChannels + lanes - 1) / lanes;
  if (vectors % plan.oc)
    throw Declined{fmt::format("oc={} does not divide {} vectors of output channels", plan.oc, vectors)};
  if (!Microkernel::fits(problem.target(), plan.px, plan.oc))
    throw Declined{
        fmt::format("px={} oc={} needs more than {} registers", plan.px, plan.oc, problem.target().vectorRegisters)};
  plan.split = atMost("split", schedule.number("split"), plan.channelTiles());
  plan.pointShares = atMost("points", schedule.number("points"), plan.alpha());
  if (plan.staged() && (plan.chunks() > 1 || plan.split > 1))
    throw Declined{
        fmt::format("points={} is for one chunk of all {} tiles and for split=1", plan.pointShares, plan.tiles())};
  plan.unroll = atMost("unroll", schedule.number("unroll"), lanes);
  if (plan.blockSteps() % plan.unroll)
    throw Declined{fmt::format("unroll={} does not divide blocks of {} channels", plan.unroll, lanes)};
  plan.prefetch = schedule.number("prefetch") == 1;
  if (plan.scratchFloats() > (int64_t(1) << 26))
    throw Declined{fmt::format("chunks of {} tiles need {} MiB of scratch", plan.chunk(), plan.scratchFloats() >> 18)};
  return plan;
}

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
