#include "compile/Explain.h"

#include "codegen/Task.h"
#include "codegen/space/ContractionFormat.h"
#include "ir/Main.h"
#include "support/Text.h"

#include <algorithm>
#include <map>
#include <set>

namespace lathe {
namespace {

bool contains(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> nodesIn(mlir::ModuleOp module) {
  std::set<std::string> names;
  module.walk([&](mlir::Operation *op) {
    if (nn::recordOf(op))
      for (const std::string &node : nn::nodeNames(op->getLoc()))
        names.insert(node);
  });
  return {names.begin(), names.end()};
}

std::vector<mlir::func::FuncOp> kernelsOf(mlir::ModuleOp module) {
  std::vector<mlir::func::FuncOp> kernels;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (function->hasAttr("nn.family"))
      kernels.push_back(function);
  return kernels;
}

/// The kernel called `node`, else the kernels that compute a node of this name.
std::vector<mlir::func::FuncOp> kernelsFor(mlir::ModuleOp module, const std::string &node) {
  std::vector<mlir::func::FuncOp> found;
  for (mlir::func::FuncOp kernel : kernelsOf(module)) {
    if (kernel.getName() == node)
      return {kernel};
    if (contains(nn::nodeNames(kernel.getLoc()), node))
      found.push_back(kernel);
  }
  return found;
}

std::string nameOf(mlir::func::FuncOp kernel) { return kernel.getName().str(); }

/// Source nodes of the kernel's anchor; the others are fused into it.
std::vector<std::string> anchorNodes(mlir::func::FuncOp kernel) {
  mlir::Operation *anchor = anchorOf(kernel);
  return anchor ? nn::nodeNames(anchor->getLoc()) : std::vector<std::string>();
}

std::string kernelAnswer(mlir::func::FuncOp kernel, const std::string &node) {
  std::vector<std::string> all = nn::nodeNames(kernel.getLoc()), anchor = anchorNodes(kernel);
  std::string own = nameOf(kernel);
  if (all.empty() || all == std::vector{node})
    return fmt::format("the kernel {} computes it", own);
  if (!anchor.empty() && contains(all, node) && !contains(anchor, node))
    return fmt::format("it is fused into the kernel of {}: the kernel {} computes {}", listed(anchor), own,
                       listed(all));
  return fmt::format("the kernel {} computes {}", own, listed(all));
}

/// Explains a node that no kernel computes.
std::string answerWithoutKernel(mlir::ModuleOp module, const std::string &node) {
  std::string answer;
  for (mlir::Operation &op : mainFunction(module).front()) {
    const OpRecord *record = nn::recordOf(&op);
    bool view = mlir::isa<nn::ConvertLayoutOp>(op) || (record && std::string_view(record->lowering) == "view");
    if ((!record && !view) || !contains(nn::nodeNames(op.getLoc()), node))
      continue;
    std::string name = op.getName().stripDialect().str();
    if (mlir::isa<nn::ConstantOp>(op))
      answer = "no kernel computes it: it is a constant in the package";
    else if (op.hasAttr("nn.in_place"))
      answer = fmt::format("no kernel computes it: the parts of this {} share the storage of the whole", name);
    else if (view)
      answer = fmt::format("no kernel computes it: this {} is a view, which moves nothing", name);
    else {
      auto reason = op.getAttrOfType<mlir::StringAttr>("nn.reason");
      return fmt::format("no kernel computes it: the reference of {} runs it{}", name,
                         reason ? " (" + reason.str() + ")" : "");
    }
  }
  return answer.empty() ? "no kernel computes it: it was folded into constants or other nodes, or no output needs it"
                        : answer;
}

/// Declines schedules that round operands if the precision does not ask for it. They are legal, but their results
/// differ, so they do not compete.
const Constraint notRounded{"precision", "--precision bf16 is given where a schedule rounds operands to bf16"};

/// Collects the candidates of one kernel.
class Exploration {
public:
  Exploration(const KernelFacts &facts, KernelExplanation &result) : facts(facts), result(result) {}

  Candidate &add(const Schedule &schedule) {
    auto [found, added] = candidates.try_emplace(schedule.str());
    if (added)
      found->second = {schedule, facts.predict(schedule)};
    return found->second;
  }

  void explore(const Algorithm &algorithm) {
    ExploredAlgorithm explored{&algorithm, {}, {}};
    auto visit = [&](const Schedule &schedule, const Legality &legality) {
      bool counts = legality && allows(facts.precision, schedule);
      if (counts)
        add(schedule);
      else
        decline(explored.declined, schedule, legality ? Legality{&notRounded, "--precision is fp32"} : legality);
      return counts;
    };
    explored.size = visitSpace(facts, algorithm, facts.knobs(algorithm), explainSampling, visit);
    llvm::sort(explored.declined, [](const DeclinedPoints &a, const DeclinedPoints &b) {
      return std::pair(-a.points, std::string_view(a.constraint->id)) <
             std::pair(-b.points, std::string_view(b.constraint->id));
    });
    result.algorithms.push_back(std::move(explored));
  }

  void vary(const Schedule &chosen) {
    const Algorithm &algorithm = validate(chosen);
    std::string same = chosen.str();
    for (const Knob &knob : facts.knobs(algorithm))
      for (size_t i = 0; i < knob.size(); ++i) {
        Schedule varied = chosen;
        knob.apply(varied, i);
        if (varied.str() == same || !allows(facts.precision, varied) || !legal(facts, varied))
          continue;
        ++result.variations;
        add(varied);
      }
  }

  void finish(size_t most) {
    std::vector<Candidate> all;
    double chosenCost = 0;
    for (auto &[text, candidate] : candidates) {
      if (candidate.chosen)
        chosenCost = candidate.prediction.total();
      all.push_back(std::move(candidate));
    }
    llvm::sort(all, [](const Candidate &a, const Candidate &b) {
      auto key = [](const Candidate &candidate) {
        return std::tuple(candidate.prediction.total(), !candidate.notable(), candidate.schedule.str());
      };
      return key(a) < key(b);
    });
    result.candidates = all.size();
    result.rank = 1;
    for (size_t i = 0; i < all.size(); ++i) {
      result.rank += all[i].prediction.total() < chosenCost;
      if (i < most || all[i].notable())
        result.best.push_back(std::move(all[i]));
    }
  }

private:
  const KernelFacts &facts;
  KernelExplanation &result;

  std::map<std::string, Candidate> candidates; // by text without default values

  static void decline(std::vector<DeclinedPoints> &declined, const Schedule &schedule, const Legality &legality) {
    auto known = std::find_if(declined.begin(), declined.end(), [&](const DeclinedPoints &entry) {
      return std::string_view(entry.constraint->id) == legality.broken->id;
    });
    if (known == declined.end())
      known = declined.insert(known, {legality.broken, 0, schedule.str(), legality.reason});
    ++known->points;
  }
};

bool hasOpenExtents(const KernelFacts &facts) {
  for (const auto *tensors : {&facts.inputs, &facts.outputs})
    for (const TensorFacts &tensor : *tensors)
      for (const Dim &dim : tensor.dims)
        if (!dim.isConstant())
          return true;
  return false;
}

KernelExplanation explainKernel(mlir::func::FuncOp kernel, const CompileOptions &options, size_t most) {
  Target target = targetOf(options);
  ScheduleBook schedules(options.schedule.text, options.schedule.name);
  KernelLibrary library(target, kernelOptionsOf(options), schedules, options.schedules);
  Schedule chosen = library.compiled(kernel).schedule; // throws if the schedule file has an illegal schedule
  KernelProblem problem{kernelOptionsOf(options), kernel, target};
  Outcome<std::unique_ptr<KernelFacts>> read = readFacts(problem);
  require(read.done(), "kernel @{}: {}", nameOf(kernel), read ? "" : read.reason());
  const KernelFacts &facts = **read;

  KernelExplanation result;
  result.kernel = nameOf(kernel);
  result.nodes = nn::nodeNames(kernel.getLoc());
  result.task = taskOf(problem);
  result.family = facts.family;
  result.openExtents = hasOpenExtents(facts);
  result.origin = library.originOf(kernel);
  Exploration exploration(facts, result);
  exploration.add(chosen).chosen = true;
  if (Outcome<ScheduleChoice> prior = priorChoice(facts)) {
    exploration.add(prior->schedule()).byPrior = true;
    exploration.add(prior->rule.schedule).byRule = true;
    exploration.add(prior->model.schedule).byModel = true;
  }
  for (const Algorithm &algorithm : algorithms())
    if (algorithm.family == facts.family)
      exploration.explore(algorithm);
  exploration.vary(chosen);
  exploration.finish(most);
  return result;
}

} // namespace

Explanation explain(mlir::ModuleOp module, const CompileOptions &options, const std::string &node, size_t most) {
  std::vector<std::string> names = nodesIn(module); // before passes remove nodes
  requireScheduleFits(module, options);
  lowerToKernels(module, options);
  std::vector<mlir::func::FuncOp> found = kernelsFor(module, node);
  std::vector<std::string> kernels;
  llvm::transform(found, std::back_inserter(kernels), nameOf);
  require(found.size() < 2, "--explain {}: {} kernels compute it: give the name of one: {}", node, found.size(),
          listed(kernels, "or"));
  if (found.size() == 1)
    return {node, kernelAnswer(found.front(), node), explainKernel(found.front(), options, most)};
  if (!contains(names, node)) {
    llvm::transform(kernelsOf(module), std::back_inserter(names), nameOf);
    fail("--explain {}: the model has no node or kernel of that name{}", node, suggestion(node, names));
  }
  return {node, answerWithoutKernel(module, node), {}};
}

} // namespace lathe
