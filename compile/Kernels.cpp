#include "compile/Kernels.h"

#include "codegen/contraction/Separable.h"
#include "ir/Context.h"
#include "schedule/Algorithms.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace lathe {
namespace {

std::string textOf(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.useLocalScope().printGenericOpForm();
  op->print(stream, flags);
  return text;
}

/// A schedule from outside or of the kernel's own.
std::optional<std::string> scheduleGiven(const ScheduleBook &schedules, mlir::func::FuncOp kernel) {
  std::optional<std::string> given = schedules.find(kernel.getName().str(), nn::nodeNames(kernel.getLoc()));
  if (auto attr = kernel->getAttrOfType<mlir::StringAttr>("nn.schedule"); !given && attr)
    given = attr.str();
  return given;
}

/// A schedule from outside as data; throws Error naming the kernel's nodes.
Schedule readGiven(const std::string &given, mlir::func::FuncOp kernel) {
  try {
    return readSchedule(given);
  } catch (const Error &error) {
    fail("{}: {}", nn::describe(kernel.getLoc()), error.what());
  }
}

} // namespace

KernelProblem problemOf(mlir::func::FuncOp kernel, const Target &target, const KernelOptions &options) {
  return {kernel, target, options.threads, options.exactMath, options.smallMemory, options.precision};
}

std::string kernelIdentity(mlir::func::FuncOp kernel) {
  // Printing is far cheaper than generating; only the name has to go.
  std::string text = textOf(kernel);
  std::string name = "sym_name = \"" + kernel.getName().str() + "\"";
  if (size_t at = text.find(name); at != std::string::npos)
    text.erase(at, name.size());
  return text;
}

KernelLibrary::Entry &KernelLibrary::lookUp(mlir::func::FuncOp kernel) {
  std::optional<std::string> given = scheduleGiven(schedules, kernel);
  std::string identity = kernelIdentity(kernel) + "\n" + given.value_or("");
  if (auto found = entries.find(identity); found != entries.end())
    return *found->second;

  KernelProblem problem = problemOf(kernel, target, options);
  auto make = [&]() -> Entry {
    std::optional<Schedule> asked;
    if (given)
      asked = readGiven(*given, kernel);
    // A schedule that was asked for by name and cannot be had is the user's error, not a reason to go on without.
    auto refuse = [&](const std::string &reason) -> Entry {
      require(!given, "{}: schedule '{}' is not legal: {}", nn::describe(kernel.getLoc()), given.value_or(""), reason);
      return {NotApplicable{reason}, {}};
    };
    Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(problem);
    if (!facts)
      return refuse(facts.reason());
    Outcome<Schedule> schedule = asked ? Outcome<Schedule>(*asked) : priorSchedule(**facts);
    if (!schedule)
      return refuse(schedule.reason());
    Outcome<GeneratedKernel> generated = generate(problem, **facts, *schedule);
    if (!generated)
      return refuse(generated.reason());
    CompiledKernel compiled{
        kernel.getName().str(), generated->schedule, generated->units, generated->scratchBytes,
        generated->images,      generated->stages,   generated->dims,  std::move(generated->packings)};
    return {std::move(compiled), std::move(generated->module)};
  };
  return *entries.emplace(std::move(identity), std::make_unique<Entry>(make())).first->second;
}

std::string KernelLibrary::declines(mlir::func::FuncOp kernel) {
  const Entry &entry = lookUp(kernel);
  return entry.outcome.done() ? "" : entry.outcome.reason();
}

bool KernelLibrary::staysWhole(mlir::func::FuncOp kernel, const std::vector<std::string> &parts) const {
  if (std::optional<std::string> given = scheduleGiven(schedules, kernel))
    return isSeparable(readGiven(*given, kernel));
  for (const std::string &part : parts)
    if (auto given = schedules.find(part, {}))
      if (!isSeparable(readGiven(*given, kernel))) // else another kernel has that name now
        return false;
  Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(problemOf(kernel, target, options));
  return facts && separablePays(**facts);
}

