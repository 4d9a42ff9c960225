#include "lab/foreign/Foreign.h"

#include "lab/foreign/Readers.h"
#include "store/AutoTvm.h"
#include "store/Lines.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace lathe::lab {

namespace {

struct Format {
  const char *name;
  ForeignReader read;
};
constexpr Format formats[] = {{"benchdnn", readBenchdnn},
                              {"onnxruntime", readOnnxRuntimeProfile},
                              {"google-benchmark", readGoogleBenchmark},
                              {"autotvm", store::readAutoTvmLog}};
constexpr std::array formatNames = {"lathe", formats[0].name, formats[1].name, formats[2].name, formats[3].name};

bool isDirectory(const std::string &path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

/// True for the URL of a server, a store file or a directory.
bool isNoText(const std::string &path) {
  if (store::isServerUrl(path) || isDirectory(path))
    return true;
  std::ifstream file(path, std::ios::binary);
  std::string magic(15, '\0');
  file.read(magic.data(), std::streamsize(magic.size()));
  return magic == "SQLite format 3";
}

/// The first key of an object that begins with `text`.
std::string firstKey(const std::string &text) {
  size_t open = text.find_first_not_of(" \t\r\n", text.find('{') + 1);
  if (open == text.npos || text[open] != '"')
    return "";
  return text.substr(open + 1, text.find('"', open + 1) - open - 1);
}

/// True for Google Benchmark's console or CSV output, instead of the output of --benchmark_format=json.
bool isOtherGoogleBenchmark(const std::string &path) {
  if (isNoText(path))
    return false;
  constexpr size_t mostLines = 100; // the context of the run comes first
  store::LineReader reader(path);
  for (auto line = reader.next(); line && reader.number() <= mostLines; line = reader.next()) {
    std::istringstream words(*line);
    std::string first, second, third, fourth;
    words >> first >> second >> third >> fourth;
    if (line->starts_with("name,iterations,real_time,") ||
        (first == "Benchmark" && second == "Time" && third == "CPU" && fourth.starts_with("Iterations")))
      return true;
  }
  return false;
}

bool isOfBenchdnn(const std::string &line) {
  return line.starts_with("perf,") || line.starts_with("Output template:") || line.starts_with("onednn_verbose,");
}

} // namespace

std::span<const char *const> importFormats() { return formatNames; }

std::string foreignFormatOf(const std::string &path) {
  if (isNoText(path))
    return "";
  constexpr size_t mostLines = 1000, mostBytes = 1 << 16;
  store::LineReader reader(path);
  std::string text; // from the first character that is not a space
  while (auto line = reader.next()) {
    bool isFirst = text.empty();
    text += isFirst ? line->substr(std::min(line->find_first_not_of(" \t\r"), line->size())) : "\n" + *line;
    if (text.starts_with('['))
      return "onnxruntime";
    if (text.starts_with('{')) {
      std::string key = firstKey(text);
      if (key == "context" || key == "benchmarks")
        return "google-benchmark";
      if (!key.empty() || text.size() > mostBytes)
        return "";
      continue;
    }
    if (isOfBenchdnn(*line))
      return "benchdnn";
    if (reader.number() >= mostLines || text.size() > mostBytes)
      return "";
  }
  return "";
}

store::RecordSource importSource(const std::string &path, const std::string &format) {
  std::string name = format.empty() ? foreignFormatOf(path) : format;
  require((!name.empty() && name != "google-benchmark") || !isOtherGoogleBenchmark(path),
          "{}: is output of Google Benchmark as text or CSV, expected JSON: run the benchmarks with "
          "--benchmark_out=FILE --benchmark_out_format=json",
          path);
  for (const Format &known : formats)
    if (name == known.name) {
      require(!store::isServerUrl(path), "{}: expected a file of {}, got a server", store::Location(path).text(), name);
      require(!isDirectory(path), "{}: expected a file, got a directory", path);
      return [path, read = known.read](auto &visit, auto &notes) { read(path, visit, notes); };
    }
  return store::sourceOf(path);
}

} // namespace lathe::lab
