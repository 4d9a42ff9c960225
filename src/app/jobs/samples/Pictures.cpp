#include "cli/samples/Pictures.h"

#include "cli/print/Progress.h"
#include "support/Text.h"

namespace lathe::cli {

void DataFlags::add(Options &options, const std::string &dataHelp) {
  HelpSection section(options, "Inputs");
  options.add_option("--data", data, dataHelp)->type_name("DIR|F.csv|F.npz");
  options.add_option("--labels", labels, "Read the names of the classes from FILE, one a line")->type_name("FILE");
  options.add_flag("--skip-unreadable", skipUnreadable,
                   "Leave out pictures that cannot be read, and name them, instead of ending with an error");
  options
      .add_option("--random-crops", crops,
                  "Classify this many random crops of at least half the sides instead of the whole pictures")
      ->check(CLI::Range(1, 1 << 24))
      ->type_name("N");
  options.reads([this] { return std::vector<std::string>{labels}; });
}

evaluate::Dataset DataFlags::read(const std::vector<std::string> &names, const std::string &task) const {
  evaluate::Dataset set = evaluate::readDataset(data, names);
  Progress progress(task);
  size_t count = set.pictures.size();
  evaluate::checkPictures(set, skipUnreadable, [&](size_t done) { progress.update("checking pictures", done, count); });
  return set;
}

std::vector<std::string> DataFlags::labelsOr(const std::vector<std::string> &stated) const {
  return labels.empty() ? stated : evaluate::readLabels(labels);
}

std::string skippedText(const std::vector<evaluate::SkippedFile> &files) {
  constexpr size_t named = 5;
  if (files.empty())
    return "";
  std::string text;
  for (size_t i = 0; i < std::min(named, files.size()); ++i)
    text += fmt::format("{}{} ({})", i ? ", " : "", files[i].path, files[i].reason);
  if (files.size() > named)
    text += fmt::format(" and {} more (--json lists them)", files.size() - named);
  return fmt::format("skipped {}: {}\n", counted(int64_t(files.size()), "file"), printable(text));
}

nlohmann::json skippedJson(const std::vector<evaluate::SkippedFile> &files) {
  nlohmann::json list = nlohmann::json::array();
  for (const evaluate::SkippedFile &file : files)
    list.push_back({{"file", file.path}, {"reason", file.reason}});
  return list;
}

} // namespace lathe::cli
