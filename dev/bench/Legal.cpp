// How long one question about a schedule takes.
#include "Study.h"

#include "codegen/testing/RandomKernels.h"
#include "ir/Context.h"
#include "lab/judging/Statistics.h"
#include "lab/judging/Turns.h"

#include "mlir/Parser/Parser.h"

namespace lathe::study {
namespace {

/// Microseconds of one call: the mean of as many as take 20 of them.
double microsecondsOf(const KernelFacts &facts, const Schedule &schedule) {
  double start = lab::steadySeconds(), spent = 0;
  int calls = 0;
  while (spent < 20) {
    legal(facts, schedule);
    ++calls;
    spent = (lab::steadySeconds() - start) * 1e6;
  }
  return spent / calls;
}

void timeLegal() {
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
        costs.push_back(microsecondsOf(**facts, randomSchedule(random, **facts)));
    }
  fmt::print("legal: median {:.1f} us, 95th percentile {:.1f} us, longest {:.0f} us, of {} random schedules\n",
             lab::median(costs), lab::percentile(costs, 95), lab::percentile(costs, 100), costs.size());
}

} // namespace

void addLegal(CLI::App &program) {
  program
      .add_subcommand("legal", "How long `legal` takes: 4000 random schedules of random kernels of the families that "
                               "have constraints (LATHE_SEED repeats a run)")
      ->callback(timeLegal);
}

} // namespace lathe::study
