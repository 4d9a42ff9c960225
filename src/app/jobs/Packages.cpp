#include "jobs/Packages.h"

#include "cache/ModelFiles.h"
#include "jobs/Progress.h"
#include "jobs/Self.h"
#include "jobs/Terminal.h"
#include "jobs/UsedRecords.h"
#include "package/Hash.h"
#include "support/File.h"

#include <filesystem>

namespace lathe::jobs {

std::vector<std::string> filesOf(const ModelOptions &flags) {
  std::vector<std::string> files;
  std::error_code ignored;
  if (!flags.isZoo() &&
      (std::filesystem::is_regular_file(flags.model, ignored) || std::filesystem::is_directory(flags.model, ignored)))
    files = isPackage(flags.model) ? std::vector<std::string>{flags.model} : cache::modelFiles(flags.model);
  for (const std::string &file : {flags.schedule.name, flags.machine.name})
    if (!file.empty())
      files.push_back(file);
  for (const auto &[name, file] : customDefinitions(flags.custom))
    files.push_back(file);
  return files;
}

Package openPackage(const std::string &path, const ModelOptions &flags) {
  return {path, runtime::Model::load(path, flags.loadOptions())};
}

Package packageFor(const ModelOptions &flags) {
  if (!flags.isZoo() && isPackage(flags.model))
    return openPackage(flags.model, flags);
  runtime::LoadOptions loading = flags.loadOptions();
  loading.name = flags.model; // messages name the model, not the path of its package
  std::string folder = flags.noCache ? "" : cacheFolderOrSay("packages");
  bool kept = !folder.empty();
  if (!kept)
    folder = temporaryFolder().string();
  Arguments rest = flags.compileArguments();
  UsedRecords records(flags);
  cache::PackageRequest request{.model = flags.model,
                                .isFile = !flags.isZoo(),
                                .flags = rest,
                                .native = flags.target.find("native") != std::string::npos,
                                .scheduleFile = flags.schedule.name,
                                .machineFile = flags.machine.name,
                                .otherFiles = {},
                                .records = records.digest(),
                                .compiler = {ownProgram(), compilerLibrary()}};
  for (const auto &[name, file] : customDefinitions(flags.custom))
    request.otherFiles.push_back(file);
  Package package = cache::findOrMake(request, folder, kept, loading, [&](const std::string &path) {
    Arguments arguments{"compile", flags.model, "-o", path, quietFlag()};
    for (const Arguments &some : {rest, flags.recordArguments()})
      arguments.insert(arguments.end(), some.begin(), some.end());
    if (!kept)
      arguments.push_back("--no-cache");
    runSelf(arguments);
  });
  if (std::string line = recordUse(*package.model).line(flags); !line.empty() && !Progress::isSilent())
    say(fmt::format("lathe {}: {}", shownVerb(), line));
  return package;
}

std::optional<uint64_t> modelKey(const ModelOptions &flags) {
  std::error_code ignored;
  bool isFile = std::filesystem::is_regular_file(flags.model, ignored), isZoo = flags.isZoo();
  if (!isFile && !isZoo && !std::filesystem::is_directory(flags.model, ignored))
    return std::nullopt;
  package::Hasher hasher;
  auto text = [&](const std::string &word) { hasher.update(word.c_str(), word.size() + 1); };
  text(isZoo ? flags.model : fmt::format("{:016x}", cache::modelHash(flags.model)));
  for (const std::string &flag : flags.graphArguments())
    text(flag);
  for (const auto &[name, file] : customDefinitions(flags.custom)) {
    auto content = readFile(file);
    hasher.update(content.data(), content.size());
  }
  return hasher.digest();
}

} // namespace lathe::jobs