const CompiledKernel &KernelLibrary::compiled(mlir::func::FuncOp kernel) {
  schedules.use(kernel.getName().str(), nn::nodeNames(kernel.getLoc()));
  Entry &entry = lookUp(kernel);
  require(entry.outcome.done(), "{}: no code for kernel @{}: {}", nn::describe(kernel.getLoc()), kernel.getName().str(),
          entry.outcome.done() ? "" : entry.outcome.reason());
  if (!entry.inProgram) {
    entry.inProgram = true;
    entry.outcome->code = used.size();
    entry.outcome->name = kernel.getName().str();
    used.push_back(&entry);
  }
  return *entry.outcome;
}

std::string KernelLibrary::originOf(mlir::func::FuncOp kernel) const {
  std::string place = schedules.placeOf(kernel.getName().str(), nn::nodeNames(kernel.getLoc()));
  if (!place.empty())
    return place;
  return kernel->hasAttr("nn.schedule") ? "nn.schedule of the kernel" : "the prior";
}

CodeImage KernelLibrary::emit(int jobs, KernelCache &cache, const std::function<void(size_t, size_t)> &progress) {
  std::vector<std::vector<char>> objects(used.size());
  std::vector<std::string> texts(used.size());
  std::vector<size_t> missing;
  for (size_t i = 0; i < used.size(); ++i) {
    if (cache.enabled() || jobs > 1)
      texts[i] = textOf(*used[i]->module);
    if (std::optional<std::vector<char>> kept = cache.find(texts[i])) {
      objects[i] = std::move(*kept);
      used[i]->module = {};
    } else {
      missing.push_back(i);
    }
  }
  size_t done = used.size() - missing.size();
  auto lowered = [&](size_t i) {
    cache.store(texts[i], objects[i]);
    if (progress)
      progress(++done, used.size());
  };
  if (jobs <= 1) {
    for (size_t i : missing) {
      objects[i] = emitObject(*used[i]->module, target);
      used[i]->module = {};
      lowered(i);
    }
    return linkImage(objects, target);
  }

  // MLIR's uniquing is per context: a thread lowers kernels re-read from text in a context of its own.
  for (size_t i : missing)
    used[i]->module = {};
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr broken;
  auto work = [&] {
    try {
      auto context = makeContext();
      for (size_t at; (at = next++) < missing.size();) {
        size_t i = missing[at];
        auto module = mlir::parseSourceString<mlir::ModuleOp>(texts[i], context.get());
        require(static_cast<bool>(module), "internal: kernel @{} cannot be read back from its text",
                used[i]->outcome->name);
        objects[i] = emitObject(*module, target);
        std::lock_guard lock(mutex);
        lowered(i);
      }
    } catch (...) {
      std::lock_guard lock(mutex);
      broken = std::current_exception();
      next = missing.size();
    }
  };
  std::vector<std::thread> workers;
  for (size_t i = 0; i < std::min<size_t>(jobs, missing.size()); ++i)
    workers.emplace_back(work);
  for (std::thread &worker : workers)
    worker.join();
  if (broken)
    std::rethrow_exception(broken);
  return linkImage(objects, target);
}

std::string KernelLibrary::text(EmitStage stage) {
  std::string result;
  const char *comment = stage == EmitStage::loops ? "//" : stage == EmitStage::llvm ? ";" : "#";
  for (Entry *entry : used) {
    mlir::OwningOpRef<mlir::ModuleOp> copy(llvm::cast<mlir::ModuleOp>(entry->module->getOperation()->clone()));
    result += fmt::format("{0} kernel {1}\n{0} schedule {2}\n", comment, entry->outcome->name,
                          entry->outcome->schedule.str());
    result += emitText(*copy, target, stage);
    result += "\n";
  }
  return result;
}

} // namespace lathe
