#include "evaluate/Dataset.h"

#include "support/csv/Csv.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>

namespace lathe::evaluate {
namespace {

namespace fs = std::filesystem;

std::string trimmed(std::string text) {
  auto space = [](unsigned char c) { return std::isspace(c) != 0; };
  text.erase(std::find_if_not(text.rbegin(), text.rend(), space).base(), text.end());
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), space));
  return text;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::vector<std::string> linesOf(const std::string &path) {
  std::ifstream file(path);
  require(file.good(), "{}: cannot be read", path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    lines.push_back(trimmed(line));
  return lines;
}

size_t requiredClass(const std::string &text, const std::vector<std::string> &labels, const std::string &place) {
  std::optional<size_t> found = classNamed(text, labels);
  require(found.has_value(), "{}: class '{}' is unknown, expected one of the {} labels or its index", place, text,
          labels.size());
  return *found;
}

std::vector<LabelledPicture> readCsv(const std::string &path, const std::vector<std::string> &labels) {
  std::vector<LabelledPicture> pictures;
  size_t number = 0;
  for (const std::string &line : linesOf(path)) {
    ++number;
    if (line.empty() || (number == 1 && lower(line).starts_with("file,")))
      continue;
    std::string place = fmt::format("{}: line {}", path, number);
    std::vector<std::string> cells = csvCells(line);
    require(cells.size() > 1, "{}: has one column, expected two: file,class", place);
    std::string named = cells[1];
    if (cells.size() > 2) // a label with commas that is not quoted
      named = line.substr(line.find(',') + 1);
    pictures.push_back(
        {(fs::path(path).parent_path() / trimmed(cells[0])).string(), requiredClass(trimmed(named), labels, place)});
  }
  return pictures;
}

void addFolder(std::vector<LabelledPicture> &pictures, const fs::path &folder, std::optional<size_t> label) {
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && isPicture(entry.path().string()))
      pictures.push_back({entry.path().string(), label});
}

/// splitmix64 (Steele, Lea, Flood 2014): the same sequence on every machine.
uint64_t next(uint64_t &state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

} // namespace

std::vector<std::string> readLabels(const std::string &path) {
  std::vector<std::string> labels = linesOf(path);
  while (!labels.empty() && labels.back().empty())
    labels.pop_back();
  require(!labels.empty(), "{}: is empty, expected the name of a class a line", path);
  return labels;
}

std::vector<std::string> shortNames(const std::vector<std::string> &labels) {
  auto beginning = [](const std::string &label) { return trimmed(label.substr(0, label.find(','))); };
  std::map<std::string, size_t> times;
  for (const std::string &label : labels)
    ++times[beginning(label)];
  std::vector<std::string> names;
  for (const std::string &label : labels)
    names.push_back(times[beginning(label)] == 1 ? beginning(label) : label);
  return names;
}

std::optional<size_t> classNamed(const std::string &text, const std::vector<std::string> &labels) {
  std::string wanted = lower(text);
  for (size_t i = 0; i < labels.size(); ++i)
    if (lower(labels[i]) == wanted)
      return i;
  for (size_t i = 0; i < labels.size(); ++i)
    if (std::string label = lower(labels[i]); label.substr(0, label.find_first_of(" \t,")) == wanted)
      return i;
  size_t index = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error == std::errc() && end == text.data() + text.size() && (labels.empty() || index < labels.size()))
    return index;
  return std::nullopt;
}

std::vector<LabelledPicture> readDataset(const std::string &path, const std::vector<std::string> &labels) {
  require(fs::exists(path), "{}: does not exist, expected a folder or a CSV file", path);
  std::vector<LabelledPicture> pictures;
  if (!fs::is_directory(path)) {
    pictures = readCsv(path, labels);
  } else {
    for (const fs::directory_entry &entry : fs::directory_iterator(path))
      if (entry.is_directory())
        addFolder(pictures, entry.path(), requiredClass(entry.path().filename().string(), labels, path));
    if (pictures.empty())
      addFolder(pictures, path, std::nullopt);
    std::sort(pictures.begin(), pictures.end(),
              [](const LabelledPicture &a, const LabelledPicture &b) { return a.path < b.path; });
  }
  require(!pictures.empty(), "{}: has no pictures, expected .png, .jpg or .bmp files", path);
  return pictures;
}

Picture randomlyCropped(const Picture &picture, uint64_t &state) {
  auto below = [&](int64_t count) { return static_cast<int64_t>(next(state) % static_cast<uint64_t>(count)); };
  auto side = [&](int64_t whole) {
    int64_t least = (whole + 1) / 2;
    return least + below(whole - least + 1);
  };
  int64_t width = side(picture.width), height = side(picture.height);
  int64_t x = below(picture.width - width + 1), y = below(picture.height - height + 1);
  return cropped(picture, x, y, width, height);
}

} // namespace lathe::evaluate
