// How kernels are cut for any number of threads. Without timing: the units of the busiest slot beside an equal share
// (units of a kernel are of one size but for the last of a row, so their number is the work), and the cache lines that
// two slots write to.
#include "codegen/testing/KernelTesting.h"
#include "compile/Compile.h"
#include "ir/Context.h"
#include "zoo/Zoo.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

namespace lathe {
namespace {

/// Floating-point operations of an equal share below which its cut does not matter: about twenty microseconds of one
/// core.
constexpr double smallShare = 5e6;

int64_t atOne(const Dim &dim) {
  return dim.evaluate([](const std::string &) -> int64_t { return 1; });
}

/// What the busiest slot of one kernel may have. Winograd's units are chunks of whole tiles and repeat the input's
/// transform, a register block is a few vectors of channels: 7x7 and 14x14 pixels do not always give every slot as
/// many, and the priors weigh what cutting finer costs.
/// With many threads a product is cut more coarsely: it keeps whole chunks of rows in the second-level cache, and its
/// tiles of columns are what is cut.
double kernelBound(const std::string &schedule, int threads) {
  return schedule.starts_with("gemm") && threads > 8 ? 4.25 : threads <= 3 ? 1.25 : 1.45;
}
/// What the busiest slots of all kernels together may have. With 64 threads many shares are too small to cut; a network
/// whose kernels were not cut at all would reach 64.
double networkBound(const std::string &network, int threads) {
  if (threads > 8)
    return network == "resnet50" ? 1.2 : network == "mobilenet_v2" ? 1.45 : 2.75;
  return threads <= 2 ? 1.03 : threads <= 3 ? 1.08 : 1.2;
}

/// Lines that slots may meet in, of `written`. Neighbouring slots of consecutive elements meet in one. Where a block's
/// channels fill half a line (8 of fp32 with AVX2), every second row of odd width ends in the middle of a line: at the
/// 7 pixels of the networks' last stage that is one line in seven where each row is another slot's. A row-major result
/// whose rows are another slot's each has two such lines a cut and channel, up to a quarter of all: on two cores behind
/// one third-level cache they cost no time that `ops bench` sees (16x16 patches of 224x224 pixels, 768 channels).
int64_t linesToMeetIn(const Target &target, int threads, int64_t written, const KernelFacts &facts) {
  bool pixelsFillLines = target.channelBlock() * sizeof(float) >= 64;
  int64_t planes = 0;
  if (const TensorFacts &result = facts.outputs[0]; facts.family == "contraction" && !result.block)
    if (result.dims.size() == 4)
      planes = atOne(result.dims[0]) * atOne(result.dims[1]);
  int64_t ofRows = std::min(written / 4, 2 * planes * (threads - 1));
  return std::max({int64_t(threads - 1), pixelsFillLines ? int64_t(0) : written / 7, ofRows});
}

class Slots : public testing::TestWithParam<std::tuple<const char *, int>> {
protected:
};

TEST_P(Slots, haveEqualSharesAndLinesOfTheirOwn) {
  auto [name, threads] = GetParam();
  auto context = makeContext();
  auto module = buildZoo(*context, name, {});
  CompileOptions options;
  options.threads = threads;
  lowerToKernels(*module, options);
  Target target = Target::parse("native");
  ScheduleBook schedules;
  KernelLibrary library(target, {threads, false, false}, schedules);

  struct Seen {
    double flops = 0, over = 1;
  };
  std::map<std::string, Seen> distinct;
  double flops = 0, busiest = 0; // of the network, and when each kernel takes as long as its busiest slot
  int64_t written = 0, shared = 0;
  std::string uneven, meeting;
  module->walk([&](mlir::func::FuncOp function) {
    if (!function->hasAttr("nn.family"))
      return;
    auto [entry, added] = distinct.try_emplace(kernelIdentity(function));
    Seen &seen = entry->second;
    if (added) {
      nn::SymbolicShapes shapes(function);
      function.walk([&](mlir::Operation *op) { seen.flops += double(atOne(flopsOf(op, shapes))); });
      std::string text;
      llvm::raw_string_ostream stream(text);
      function.print(stream, mlir::OpPrintingFlags().useLocalScope());
      KernelUnderTest kernel(text, target, 1, threads);
      KernelUnderTest::Lines lines = kernel.lines(kernel.randomInputs(-1, 1), threads);
      written += lines.written;
      shared += lines.shared;
      seen.over = double(lines.most) * threads / double(lines.written + lines.shared);
      std::string schedule = library.compiled(function).schedule.str(),
                  what = function.getName().str() + ", " + schedule;
      if (seen.flops >= smallShare * threads && seen.over > kernelBound(schedule, threads))
        uneven += fmt::format("{:.2f} of an equal share, {:.1f} MFLOP: {}\n", seen.over, seen.flops * 1e-6, what);
      if (lines.shared > linesToMeetIn(target, threads, lines.written, **readFacts(kernel.problem())))
        meeting += fmt::format("{} of {} lines: {}\n", lines.shared, lines.written, what);
    }
    flops += seen.flops;
    busiest += seen.flops * seen.over;
  });
  printf("%s, %d threads: the busiest slots have %.3f of an equal share; %lld of %lld lines are shared\n", name,
         threads, busiest / flops, static_cast<long long>(shared), static_cast<long long>(written));
  EXPECT_EQ(uneven, "");
  EXPECT_LE(busiest / flops, networkBound(name, threads));
  EXPECT_EQ(meeting, "");
}

/// Numbers of threads; `make test-all` sets LATHE_TEST_ALL.
std::vector<int> threadCounts() {
  return std::getenv("LATHE_TEST_ALL") ? std::vector{2, 3, 5, 8, 64} : std::vector{2, 5, 64};
}

INSTANTIATE_TEST_SUITE_P(Networks, Slots,
                         testing::Combine(testing::Values("resnet50", "mobilenet_v2", "vit_b_16"),
                                          testing::ValuesIn(threadCounts())),
                         [](const auto &info) {
                           return fmt::format("{}_{}", std::get<0>(info.param), std::get<1>(info.param));
                         });

} // namespace
} // namespace lathe
