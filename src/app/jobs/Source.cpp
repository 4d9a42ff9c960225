#include "jobs/Source.h"

#include "cache/ModelFiles.h"
#include "jobs/Inputs.h"
#include "jobs/Self.h"
#include "jobs/Terminal.h"
#include "jobs/UsedRecords.h"

#include "import/Foreign.h"
#include "import/Import.h"
#include "import/UnusedDefinitions.h"
#include "ir/Context.h"
#include "ir/SymbolicShapes.h"
#include "package/Hash.h"
#include "passes/Pipeline.h"
#include "zoo/Zoo.h"

#include "mlir/IR/Diagnostics.h"

#include <filesystem>
#include <thread>

namespace lathe::jobs {

/// Hash of a module's text and of its weights, which the text omits.
static std::string contentOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags printing;
  printing.elideLargeElementsAttrs(64).elideLargeResourceString(64);
  module.print(stream, printing);
  package::Hasher hasher;
  hasher.update(text.data(), text.size());
  module.walk([&](nn::ConstantOp constant) {
    nn::ConstantData data = nn::constantData(constant.getValue());
    hasher.update(data.bytes.data(), data.bytes.size());
  });
  return fmt::format("{:016x}", hasher.digest());
}

std::string sourceText(const ModelOptions &flags, const Source &source) {
  auto content = (*source.module)->getAttrOfType<mlir::StringAttr>("nn.content");
  return content ? flags.model + "@" + content.str() : std::filesystem::path(flags.model).filename().string();
}

ImportOptions importOptions(const ModelOptions &flags) {
  ImportOptions options;
  for (const std::string &text : flags.shapes) {
    auto [name, dims] = parseShape(text);
    require(options.shapes.emplace(name, dims).second, "--shape {}: given twice for '{}'", text, name);
  }
  if (flags.requantizeRounding == "optimised")
    options.requantizeRounding = RequantizeRounding::optimised;
  options.signature = flags.signature;
  options.overrides.insert(flags.overrides.begin(), flags.overrides.end());
  options.leaveOut = flags.leaveOut;
  for (const auto &[name, file] : customDefinitions(flags.custom))
    options.custom[name.substr(name.starts_with("?"))] = file;
  return options;
}

/// Imports the file. Definitions that need not be used (leaveDefinitionsUnused) are left out if they are not.
static mlir::OwningOpRef<mlir::ModuleOp> importFile(mlir::MLIRContext &context, const ModelOptions &flags) {
  ImportOptions options = importOptions(flags);
  try {
    return importModel(context, flags.model, options);
  } catch (const UnusedDefinitions &unused) {
    std::map<std::string, std::string> given = customDefinitions(flags.custom);
    for (const std::string &name : unused.classes) {
      if (!given.contains("?" + name))
        throw;
      options.custom.erase(name);
    }
  }
  return importModel(context, flags.model, options);
}

/// Bytes of the model and of the files that belong to it; 0 for a pipe, which can be read only once.
static uint64_t bytesOfFiles(const std::string &model) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(model, error) && !std::filesystem::is_directory(model, error))
    return 0;
  uint64_t bytes = 0;
  for (const std::string &file : cache::modelFiles(model))
    if (uintmax_t size = std::filesystem::file_size(file, error); !error)
      bytes += size;
  return bytes;
}

static uint64_t constantBytes(mlir::ModuleOp module) {
  uint64_t bytes = 0;
  module.walk([&](nn::ConstantOp constant) {
    auto type = llvm::cast<mlir::ShapedType>(constant.getType());
    bytes += byteSize(nn::toElementType(type.getElementType()), type.getNumElements());
  });
  return bytes;
}

