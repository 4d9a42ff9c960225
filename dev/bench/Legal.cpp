// How long `legal` takes: 4000 random schedules of random kernels of every family that has constraints.
//
// usage: legal-bench            prints the median and the 95th percentile in microseconds; LATHE_SEED repeats a run
#include "codegen/Generate.h"
#include "codegen/testing/RandomKernels.h"
#include "ir/Context.h"

#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <chrono>

namespace lathe {
namespace {

/// Microseconds of one call: the mean of as many as take 20 of them.
double costOf(const KernelFacts &facts, const Schedule &schedule) {
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  double spent = 0;
  int calls = 0;
  while (spent < 20) {
    legal(facts, schedule);
    ++calls;
    spent = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }
  return spent / calls;
}

int run() {
  Target target = Target::parse("znver4");
  Random random(baseSeed());
  std::vector<double> costs;
  auto context = makeContext();
  while (costs.size() < 4000)
    for (const char *family : {"contraction", "contraction", "contraction", "attention", "recurrent", "softmax",
                               "normalize", "elementwise"}) {
      auto module = mlir::parseSourceString<mlir::ModuleOp>(randomKernel(random, family, target), context.get());
      require(static_cast<bool>(module), "internal: a random kernel of family {} cannot be read", family);
      Outcome<std::unique_ptr<KernelFacts>> facts =
          readFacts({{}, *module->getOps<mlir::func::FuncOp>().begin(), target});
      for (int i = 0; facts && i < 10; ++i)
        costs.push_back(costOf(**facts, randomSchedule(random, **facts)));
    }
  std::sort(costs.begin(), costs.end());
  fmt::print("legal: median {:.1f} us, 95th percentile {:.1f} us, longest {:.0f} us, of {} random schedules\n",
             costs[costs.size() / 2], costs[costs.size() * 95 / 100], costs.back(), costs.size());
  return 0;
}

} // namespace
} // namespace lathe

int main() {
  try {
    return lathe::run();
  } catch (const std::exception &error) {
    fmt::print(stderr, "legal-bench: {}\n", error.what());
    return 2;
  }
}
