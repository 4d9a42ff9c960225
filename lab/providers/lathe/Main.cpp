// Lathe's own kernels as a provider. `auto` is the kernel alone where the operator is one kernel, with activations in
// the layout that a network around it would keep; what a network computes in several steps (an lstm, a view) is
// compiled to a package of its own.
#include "lab/providers/lathe/LoneKernel.h"
#include "lab/providers/lathe/LonePackage.h"
#include "ops/Lowerings.h"

using namespace lathe;
using namespace lathe::lab;

namespace {

class LatheProvider : public Provider {
public:
  std::string name() const override { return "lathe"; }
  std::string version() const override { return LATHE_VERSION; }
  std::map<std::string, std::vector<std::string>> variants() const override {
    std::map<std::string, std::vector<std::string>> result;
    for (const OpRecord &record : opRecords())
      if (record.compiled())
        result[record.name] = {"auto", "plain", "package"};
    result["conv"] = {"auto", "direct", "plain", "package"};
    return result;
  }
  nlohmann::json settings() const override { return {{"target", target.str()}}; }

  Outcome<std::string> prepare(const Problem &problem, const std::string &variant, int threads,
                               const ProblemInputs &inputs) override {
    kernel.reset();
    package.reset();
    std::string reason;
    if (variant != "package") {
      auto made = LoneKernel::make(
          problem, target, {.rowMajor = variant == "plain", .exactMath = variant == "direct", .threads = threads},
          inputs);
      if (made) {
        kernel = std::move(*made);
        if (!pool || pool->slots() != threads)
          pool = std::make_unique<runtime::ThreadPool>(threads);
        return kernel->implementation();
      }
      if (variant != "auto")
        return NotApplicable{made.reason()};
      reason = made.reason() + "; ";
    }
    auto made = LonePackage::make(problem, "native", threads, inputs);
    if (!made)
      return NotApplicable{reason + made.reason()};
    package = std::move(*made);
    return package->implementation();
  }

  void run() override {
    if (kernel)
      kernel->run(*pool);
    else
      package->run();
  }

  std::vector<Tensor> outputs() override { return kernel ? kernel->outputs() : package->outputs(); }

private:
  Target target = Target::parse("native");
  std::unique_ptr<runtime::ThreadPool> pool;
  std::unique_ptr<LoneKernel> kernel; // this or
  std::unique_ptr<LonePackage> package;
};

} // namespace

int main() {
  registerLowerings();
  LatheProvider provider;
  return serveProvider(provider);
}
