// The reference operators as a provider: plain loops in the problem's own types, for every operator. A baseline that
// always answers, and the judge's code in the types that it judges.
#include "lab/providers/Provider.h"
#include "ops/Reference.h"
#include "runtime/ThreadPool.h"

using namespace lathe;
using namespace lathe::lab;

namespace {

using Body = std::function<void(int64_t begin, int64_t end)>;

/// One reference with its results.
struct Step {
  const ReferenceEntry *entry;
  std::shared_ptr<const Attrs> attrs;
  std::vector<Value> results;
  std::vector<const Value *> pointers; // operands; null if one is missing
};

class References : public Provider {
public:
  std::string name() const override { return "reference"; }
  std::string version() const override { return LATHE_VERSION; }
  std::map<std::string, std::vector<std::string>> variants() const override {
    std::map<std::string, std::vector<std::string>> result;
    for (const OpRecord &record : opRecords())
      if (findReference(record.name))
        result[record.name] = {"auto"};
    return result;
  }

  Outcome<std::string> prepare(const Problem &problem, const ProviderRequest &request,
                               const ProblemInputs &inputs) override {
    steps.clear();
    values.assign(inputs.begin(), inputs.end());
    constantRanges = constantInputs(problem, inputs);
    size_t own = problem.byRecord().size(), second = own;
    Step &first = steps.emplace_back(step(problem.op, problem.attrs));
    for (size_t i = 0; i < own; ++i)
      first.pointers.push_back(inputs[i].defined() ? &values[i] : nullptr);
    first.results.resize(problem.results().size()); // the first run allocates them
    for (const std::string &name : problem.epilogue) {
      const Value *x = steps.back().results.data(); // its address stays when steps move
      Step &next = steps.emplace_back(step(name, findOp(name)->makeAttrs()));
      next.pointers = {x};
      if (takesSecondOperand(name))
        next.pointers.push_back(&values.at(second++));
      next.results.resize(1);
    }
    if (!pool || pool->slots() != request.threads)
      pool = std::make_unique<runtime::ThreadPool>(request.threads);
    return std::string("loops, row-major");
  }

  void run() override {
    auto parallel = [this](int64_t count, const Body &body) {
      auto share = [](void *context, int, int64_t begin, int64_t end) {
        (*static_cast<const Body *>(context))(begin, end);
      };
      pool->run(count, share, const_cast<Body *>(&body));
    };
    for (Step &step : steps) {
      ReferenceCall call{step.pointers, step.results, {}, parallel};
      step.entry->run(*step.attrs, call);
    }
  }

  std::vector<Tensor> outputs() override {
    std::vector<Tensor> tensors;
    for (const Value &value : steps.front().results)
      tensors.push_back(value.tensor());
    tensors[0] = steps.back().results[0].tensor();
    return tensors;
  }
  std::optional<std::vector<std::span<const char>>> constants() const override { return constantRanges; }

private:
  static Step step(const std::string &op, std::shared_ptr<const Attrs> attrs) {
    const ReferenceEntry *entry = findReference(op);
    require(entry != nullptr, "{} has no reference", op);
    return {entry, std::move(attrs), {}, {}};
  }

  std::vector<Value> values; // inputs of the problem
  std::vector<std::span<const char>> constantRanges;
  std::vector<Step> steps;
  std::unique_ptr<runtime::ThreadPool> pool;
};

} // namespace

int main() {
  References provider;
  return serveProvider(provider);
}
