// `lathe tune`: searches schedules for the kernels of a model by measuring them.
#include "cli/CompilerVerbs.h"
#include "cli/flags/StoreFlags.h"
#include "cli/flags/TuneFlags.h"
#include "cli/print/tune/TunePrint.h"
#include "cli/print/tune/TunedModelsPrint.h"
#include "jobs/tune/EvaluateModel.h"

#include <iostream>

namespace lathe::cli {
namespace {

int tuneModels(const TuneAllOptions &all, const Options &options) {
  TunedAll tuned = tuneAll(all, [&](auto &&...finished) {
    if (options.printsText())
      std::cout << finishedText(finished...) << std::flush;
  });
  if (options.printsText())
    std::cout << tunedModelsText(tuned, options.tableStyle()) << std::flush;
  options.writeJson(tunedModelsJson(all, tuned));
  if (!all.page.empty())
    writeFile(all.page, tunedModelsPage(all, tuned));
  return tuned.failed ? failedVerdict : success;
}

int evaluate(const TuneFlags &flags, const Options &options) {
  store::Store store = StoreFlags{flags.job.record.file}.open();
  ModelEvaluation found = evaluateModel(store, flags.job.model, flags.job.search.seed);
  Table models = tune::modelTable(found.models);
  options.writeJson({{"store", store.path()},
                     {"measured_tasks", found.tasks},
                     {"measured_schedules", found.schedules},
                     {"models", toJson(models)}});
  if (options.printsText())
    std::cout << fmt::format("{} of {}\n{}", counted(int64_t(found.schedules), "measured schedule"),
                             counted(int64_t(found.tasks), "task"), models.str(options.tableStyle()));
  return success;
}

int train(const TuneFlags &flags, const Options &options) {
  store::Store store = StoreFlags{flags.job.record.file}.open();
  tune::ModelKind kind = *tune::modelKindOf(flags.job.searcherName());
  std::vector<std::string> families = trainModel(store, kind, flags.job.search.seed, flags.trainTo);
  options.writeJson({{"file", flags.trainTo}, {"model", name(kind)}, {"families", families}});
  if (options.printsText())
    std::cout << fmt::format("{}: {} for {}\n", flags.trainTo, name(kind), listed(families));
  return success;
}

int listTasks(const TuneJob &job, const Options &options) {
  TasksToTune tasks = tasksToTune(job);
  Table table = listedTasks(tasks.list.tasks);
  nlohmann::json document = tasks.document(job);
  document["tasks"] = toJson(table);
  options.writeJson(document);
  if (options.printsText())
    std::cout << table.str(options.tableStyle());
  return success;
}

int search(const TuneJob &job, const Options &options) {
  Tuned tuned = tuneTasks(job, [&](const SearchStart &start) {
    if (options.printsText())
      std::cout << startText(start) << std::flush;
  });
  Table tasks = tunedTasks(tuned);
  options.writeJson(tunedJson(job, tuned, tasks));
  if (options.printsText())
    std::cout << tunedText(job, tuned, tasks, options.tableStyle()) << std::flush;
  std::string failure = failureText(tuned);
  if (failure.empty())
    return success;
  sayError("tune", fmt::format("{}: {}", job.subject(), failure));
  return failedVerdict;
}

} // namespace

int tuneVerb(const Arguments &arguments) {
  TuneFlags flags;
  Options options("tune",
                  "Search schedules for the kernels of a model by measuring them on this machine. Every candidate is\n"
                  "checked against the reference; one is kept only where it is measurably faster than the default.",
                  "  lathe tune resnet50.onnx --threads 2 --budget 5m\n"
                  "  lathe tune zoo:mobilenet_v2 --list-tasks\n"
                  "  lathe tune model.onnx --trials 64 --searcher random --compare\n"
                  "  lathe tune model.onnx --beside other.lathe --budget 10m\n"
                  "  lathe tune --problem conv2d:ic64ih56oc64kh3ph1 --threads 2\n"
                  "  lathe tune --all zoo:resnet18,zoo:mobilenet_v2,model.onnx --budget 10m -o table.md\n"
                  "  lathe tune model.onnx --target aarch64-linux-gnu,cpu=cortex-a76 --via \"ssh board\"\n"
                  "  lathe tune --evaluate-model --store all.db\n");
  flags.add(options);
  options.parseAll(arguments);
  if (flags.isAll()) {
    ::unsetenv(noRecordsVariable); // the records are what is measured
    flags.job.startModels();       // says now, and once, what is wrong with them
    return tuneModels(flags.forAll(arguments), options);
  }
  if (!flags.job.output.empty())
    requireNoTerminal(flags.job.output, "a package");
  if (flags.evaluate)
    return evaluate(flags, options);
  if (!flags.trainTo.empty())
    return train(flags, options);
  flags.job.command = arguments;
  if (flags.list)
    return listTasks(flags.job, options);
  if (flags.space.file.empty())
    return search(flags.job, options);
  ExportedSpace written = exportSpace(flags.job, flags.space);
  if (options.printsText())
    std::cout << spaceText(written);
  return success;
}

} // namespace lathe::cli
