// Lathe's own kernels as a provider. `auto` is a single kernel if the operator is one kernel, with activations in the
// layout that a network would use. Operators that need several steps (an lstm, a view) are compiled to a package. Every
// algorithm of the operator's kernel family is a variant: a single kernel with this algorithm and the prior's
// parameters.
#include "codegen/space/ContractionFormat.h"
#include "lab/providers/lathe/Im2colGraph.h"
#include "lab/providers/lathe/LoneKernel.h"
#include "lab/providers/lathe/LonePackage.h"
#include "schedule/Algorithms.h"

using namespace lathe;
using namespace lathe::lab;

namespace {

/// The algorithms of a kernel family as (variant, choice). Winograd has a variant for each tile.
std::vector<std::pair<std::string, AlgorithmChoice>> algorithmVariants(const std::string &family) {
  std::vector<std::pair<std::string, AlgorithmChoice>> variants;
  for (const Algorithm &algorithm : algorithms())
    if (algorithm.family == family) {
      if (algorithm.name == std::string_view("winograd"))
        for (int64_t m : {2, 4, 6})
          variants.emplace_back(fmt::format("winograd-{}", m), AlgorithmChoice{algorithm.name, m});
      else
        variants.emplace_back(algorithm.name, AlgorithmChoice{algorithm.name});
    }
  return variants;
}

/// The prior's schedules of one algorithm.
class AlgorithmSchedules : public ScheduleSource {
public:
  explicit AlgorithmSchedules(AlgorithmChoice choice) : choice(std::move(choice)) {}

  Outcome<FoundSchedule> find(const ScheduleTask &task) const override {
    if (!task.facts())
      return NotApplicable{task.facts().reason()};
    Outcome<Schedule> schedule = priorSchedule(**task.facts(), choice);
    if (!schedule)
      return NotApplicable{schedule.reason()};
    // The laboratory's bounds depend on the types of the problem, so the schedule must not change them.
    if (schedule->words.contains("type"))
      if (ContractionFormat format = formatNamed(schedule->words.at("type"), ElementType::f32); format.rounds)
        return NotApplicable{fmt::format("{} rounds the operands of products to {}", schedule->algorithm, format.name)};
    return FoundSchedule{*schedule, "the variant"};
  }

private:
  AlgorithmChoice choice;
};

/// The source of the request's schedule.
std::shared_ptr<const ScheduleSource> askedSchedule(const ProviderRequest &request) {
  return std::make_shared<TaskSchedules>(
      "the request",
      [task = request.task, entry = TaskSchedules::Entry{request.schedule, "the request"}](const std::string &text) {
        return task.empty() || task == text ? std::optional(entry) : std::nullopt;
      });
}

class LatheProvider : public Provider {
public:
  std::string name() const override { return "lathe"; }
  std::string version() const override { return LATHE_VERSION; }
  std::map<std::string, std::vector<std::string>> variants() const override {
    std::map<std::string, std::vector<std::string>> result;
    for (const OpRecord &record : opRecords())
      if (record.compiled()) {
        result[record.name] = {"auto", "plain", "package"};
        for (auto &[variant, choice] : algorithmVariants(record.lowering))
          result[record.name].push_back(variant);
      }
    result["conv"].push_back("im2col");
    return result;
  }
  nlohmann::json settings() const override { return {{"target", target.str()}}; }

  std::vector<ActivationLayout> layouts() const override { return {ActivationLayout::row, ActivationLayout::blocked}; }
  bool takesSchedules() const override { return true; }

  Outcome<std::string> prepare(const Problem &problem, const ProviderRequest &request,
                               const ProblemInputs &inputs) override {
    kernel.reset();
    package.reset();
    auto options = kernelOptions(problem, request);
    bool im2col = request.variant == "im2col", isPackage = im2col || request.variant == "package";
    bool mayBePackage = isPackage || (request.variant == "auto" && request.schedule.empty() &&
                                      request.layout != ActivationLayout::blocked);
    std::string reason;
    if (!options)
      return NotApplicable{options.reason()};
    if (!isPackage) {
      auto made = LoneKernel::make(problem, target, *options, inputs);
      if (made) {
        kernel = std::move(*made);
        if (!pool || pool->slots() != request.threads)
          pool = std::make_unique<runtime::ThreadPool>(request.threads);
        return kernel->implementation();
      }
      reason = made.reason();
      if (!mayBePackage)
        return NotApplicable{reason};
      reason += "; ";
    }
    auto made = LonePackage::make(problem, "native", request.threads, inputs, im2col ? buildIm2col : buildAsNamed);
    if (!made)
      return NotApplicable{reason + made.reason()};
    package = std::move(*made);
    return package->implementation();
  }

  Outcome<std::string> task(const Problem &problem, const ProviderRequest &request) override {
    auto options = kernelOptions(problem, request);
    if (!options)
      return NotApplicable{options.reason()};
    return LoneKernel::task(problem, target, *options);
  }

  std::optional<TaskSchedule> scheduled() const override {
    return kernel ? std::optional(kernel->scheduled()) : std::nullopt;
  }

  void run() override {
    if (kernel)
      kernel->run(*pool);
    else
      package->run();
  }

  std::vector<Tensor> outputs() override { return kernel ? kernel->outputs() : package->outputs(); }
  std::optional<std::vector<std::span<const char>>> constants() const override {
    return kernel ? kernel->constants() : package->constants();
  }

private:
  /// Declines requests that contradict the variant.
  static Outcome<LoneKernelOptions> kernelOptions(const Problem &problem, const ProviderRequest &request) {
    LoneKernelOptions options{request.layout, request.threads};
    if (!request.schedule.empty())
      options.schedules = askedSchedule(request);
    const std::string &variant = request.variant;
    if ((variant == "package" || variant == "im2col") && request.layout == ActivationLayout::blocked)
      return NotApplicable{"a package's inputs and outputs are row-major"};
    if (variant == "plain") {
      if (request.layout == ActivationLayout::blocked)
        return NotApplicable{"variant 'plain' is the layout row"};
      options.layout = ActivationLayout::row;
    } else if (variant != "auto" && !request.schedule.empty()) {
      return NotApplicable{fmt::format("variant '{}' chooses its schedules itself", variant)};
    }
    for (auto &[name, choice] : algorithmVariants(problem.record().lowering))
      if (name == variant)
        options.schedules = std::make_shared<AlgorithmSchedules>(choice);
    return options;
  }

  Target target = Target::parse("native");
  std::unique_ptr<runtime::ThreadPool> pool;
  std::unique_ptr<LoneKernel> kernel; // either this or a package
  std::unique_ptr<LonePackage> package;
};

} // namespace

int main() {
  LatheProvider provider;
  return serveProvider(provider);
}