Source loadSource(const ModelOptions &flags) {
  Source source;
  source.context = makeContext();
  if (flags.isZoo()) {
    ZooOptions zoo;
    zoo.seed = flags.zooSeed;
    if (flags.zooBatch)
      zoo.batch = flags.zooBatch;
    zoo.sequence = flags.zooSequence;
    source.module = buildZoo(*source.context, flags.zooName(), zoo);
    (*source.module)->setAttr("nn.content", mlir::StringAttr::get(source.context.get(), contentOf(*source.module)));
    source.fileBytes = constantBytes(*source.module);
    return source;
  }
  require(!isPackage(flags.model), "{}: is a compiled package, expected a model: {}", flags.model, readFormats());
  source.module = importFile(*source.context, flags);
  if (hasKernels(*source.module)) { // formed already: the passes are skipped
    const ModelOptions defaults;
    require(flags.level == defaults.level && flags.layout == defaults.layout && !flags.referencesOnly,
            "{}: has no effect on {}, which is text at kernels level; start from the model",
            flags.referencesOnly            ? "--references-only"
            : flags.level != defaults.level ? fmt::format("-O {}", flags.level)
                                            : "--layout " + name(flags.layout),
            flags.model);
  }
  if (auto assumed = (*source.module)->getAttrOfType<mlir::StringAttr>(assumptionAttribute)) {
    if (!Progress::isSilent())
      say(fmt::format("lathe {}: {}: {}", shownVerb(), flags.model, assumed.str()));
    (*source.module)->removeAttr(assumptionAttribute);
  }
  (*source.module)->removeAttr("nn.content"); // removes the content hash of the original network
  source.fileBytes = bytesOfFiles(flags.model);
  if (source.fileBytes == 0 || modelFormat(flags.model) == "text") // a text may name any file as its weights
    source.fileBytes = std::max(source.fileBytes, constantBytes(*source.module));
  return source;
}

Source loadPart(const ModelOptions &flags, std::vector<ImportIssue> &issues) {
  try {
    return loadSource(flags);
  } catch (const UnsupportedError &error) {
    issues = error.issues;
    ModelOptions part = flags;
    part.leaveOut = true;
    try {
      return loadSource(part);
    } catch (const Error &) {
    }
    throw;
  }
}

CompileOptions compileOptions(const ModelOptions &flags, Progress *progress) {
  CompileOptions options((CompileChoices(flags)));
  for (NamedText *text : {&options.machine, &options.schedule})
    if (!text->name.empty())
      text->text = readFile(text->name);
  if (!flags.noCache)
    options.kernelCache = cacheFolderOrSay("kernels");
  auto records = std::make_shared<UsedRecords>(flags);
  options.company = flags.company;
  if (!flags.company.empty() && !records->hasCompany() && !Progress::isSilent())
    say(fmt::format("lathe {}: there are no tuning records {}: those of kernels alone are used", shownVerb(),
                    flags.company));
  if (!records->empty()) {
    records->addShipped(targetOf(options).key());
    options.schedules.push_back(std::make_shared<TaskSchedules>(
        "the records",
        [records](const std::string &task) -> std::optional<TaskSchedules::Entry> {
          auto entry = records->find(task);
          return entry ? std::optional(TaskSchedules::Entry{entry->schedule, entry->origin}) : std::nullopt;
        },
        true));
  }
  if (records->hasTimes())
    options.measured = [records](const ScheduleTask &task, const Schedule &schedule, BatchOrder order) {
      return records->seconds(task.text(), schedule.str(), order);
    };
  if (records->hasStreams()) {
    options.measuredStreams.times = [records](const ScheduleTask &task, const Schedule &schedule, BatchOrder) {
      return records->teamSeconds(task.text(), schedule.str());
    };
    options.measuredStreams.decision =
        [records, threads = options.threads, target = targetOf(options).key()](
            const std::string &plan) -> std::optional<std::pair<std::string, std::string>> {
      auto entry = records->streams(streamTask(plan, threads, target));
      return entry ? std::optional(std::pair(entry->schedule, entry->origin)) : std::nullopt;
    };
  }
  if (progress)
    options.progress = [progress](const CompileProgress &at) { progress->update(at.what, at.done, at.total); };
  return options;
}

} // namespace lathe::jobs
