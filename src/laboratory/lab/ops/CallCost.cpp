#include "lab/ops/CallCost.h"

#include "lab/judging/Statistics.h"
#include "lab/problems/Operands.h"
#include "runtime/NpyTensor.h"

namespace lathe::lab {

/// Nothing if the provider does not prepare the problem, or fails.
static std::optional<double> secondsOf(ProviderWorker &worker, const Problem &problem, const ProviderRequest &request,
                                       uint64_t seed, const std::string &directory) {
  ProviderOperands operands;
  operands.seed = seed;
  auto values = makeOperands(problem, seed);
  for (size_t i = 0; i < values.size(); ++i) {
    std::string file = fmt::format("{}/call{}.npy", directory, i);
    writeNpy(file, npyView(values[i]));
    operands.files[problem.operands[i].name] = file;
  }
  auto prepared = worker.prepare(problem, request, operands);
  if (!prepared || !prepared->declined.empty())
    return std::nullopt;
  auto timing = worker.time(50, 201, store::CacheState::hot);
  return timing ? std::optional(median(timing->seconds)) : std::nullopt;
}

std::optional<double> secondsOfCall(ProviderWorker &worker, int threads, uint64_t seed, const std::string &directory) {
  for (const char *text : {"relu x=1", "gemm a=1x1 b=1x1", "matmul a=1x1 b=1x1"}) {
    Problem problem = Problem::parse(text);
    auto variants = worker.variants(problem.op);
    if (variants.empty())
      continue;
    ProviderRequest request{variants.front(), threads, ActivationLayout::any, ""};
    if (auto seconds = secondsOf(worker, problem, request, seed, directory))
      return seconds;
    if (!worker.alive())
      break;
  }
  return std::nullopt;
}

} // namespace lathe::lab
