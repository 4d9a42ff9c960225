#include "jobs/Prepared.h"

#include "cache/Verdicts.h"
#include "jobs/ModelFormat.h"
#include "jobs/Packages.h"
#include "jobs/Progress.h"
#include "jobs/Self.h"
#include "jobs/Variants.h"
#include "lab/judging/OutputSummary.h"
#include "lab/judging/Tolerance.h"
#include "runtime/Cpu.h"
#include "runtime/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>

namespace lathe::jobs {

Prepared load(const ModelOptions &model, const std::function<void()> &beforeContext) {
  Prepared prepared;
  Package package = packageFor(model);
  prepared.package = package.path;
  prepared.model = std::move(package.model);
  beforeContext();
  prepared.context =
      std::make_unique<runtime::Context>(prepared.model, runtime::ContextOptions{.threads = model.threads});
  return prepared;
}

void bindAndRun(Prepared &prepared, const InputOptions &inputs, const std::vector<std::string> &shapes) {
  std::span<const runtime::Port> ports = prepared.model->inputs();
  std::vector<Value> values = gatherInputs(ports, inputs, shapes);
  prepared.inputText = inputsText(ports, values);
  prepared.extents.clear();
  for (const auto &[symbol, extent] : lab::boundSymbols(ports, values))
    prepared.extents += fmt::format("{}{}={}", prepared.extents.empty() ? "" : ", ", symbol, extent);
  for (size_t i = 0; i < values.size(); ++i)
    prepared.context->setInput(i, values[i]);
  prepared.context->run();
  prepared.variant = variantText(prepared.model->program(), prepared.context->plan());
  prepared.flops = prepared.bytes = 0;
  for (size_t i = 0; i < prepared.context->instructionCount(); ++i) {
    runtime::InstructionInfo info = prepared.context->instruction(i);
    prepared.flops += info.flops;
    prepared.bytes += info.bytes;
  }
}

Prepared prepare(const ModelOptions &model, const InputOptions &inputs) {
  Prepared prepared = load(model);
  bindAndRun(prepared, inputs, model.shapes);
  return prepared;
}

std::string mistrusted(const Prepared &prepared) {
  std::string reasons;
  for (size_t i = 0; i < prepared.model->outputs().size(); ++i) {
    const Value &value = prepared.context->output(i);
    if (!value.isTensor())
      continue;
    std::string reason = lab::summarizeOutput(value.tensor()).mistrust;
    if (!reason.empty())
      reasons +=
          fmt::format("{}output '{}' is {}", reasons.empty() ? "" : "; ", prepared.model->outputs()[i].name, reason);
  }
  return reasons;
}

namespace {
Verification verificationFrom(const std::optional<cache::KeptVerdict> &verdict) {
  if (!verdict)
    return {.text = "unverified (lathe verify checks the outputs against the reference)"};
  if (!verdict->passed)
    return {
        .judged = true, .mistrusted = !verdict->mistrusted.empty(), .text = "FAILED verification: " + verdict->summary};
  return {.judged = true, .verified = true, .text = fmt::format("verified {}: {}", verdict->date, verdict->summary)};
}
} // namespace

Verification verificationOf(const ModelOptions &model, const runtime::Model &package) {
  if (!package.contentHash())
    return {.text = "unverified (--check-constants never: a verdict is only looked up for weights that were checked)"};
  if (!model.isZoo() && isPackage(model.model))
    return verificationFrom(cache::keptVerdict(package));
  std::optional<uint64_t> key = modelKey(model);
  return verificationFrom(key ? cache::keptVerdict(package, *key) : std::nullopt);
}

Verification checkedFirst(const ModelOptions &model, const InputOptions &inputs, const Prepared &prepared, bool says) {
  Verification kept = verificationOf(model, *prepared.model);
  if (kept.judged || model.model == prepared.package)
    return kept;
  std::string verdict = (temporaryFolder() / "verdict.json").string(); // a cache may be missing
  Arguments arguments{"verify", model.model, "--package", prepared.package, "--json", verdict};
  arguments.insert(arguments.end(), {"--threads", std::to_string(model.threads)});
  arguments.insert(arguments.end(), {"--check-constants", model.checkConstants});
  if (!inputs.given.empty())
    arguments.insert(arguments.end(), {"--seeds", "0"});
  else if (inputs.fill == "random")
    arguments.insert(arguments.end(), {"--seeds", "1"});
  Arguments fill = inputs.arguments(fillsInputs(prepared.model->inputs(), inputs));
  for (const Arguments &flags : {model.graphArguments(), fill})
    arguments.insert(arguments.end(), flags.begin(), flags.end());
  if (Progress::isSilent() || !says)
    arguments.push_back(quietFlag());
  try {
    runSelf(arguments);
  } catch (const ChildFailed &) { // the child has printed why; its verdict, if any, decides
  }
  std::ifstream file(verdict);
  return verificationFrom(cache::verdictIn(nlohmann::json::parse(file, nullptr, false)));
}

namespace {
/// The caller's slot waits until all others have begun. Otherwise it would take their empty shares, too.
struct Meeting {
  std::atomic<int> begun{0};
  int others = 0;

  static void body(void *context, int slot, int64_t, int64_t) {
    runtime::KernelFloatMode mode;
    auto *meeting = static_cast<Meeting *>(context);
    if (slot)
      meeting->begun.fetch_add(1);
    else
      while (meeting->begun.load() < meeting->others) {
      }
  }
};
} // namespace

double callSeconds(int threads) {
  runtime::ThreadPool pool(threads);
  Meeting meeting;
  meeting.others = threads - 1;
  using Clock = std::chrono::steady_clock;
  auto seconds = [](Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); };
  constexpr int calls = 64;
  std::vector<double> samples;
  for (auto begin = Clock::now(); samples.size() < 501 && (samples.empty() || seconds(begin) < 0.3);) {
    auto start = Clock::now();
    for (int call = 0; call < calls; ++call) {
      meeting.begun.store(0);
      pool.run(threads, Meeting::body, &meeting);
    }
    samples.push_back(seconds(start) / calls);
  }
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  return samples[samples.size() / 2];
}

uint64_t peakResidentBytes() {
  // Not getrusage: its figure includes the program that started this one.
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  return 0;
}

} // namespace lathe::jobs
