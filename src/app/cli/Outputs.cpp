#include "cli/Outputs.h"

#include "jobs/Values.h"
#include "lab/judging/OutputSummary.h"
#include "support/Npy.h"
#include "support/PendingFile.h"
#include "support/Text.h"
#include "support/zip/ArrayNames.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

namespace lathe::cli {

static std::string firstElements(const Tensor &tensor) {
  if (tensor.type() == ElementType::string)
    return "";
  std::string text;
  for (int64_t i = 0; i < std::min<int64_t>(tensor.elements(), 5); ++i)
    text += (i ? ", " : "") + fmt::format("{:.6g}", tensor.asDouble(i));
  return "[" + text + (tensor.elements() > 5 ? ", ..." : "") + "]";
}

void printOutputs(std::span<const std::string> names, std::span<const Value> outputs, nlohmann::json &json,
                  bool print) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].isTensor()) {
      if (print)
        std::cout << fmt::format("{}: {}\n", printable(names[i]), valueText(outputs[i]));
      json["outputs"].push_back({{"name", names[i]}, {"value", valueText(outputs[i])}});
      continue;
    }
    const Tensor &tensor = outputs[i].tensor();
    lab::OutputSummary summary = lab::summarizeOutput(tensor);
    if (print)
      std::cout << fmt::format("{}: {} {}, {} {}{}\n", printable(names[i]), name(tensor.type()),
                               dimsText(tensor.dims()), summary.str(), firstElements(tensor),
                               summary.mistrust.empty() ? "" : "  -- mistrusted: " + summary.mistrust);
    auto finite = [&](double value) { return summary.measured() ? nlohmann::json(value) : nlohmann::json(); };
    json["outputs"].push_back({{"name", names[i]},
                               {"type", name(tensor.type())},
                               {"dims", tensor.dims()},
                               {"min", finite(summary.min)},
                               {"max", finite(summary.max)},
                               {"mean", finite(summary.mean)},
                               {"not_finite", summary.nan + summary.infinite},
                               {"nan_count", summary.nan},
                               {"infinite_count", summary.infinite},
                               {"mistrusted", summary.mistrust}});
  }
}

void requireValuesPath(const std::string &path, size_t count) {
  std::error_code ignored;
  if (path.ends_with('/') || std::filesystem::is_directory(path, ignored) || path.ends_with(".npz"))
    return;
  bool one = PendingFile::isStream(path) || path.ends_with(".npy");
  require(one, "-o {}: expected FILE.npy, FILE.npz, or a folder (FOLDER/)", path);
  require(count == 1, "-o {}: takes one output and the model has {}: give FILE.npz or a folder (FOLDER/)", path, count);
  requireNoTerminal(path, "an array");
}

void writeValues(const std::string &path, std::span<const std::string> names, std::span<const Value> values) {

  if (path.ends_with(".npz")) {
    std::vector<ValueArray> arrays;
    for (size_t i = 0; i < names.size(); ++i)
      std::ranges::move(arraysOf(names[i], values[i]), std::back_inserter(arrays));
    std::vector<NpzEntry> entries;
    for (const ValueArray &array : arrays)
      entries.push_back({array.name, npyView(array.tensor)});
    return writeNpz(path, entries);
  }
  for (size_t i = 0; i < names.size(); ++i)
    require(values[i].isTensor(), "output '{}' is {}: give -o FILE.npz", names[i], name(kindOf(values[i])));
  requireValuesPath(path, names.size());
  if (PendingFile::isStream(path) || path.ends_with(".npy"))
    if (std::error_code ignored; !std::filesystem::is_directory(path, ignored) && !path.ends_with('/'))
      return writeNpy(path, npyView(values[0].tensor()));
  std::error_code error;
  std::filesystem::create_directories(path, error);
  require(!error, "{}: cannot create: {}", path, error.message());
  std::vector<std::string> files = fileNames(names);
  for (size_t i = 0; i < names.size(); ++i)
    writeNpy(path + "/" + files[i] + ".npy", npyView(values[i].tensor()));
}

} // namespace lathe::cli
