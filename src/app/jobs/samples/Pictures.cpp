#include "jobs/samples/Pictures.h"

#include "jobs/Progress.h"
#include "support/Text.h"

namespace lathe::jobs {

evaluate::Dataset DataOptions::read(const std::vector<std::string> &names, const std::string &task) const {
  evaluate::Dataset set = evaluate::readDataset(data, names);
  Progress progress(task);
  size_t count = set.pictures.size();
  evaluate::checkPictures(set, skipUnreadable, [&](size_t done) { progress.update("checking pictures", done, count); });
  return set;
}

std::vector<std::string> DataOptions::labelsOr(const std::vector<std::string> &stated) const {
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

} // namespace lathe::jobs
