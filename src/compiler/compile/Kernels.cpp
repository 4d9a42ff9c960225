#include "compile/Kernels.h"

#include "codegen/contraction/ContractionPlan.h"
#include "codegen/cost/Cost.h"
#include "ir/Context.h"
#include "schedule/Algorithms.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace lathe {

Dim CompiledKernel::inTermsOf(const std::vector<std::string> &others, const Dim &dim) const {
  return dim.substitute([&](const std::string &symbol) -> std::optional<Dim> {
    auto found = std::find(symbols.begin(), symbols.end(), symbol);
    size_t number = static_cast<size_t>(found - symbols.begin());
    return number < others.size() ? std::optional(Dim::symbol(others[number])) : std::nullopt;
  });
}

KernelLibrary::KernelLibrary(const Target &target, const KernelOptions &options, ScheduleBook &schedules,
                             const std::vector<std::shared_ptr<const ScheduleSource>> &others, MeasuredTimes measured)
    : target(target), options(options), schedules(schedules), measured(std::move(measured)),
      sources{&schedules, &written} {
  for (const auto &source : others)
    sources.push_back(source.get());
  sources.push_back(&prior);
}

KernelLibrary::Entry &KernelLibrary::entryOf(const ScheduleTask &task, const Schedule &schedule) {
  std::string key = task.identity + "\n" + schedule.str();
  if (auto found = entries.find(key); found != entries.end())
    return *found->second;
  auto make = [&]() -> Entry {
    const auto &facts = task.facts();
    if (!facts)
      return {NotApplicable{facts.reason()}, {}};
    Outcome<GeneratedKernel> generated = generate(task.problem, **facts, schedule);
    if (!generated)
      return {NotApplicable{generated.reason()}, {}};
    double cycles = (*facts)->predict(generated->schedule).total();
    CompiledKernel compiled{task.kernel,
                            generated->schedule,
                            cycles,
                            generated->units,
                            generated->scratchBytes,
                            generated->images,
                            generated->stages,
                            generated->firstOperandUnits,
                            generated->dims,
                            std::move(generated->packings),
                            kernelSymbols(task.problem.function)};
    return {std::move(compiled), std::move(generated->module)};
  };
  return *entries.emplace(std::move(key), std::make_unique<Entry>(make())).first->second;
}

void KernelLibrary::assumeImages(const std::vector<std::string> &symbols) {
  for (const std::string &symbol : symbols)
    options.typical.emplace(symbol, typicalImage);
}

const ScheduleTask *KernelLibrary::typicalOf(const ScheduleTask &task) const {
  if (options.typical.empty())
    return nullptr;
  auto [found, added] = typicalKernels.try_emplace(task.identity);
  if (!added)
    return found->second.task.get();
  mlir::func::FuncOp kernel = task.problem.function;
  std::vector<std::string> symbols = symbolsOf(kernel);
  if (llvm::none_of(symbols, [&](const std::string &symbol) { return options.typical.contains(symbol); }))
    return nullptr;
  mlir::OwningOpRef<mlir::func::FuncOp> copy(kernel.clone());
  try {
    specialize(*copy, options.typical);
  } catch (const Error &) {
    return nullptr; // the model cannot have these extents at the same time, so the kernel keeps its own
  }
  found->second.task = std::make_unique<ScheduleTask>(KernelProblem{options, *copy, target});
  found->second.function = std::move(copy);
  return found->second.task.get();
}

Outcome<FoundSchedule> KernelLibrary::ask(const ScheduleSource &source, const ScheduleTask &task) const {
  if (&source == &prior && assumes(task)) // it has chosen for these extents, from schedules legal for all extents
    return source.find(task);
  if (const ScheduleTask *typical = typicalOf(task); typical && task.facts() && typical->facts()) {
    Outcome<FoundSchedule> found = source.find(*typical);
    if (found && (found->required ||
                  ((*typical->facts())->family == (*task.facts())->family && legal(**task.facts(), found->schedule))))
      return found;
  }
  return source.find(task);
}

KernelLibrary::Found KernelLibrary::lookUp(mlir::func::FuncOp kernel) {
  ScheduleTask task(KernelProblem{options, kernel, target});
  std::string reason;
  for (const ScheduleSource *source : sources) {
    Outcome<FoundSchedule> found = ask(*source, task);
    if (!found) {
      reason = found.reason();
      continue;
    }
    Entry &entry = entryOf(task, found->schedule);
    if (entry.outcome)
      return {&entry, found->origin};
    reason = entry.outcome.reason();
    // A schedule that the user asked for by name must be legal; otherwise the user made an error.
    require(!found->required, "{}: schedule '{}' is not legal: {}", nn::describe(kernel.getLoc()),
            found->schedule.str(), reason);
    if (source != &prior)
      illegal.insert(fmt::format("{} is not used for {}: schedule '{}' is not legal: {}", found->origin,
                                 nn::describe(kernel.getLoc()), found->schedule.str(), reason));
  }
  auto [declined, added] = entries.try_emplace(task.identity);
  if (added)
    declined->second = std::make_unique<Entry>(Entry{NotApplicable{reason}, {}});
  return {declined->second.get(), ""};
}

