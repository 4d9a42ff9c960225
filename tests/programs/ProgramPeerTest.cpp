// Random programs: ONNX Runtime gives what the references give. All programs pass through one process. LATHE_PROGRAMS is
// the number of programs (100, and a quarter as many new ones). Skipped where ONNX Runtime is not installed.
#include "codegen/testing/RandomTesting.h"
#include "lab/compare/Runner.h"
#include "process/TemporaryDirectory.h"
#include "runtime/NpyTensor.h"
#include "tests/programs/ProgramCheck.h"
#include "tests/programs/RandomProgram.h"

#include <gtest/gtest.h>

#include <fstream>

namespace lathe {
namespace {

class Peer {
public:
  explicit Peer(lab::Runner runner) : runner(std::move(runner)) {}

  /// "" if ONNX Runtime gives what the references give for every set of inputs.
  std::string failure(const std::string &bytes, uint64_t seed, ProgramCheck &check) {
    std::vector<ProgramRun> runs = programRuns(bytes, seed, check);
    std::string model = folder.path / "program.onnx";
    std::ofstream(model, std::ios::binary) << bytes;
    if (auto loaded = runner.load(model, 1); !loaded)
      return loaded.failure().message();
    for (size_t k = 0; k < runs.size(); ++k)
      if (auto text = runFailure(runs[k]); !text.empty())
        return fmt::format("inputs {}: {}", k, text);
    return "";
  }

private:
  process::TemporaryDirectory folder{"programs"};
  lab::Runner runner;

  std::string runFailure(const ProgramRun &run) {
    static const char *const names[] = {"x", "count", "flag"};
    std::map<std::string, std::string> files;
    for (size_t i = 0; i < run.inputs.size(); ++i) {
      files[names[i]] = folder.path / fmt::format("{}.npy", names[i]);
      writeNpy(files[names[i]], npyView(run.inputs[i].tensor()));
    }
    if (auto set = runner.setInputs(files); !set)
      return set.failure().message();
    auto outputs = runner.run(folder.path);
    if (!outputs)
      return outputs.failure().message();
    for (size_t i = 0; i < run.expected.size(); ++i) {
      Tensor got = toTensor(readNpy(outputs->at(fmt::format("y{}", i))));
      // Without iterations ONNX Runtime loses the rank of scanned values.
      if (got.rank() != run.expected[i].tensor().rank() && got.elements() == 0 &&
          run.expected[i].tensor().elements() == 0)
        continue;
      if (auto text = programDifference(run.expected[i], got, 1e-4 + 32 * run.error); !text.empty())
        return fmt::format("output {}: {}", i, text);
    }
    return "";
  }
};

TEST(ProgramPeer, OnnxRuntimeAgreesWithReferences) {
  Outcome<lab::RunnerSpec> spec = lab::findRunner("onnxruntime");
  if (!spec.done())
    GTEST_SKIP() << spec.reason();
  auto started = lab::Runner::start(*spec);
  ASSERT_TRUE(started) << started.failure().message();
  Peer peer(std::move(*started));
  const char *given = std::getenv("LATHE_PROGRAMS");
  ProgramCheck check;
  ProgramOptions options;
  options.optionals = false;
  int failures = 0;
  for (uint64_t seed : randomSeeds(given ? std::stoull(given) : 100)) {
    std::string bytes = randomProgram(seed, options), failure = peer.failure(bytes, seed, check);
    if (failure.empty())
      continue;
    ADD_FAILURE() << "seed " << seed << ": " << failure << "\n  "
                  << keepProgram(bytes, fmt::format("{}-peer.onnx", seed));
    if (++failures == 5)
      return;
  }
}

} // namespace
} // namespace lathe
