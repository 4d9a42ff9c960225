#include "compile/ScheduleSource.h"

#include "codegen/Task.h"
#include "codegen/space/ContractionFormat.h"
#include "ir/SymbolicShapes.h"
#include "schedule/Algorithms.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace lathe {

ScheduleTask::ScheduleTask(const KernelProblem &problem)
    : problem(problem), kernel(mlir::func::FuncOp(problem.function).getName().str()),
      nodes(nn::nodeNames(mlir::func::FuncOp(problem.function).getLoc())), identity(kernelIdentity(problem.function)) {}

const std::string &ScheduleTask::text() const {
  if (!taskText)
    taskText = taskOf(problem);
  return *taskText;
}

const Outcome<std::unique_ptr<KernelFacts>> &ScheduleTask::facts() const {
  if (!read)
    read = readFacts(problem);
  return *read;
}

Outcome<FoundSchedule> WrittenSchedules::find(const ScheduleTask &task) const {
  mlir::func::FuncOp kernel = task.problem.function;
  auto text = kernel->getAttrOfType<mlir::StringAttr>("nn.schedule");
  if (!text)
    return NotApplicable{"the kernel has no attribute nn.schedule"};
  try {
    return FoundSchedule{readSchedule(text.str()), "nn.schedule of the kernel", true};
  } catch (const Error &error) {
    fail("{}: {}", nn::describe(kernel.getLoc()), error.what());
  }
}

Outcome<FoundSchedule> TaskSchedules::find(const ScheduleTask &task) const {
  std::optional<Entry> entry = entryOf(task.text());
  if (!entry)
    return NotApplicable{fmt::format("{} has no schedule for the task {}", name, task.text())};
  try {
    Schedule schedule = readSchedule(entry->schedule);
    require(!keepsPrecision || allows(task.problem.precision, schedule),
            "schedule '{}' rounds operands, expected --precision bf16", entry->schedule);
    return FoundSchedule{std::move(schedule), entry->origin};
  } catch (const Error &error) {
    std::string reason = fmt::format("{} is not used: {}", entry->origin, error.what());
    refused.insert(reason);
    return NotApplicable{std::move(reason)};
  }
}

Outcome<FoundSchedule> PriorSchedules::find(const ScheduleTask &task) const {
  auto found = known.find(task.identity);
  if (found == known.end()) {
    const auto &facts = task.facts();
    Outcome<ScheduleChoice> choice = facts ? priorChoice(**facts) : NotApplicable{facts.reason()};
    found = known.emplace(task.identity, std::move(choice)).first;
  }
  if (!found->second)
    return NotApplicable{found->second.reason()};
  return FoundSchedule{found->second->schedule(), found->second->byModel ? "the prior's model" : "the prior's rule"};
}

std::string genericText(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.useLocalScope().printGenericOpForm();
  op->print(stream, flags);
  return text;
}

namespace {

/// Calls `f` for every text of an extent of the kernel's arguments and replaces the text by the result.
void eachExtentText(mlir::func::FuncOp kernel, const std::function<std::string(const std::string &)> &f) {
  mlir::Builder b(kernel.getContext());
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    for (const char *name : {"nn.dims", nn::contentsAttribute})
      if (auto texts = kernel.getArgAttrOfType<mlir::ArrayAttr>(i, name)) {
        llvm::SmallVector<mlir::Attribute> changed;
        for (mlir::Attribute text : texts)
          changed.push_back(b.getStringAttr(f(llvm::cast<mlir::StringAttr>(text).getValue().str())));
        kernel.setArgAttr(i, name, b.getArrayAttr(changed));
      }
}

} // namespace

std::vector<std::string> kernelSymbols(mlir::func::FuncOp kernel) {
  std::vector<std::string> symbols;
  eachExtentText(kernel, [&](const std::string &text) {
    Dim::parse(text).collectSymbols(symbols);
    return text;
  });
  return symbols;
}

std::string kernelIdentity(mlir::func::FuncOp kernel) {
  std::vector<std::string> symbols = kernelSymbols(kernel);
  mlir::OwningOpRef<mlir::func::FuncOp> renamed;
  if (!symbols.empty()) { // the names of symbols must not matter
    renamed = kernel.clone();
    eachExtentText(*renamed, [&](const std::string &text) {
      auto rename = [&](const std::string &symbol) -> std::optional<Dim> {
        return Dim::symbol(
            fmt::format("symbol{}", std::find(symbols.begin(), symbols.end(), symbol) - symbols.begin()));
      };
      return Dim::parse(text).substitute(rename).str();
    });
  }
  // Printing is much cheaper than generating; only the name must be removed.
  std::string text = genericText(renamed ? *renamed : kernel);
  std::string name = "sym_name = \"" + kernel.getName().str() + "\"";
  if (size_t at = text.find(name); at != std::string::npos)
    text.erase(at, name.size());
  return text;
}

} // namespace lathe