std::vector<std::string> KernelLibrary::notes() const {
  std::vector<std::string> notes(illegal.begin(), illegal.end());
  for (const ScheduleSource *source : sources)
    for (std::string &note : source->notes())
      notes.push_back(std::move(note));
  return notes;
}

std::string KernelLibrary::declines(mlir::func::FuncOp kernel) {
  const Entry &entry = *lookUp(kernel).entry;
  return entry.outcome.done() ? "" : entry.outcome.reason();
}

Outcome<double> KernelLibrary::predictOne(const ScheduleTask &task, const Schedule &schedule) const {
  std::string key = task.identity + "\n" + schedule.str();
  if (auto known = predictions.find(key); known != predictions.end())
    return known->second;
  auto predict = [&]() -> Outcome<double> {
    const auto &facts = task.facts();
    if (!facts)
      return NotApplicable{facts.reason()};
    if (Legality legality = legal(**facts, schedule); !legality)
      return NotApplicable{legality.reason};
    return (*facts)->predict(schedule).total();
  };
  return predictions.emplace(std::move(key), predict()).first->second;
}

Outcome<double> KernelLibrary::predictCycles(mlir::func::FuncOp kernel) const {
  ScheduleTask task(KernelProblem{options, kernel, target});
  const ScheduleTask *typical = typicalOf(task);
  std::string reason;
  for (const ScheduleSource *source : askedByPasses()) {
    Outcome<FoundSchedule> found = ask(*source, task);
    if (!found) {
      reason = found.reason();
      continue;
    }
    // A node may have several kernels, so a schedule found by its name may belong to another kernel.
    if (validate(found->schedule).family != kernel->getAttrOfType<mlir::StringAttr>("nn.family").getValue()) {
      reason = fmt::format("schedule '{}' is of another family", found->schedule.str());
      continue;
    }
    Outcome<double> cycles = predictOne(task, found->schedule);
    if (cycles && typical && !assumes(task))
      if (Outcome<double> atTypical = predictOne(*typical, found->schedule))
        cycles = atTypical;
    if (cycles || found->required) // compiled() throws if a required schedule is illegal
      return cycles;
    reason = cycles.reason();
  }
  return NotApplicable{reason};
}

ScheduleTask KernelLibrary::taskOn(int threads, mlir::func::FuncOp kernel) const {
  KernelOptions others = options;
  others.threads = threads;
  return ScheduleTask(KernelProblem{others, kernel, target});
}

KernelCycles KernelLibrary::cyclesOn(int threads, mlir::func::FuncOp kernel) {
  const CompiledKernel &done = compiled(kernel);
  auto [known, fresh] = cyclesByThreads.try_emplace({&done, threads});
  if (fresh) {
    ScheduleTask task = taskOn(threads, kernel);
    if (const auto &facts = task.facts(); facts && legal(**facts, done.schedule)) {
      Prediction prediction = (*facts)->predict(done.schedule);
      double moved = 0;
      for (const TensorFacts &input : (*facts)->inputs)
        moved += input.constant ? 0 : bytesOf(input);
      for (const TensorFacts &output : (*facts)->outputs)
        moved += bytesOf(output);
      // The prediction takes 1 / threads of the operands for what a slot has written itself. But all slots wrote them,
      // and all may read the results.
      double foreign = moved / threads * (1.0 / threads - 1.0 / options.threads);
      known->second = {prediction.total() + foreign / otherCoreBytesPerCycle, prediction.memory};
    }
  }
  return known->second;
}

std::optional<double> KernelLibrary::secondsOn(int threads, mlir::func::FuncOp kernel, const MeasuredTimes &times) {
  return times(taskOn(threads, kernel), compiled(kernel).schedule, BatchOrder::call);
}

Outcome<double> KernelLibrary::measuredSeconds(mlir::func::FuncOp kernel, BatchOrder order) const {
  if (!measured)
    return NotApplicable{"nothing was measured"};
  ScheduleTask task(KernelProblem{options, kernel, target});
  const auto &facts = task.facts();
  if (!facts)
    return NotApplicable{facts.reason()};
  for (const ScheduleSource *source : askedByPasses()) {
    Outcome<FoundSchedule> found = source->find(task);
    if (!found || validate(found->schedule).family != (*facts)->family || !legal(**facts, found->schedule))
      continue;
    std::optional<double> seconds = measured(task, found->schedule, order);
    return seconds ? Outcome<double>(*seconds) : NotApplicable{"it was not measured"};
  }
  return NotApplicable{"no schedule is legal"};
}

