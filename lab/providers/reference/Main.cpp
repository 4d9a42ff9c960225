// The reference operators as a provider: plain loops in the problem's own types, every operator. A yardstick that
// always answers, and the judge's own code in the types it is to judge.
#include "lab/providers/Provider.h"
#include "ops/Reference.h"
#include "runtime/ThreadPool.h"

using namespace lathe;
using namespace lathe::lab;

namespace {

using Body = std::function<void(int64_t begin, int64_t end)>;

/// One reference with its operands and results.
struct Step {
  const ReferenceEntry *entry;
  std::shared_ptr<const Attrs> attrs;
  std::vector<Value> inputs, results;
  std::vector<const Value *> pointers; // what it reads; null where an operand is missing
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
    Step &first = steps.emplace_back(step(problem.op, problem.attrs));
    for (auto &input : inputs)
      first.inputs.emplace_back(input);
    for (size_t i = 0; i < inputs.size(); ++i)
      first.pointers.push_back(inputs[i].defined() ? &first.inputs[i] : nullptr);
    first.results.resize(problem.results().size()); // the first run allocates them
    steps.reserve(1 + problem.epilogue.size());
    for (const std::string &unary : problem.epilogue) {
      const Value *x = steps.back().results.data();
      Step &next = steps.emplace_back(step(unary, findOp(unary)->makeAttrs()));
      next.pointers = {x};
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
      ReferenceCall call{step.pointers, step.results, parallel};
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

private:
  static Step step(const std::string &op, std::shared_ptr<const Attrs> attrs) {
    const ReferenceEntry *entry = findReference(op);
    require(entry != nullptr, "{} has no reference", op);
    return {entry, std::move(attrs), {}, {}, {}};
  }

  std::vector<Step> steps;
  std::unique_ptr<runtime::ThreadPool> pool;
};

} // namespace

int main() {
  References provider;
  return serveProvider(provider);
}