std::pair<double, double> KernelLibrary::secondsByOrder(mlir::func::FuncOp kernel) const {
  Outcome<double> byCall = measuredSeconds(kernel, BatchOrder::call);
  Outcome<double> byImages = measuredSeconds(kernel, BatchOrder::images); // always: the caller may note both
  return byCall && byImages ? std::pair(*byCall, *byImages) : std::pair(0.0, 0.0);
}

WholeChoice KernelLibrary::staysWhole(mlir::func::FuncOp kernel, const std::vector<mlir::func::FuncOp> &parts) const {
  ScheduleTask task(KernelProblem{options, kernel, target});
  for (const ScheduleSource *source :
       {static_cast<const ScheduleSource *>(&schedules), static_cast<const ScheduleSource *>(&written)})
    if (Outcome<FoundSchedule> found = source->find(task))
      return {isForPairs(found->schedule)};
  for (mlir::func::FuncOp part : parts)
    if (std::optional<Schedule> given = schedules.scheduleOf(part.getName().str()))
      if (!isForPairs(*given)) // else another kernel has that name now
        return {false};
  if (!task.facts())
    return {false};
  const bool predicted = separablePays(**task.facts());
  if (!measured)
    return {predicted};
  Outcome<double> one = measuredSeconds(kernel), two = 0.0;
  for (mlir::func::FuncOp part : parts) {
    Outcome<double> seconds = measuredSeconds(part); // asks for all parts: the caller may note kernels without times
    two = two && seconds ? Outcome<double>(*two + *seconds) : NotApplicable{"a part was not measured"};
  }
  if (!one || !two)
    return {predicted};
  double here = predicted ? *one : *two, there = predicted ? *two : *one;
  bool changes = (1 + measuredDoubt) * there < here;
  return {predicted != changes, changes};
}

const CompiledKernel &KernelLibrary::compiled(mlir::func::FuncOp kernel) {
  schedules.use(kernel.getName().str(), nn::nodeNames(kernel.getLoc()));
  Entry &entry = *lookUp(kernel).entry;
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

CodeImage KernelLibrary::emit(int jobs, KernelCache &cache, const std::function<void(size_t, size_t)> &progress) {
  Objects objects{std::vector<std::vector<char>>(used.size()), std::vector<std::string>(used.size()), {}};
  for (size_t i = 0; i < used.size(); ++i) {
    if (cache.enabled() || jobs > 1)
      objects.texts[i] = genericText(*used[i]->module);
    if (std::optional<std::vector<char>> kept = cache.find(objects.texts[i])) {
      objects.code[i] = std::move(*kept);
      used[i]->module = {};
    } else {
      objects.missing.push_back(i);
    }
  }
  size_t done = used.size() - objects.missing.size();
  auto lowered = [&](size_t i) {
    cache.store(objects.texts[i], objects.code[i]);
    if (progress)
      progress(++done, used.size());
  };
  if (jobs <= 1)
    lowerHere(objects, lowered);
  else
    lowerInThreads(objects, jobs, lowered);
  return linkImage(objects.code, target);
}

void KernelLibrary::lowerHere(Objects &objects, const std::function<void(size_t)> &lowered) {
  for (size_t i : objects.missing) {
    objects.code[i] = emitObject(*used[i]->module, target);
    used[i]->module = {};
    lowered(i);
  }
}

void KernelLibrary::lowerInThreads(Objects &objects, int jobs, const std::function<void(size_t)> &lowered) {
  // MLIR uniques types per context, so each thread lowers kernels that it parses from text in its own context.
  for (size_t i : objects.missing)
    used[i]->module = {};
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr broken;
  auto work = [&] {
    try {
      auto context = makeContext();
      for (size_t at; (at = next++) < objects.missing.size();) {
        size_t i = objects.missing[at];
        auto module = mlir::parseSourceString<mlir::ModuleOp>(objects.texts[i], context.get());
        require(static_cast<bool>(module), "internal: kernel @{} cannot be read back from its text",
                used[i]->outcome->name);
        objects.code[i] = emitObject(*module, target);
        std::lock_guard lock(mutex);
        lowered(i);
      }
    } catch (...) {
      std::lock_guard lock(mutex);
      broken = std::current_exception();
      next = objects.missing.size();
    }
  };
  std::vector<std::thread> workers;
  for (size_t i = 0; i < std::min<size_t>(jobs, objects.missing.size()); ++i)
    workers.emplace_back(work);
  for (std::thread &worker : workers)
    worker.join();
  if (broken)
    std::rethrow_exception(broken);
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
