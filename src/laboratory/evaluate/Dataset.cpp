#include "evaluate/Dataset.h"

#include "runtime/NpyTensor.h"
#include "support/Table.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

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
  for (std::string line; std::getline(file, line);) {
    require(line.find('\0') == line.npos, "{}: is no text, expected one", path);
    if (lines.empty() && line.starts_with("\xef\xbb\xbf")) // U+FEFF, which editors write before UTF-8
      line.erase(0, 3);
    lines.push_back(trimmed(line));
  }
  return lines;
}

/// The classes that `text` names, by the most specific match: the label, the label in another case, its first word, the
/// index.
std::vector<size_t> classesNamed(const std::string &text, const std::vector<std::string> &labels) {
  std::string wanted = lower(text);
  auto matching = [&](auto &&matches) {
    std::vector<size_t> found;
    for (size_t i = 0; i < labels.size(); ++i)
      if (matches(labels[i]))
        found.push_back(i);
    return found;
  };
  std::vector<size_t> found = matching([&](const std::string &label) { return label == text; });
  if (found.empty())
    found = matching([&](const std::string &label) { return lower(label) == wanted; });
  if (found.empty())
    found = matching([&](const std::string &label) {
      return !wanted.empty() && lower(label.substr(0, label.find_first_of(" \t,"))) == wanted;
    });
  size_t index = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (found.empty() && error == std::errc() && end == text.data() + text.size() &&
      (labels.empty() || index < labels.size()))
    found.push_back(index);
  return found;
}

size_t requiredClass(const std::string &text, const std::vector<std::string> &labels, const std::string &place) {
  std::vector<size_t> found = classesNamed(text, labels);
  require(!found.empty() || !labels.empty(),
          "{}: class '{}' is no index of a class: give the names of the classes with --labels FILE", place, text);
  require(!found.empty(), "{}: class '{}' is unknown, expected one of the {} labels or its index", place, text,
          labels.size());
  require(found.size() == 1, "{}: class '{}' may be that of line {} or {} of the labels: give its index, {} or {}",
          place, text, found[0] + 1, found.back() + 1, found[0], found.back());
  return found[0];
}

/// Reads a CSV file of samples. `labels` null: the classes are not needed.
std::vector<LabelledPicture> readCsv(const std::string &path, const std::vector<std::string> *labels) {
  std::vector<LabelledPicture> pictures;
  size_t number = 0;
  for (const std::string &line : linesOf(path)) {
    ++number;
    if (line.empty())
      continue;
    std::string place = fmt::format("{}: line {}", path, number);
    std::vector<std::string> cells = csvCells(line);
    if (number == 1 && (cells.size() > 1 || !labels) && lower(trimmed(cells[0])) == "file")
      continue;
    std::string file = (fs::path(path).parent_path() / trimmed(cells[0])).string();
    if (!labels) {
      pictures.push_back({file, std::nullopt});
      continue;
    }
    require(cells.size() > 1, "{}: has one column, expected two: file,class", place);
    std::string named = cells[1];
    if (cells.size() > 2) // an unquoted label with commas
      named = line.substr(line.find(',') + 1);
    pictures.push_back({file, requiredClass(trimmed(named), *labels, place)});
  }
  return pictures;
}

bool isArrayFile(const std::string &path) { return path.ends_with(".npy") || path.ends_with(".npz"); }

/// The classes of `count` samples, as an archive states them.
std::vector<size_t> archiveLabels(const NpzMember &member, size_t count, const std::string &path) {
  Tensor labels = toTensor(member.array);
  require(isInteger(labels.type()) && static_cast<size_t>(labels.elements()) == count && labels.dims()[0] > 0 &&
              static_cast<size_t>(labels.dims()[0]) == count,
          "{}: '{}' is {} {}, expected {} integers, the class of each sample", path, member.name, name(labels.type()),
          fmt::join(labels.dims(), "x"), count);
  std::vector<size_t> classes;
  for (int64_t i = 0; i < labels.elements(); ++i) {
    double label = labels.asDouble(i);
    require(label >= 0, "{}: '{}' has the class {} at {}, expected indices from 0 on", path, member.name, label, i);
    classes.push_back(static_cast<size_t>(label));
  }
  return classes;
}

Dataset readArchive(const std::string &path) {
  Dataset data;
  const NpzMember *labels = nullptr;
  std::vector<NpzMember> members = readNpz(path);
  for (const NpzMember &member : members)
    if (isLabelName(member.name)) {
      require(!labels, "{}: '{}' and '{}' may both be the classes, expected one of them", path,
              labels ? labels->name : "", member.name);
      labels = &member;
    }
  int64_t count = -1;
  for (const NpzMember &member : members) {
    if (&member == labels)
      continue;
    const auto &dims = member.array.dims;
    require(!dims.empty() && (count < 0 || dims[0] == count), "{}: '{}' is {}, expected {} along the first axis", path,
            member.name, fmt::join(dims, "x"),
            count < 0 ? "samples" : fmt::format("{} samples, as '{}' has", count, data.archive[0].name));
    count = dims[0];
    data.archive.push_back(member);
  }
  require(count > 0, "{}: has no samples, expected an array for each input and one called labels", path);
  std::vector<size_t> classes;
  if (labels)
    classes = archiveLabels(*labels, static_cast<size_t>(count), path);
  for (int64_t i = 0; i < count; ++i)
    data.pictures.push_back({path, labels ? std::optional(classes[static_cast<size_t>(i)]) : std::nullopt, i});
  return data;
}

/// The entries of a folder, without names that begin with a dot, which systems and editors create.
std::vector<fs::directory_entry> entriesOf(const fs::path &folder) {
  std::vector<fs::directory_entry> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (!at->path().filename().string().starts_with("."))
      entries.push_back(*at);
  require(!error, "{}: cannot be read: {}", folder.string(), error.message());
  return entries;
}

bool isFolder(const fs::directory_entry &entry) {
  std::error_code ignored;
  return entry.is_directory(ignored);
}

/// Why the entry is not a picture; "" for a picture.
std::string reasonAgainst(const fs::directory_entry &entry) {
  std::error_code ignored;
  fs::file_status status = entry.status(ignored);
  if (status.type() == fs::file_type::none || status.type() == fs::file_type::not_found)
    return "a link to nothing";
  if (status.type() == fs::file_type::directory)
    return "a folder inside of a class";
  if (!isPicture(entry.path().string()) && !isArrayFile(entry.path().string()))
    return "no .png, .jpg or .bmp file";
  return status.type() == fs::file_type::regular ? "" : "no regular file";
}

void addPictures(Dataset &data, const std::vector<fs::directory_entry> &entries, std::optional<size_t> label) {
  for (const fs::directory_entry &entry : entries)
    if (std::string reason = reasonAgainst(entry); reason.empty())
      data.pictures.push_back({entry.path().string(), label});
    else
      data.skipped.push_back({entry.path().string(), reason});
}

/// Pictures in a subfolder have the class of the subfolder. Pictures in the folder itself count only if no subfolder
/// has pictures.
Dataset readFolder(const std::string &path, const std::vector<std::string> &labels) {
  Dataset data;
  std::vector<fs::directory_entry> loose;
  for (const fs::directory_entry &entry : entriesOf(path))
    if (isFolder(entry))
      addPictures(data, entriesOf(entry.path()), requiredClass(entry.path().filename().string(), labels, path));
    else
      loose.push_back(entry);
  if (data.pictures.empty()) {
    addPictures(data, loose, std::nullopt);
  } else {
    for (const fs::directory_entry &entry : loose) {
      std::string reason = reasonAgainst(entry);
      data.skipped.push_back({entry.path().string(), reason.empty() ? "outside of the folders of classes" : reason});
    }
  }
  auto byPath = [](const auto &a, const auto &b) { return a.path < b.path; };
  std::sort(data.pictures.begin(), data.pictures.end(), byPath);
  std::sort(data.skipped.begin(), data.skipped.end(), byPath);
  return data;
}

/// The errors of pictures that cannot be read, "" for the others.
std::vector<std::string> readingErrors(const std::vector<LabelledPicture> &pictures,
                                       const std::function<void(size_t)> &progress) {
  std::vector<std::string> errors(pictures.size());
  std::atomic<size_t> next = 0, done = 0;
  auto work = [&] {
    for (size_t i = next++; i < pictures.size(); i = next++) {
      try {
        if (pictures[i].path.ends_with(".npy"))
          readNpy(pictures[i].path);
        else if (pictures[i].path.ends_with(".npz"))
          pictures[i].row < 0 ? void(readNpz(pictures[i].path)) : void();
        else
          readPicture(pictures[i].path);
      } catch (const std::exception &error) {
        errors[i] = error.what();
      }
      ++done;
    }
  };
  constexpr size_t mostThreads = 16, picturesOfThread = 4;
  size_t count = std::min(
      {size_t(std::max(1u, std::thread::hardware_concurrency())), mostThreads, pictures.size() / picturesOfThread + 1});
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i)
    threads.emplace_back(work);
  while (done < pictures.size()) {
    if (progress)
      progress(done);
    std::this_thread::sleep_for(std::chrono::milliseconds(done < 16 ? 1 : 50));
  }
  for (std::thread &thread : threads)
    thread.join();
  return errors;
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
  std::map<std::string, size_t> times, whole;
  for (const std::string &label : labels) {
    ++times[beginning(label)];
    ++whole[label];
  }
  std::vector<std::string> names;
  for (const std::string &label : labels)
    names.push_back(whole[label] > 1              ? fmt::format("{} ({})", label, names.size())
                    : times[beginning(label)] > 1 ? label
                                                  : beginning(label));
  return names;
}

Dataset readDataset(const std::string &path, const std::vector<std::string> &labels) {
  std::error_code ignored;
  require(fs::exists(path, ignored), "{}: does not exist, expected a folder, a CSV file or an .npz file", path);
  if (path.ends_with(".npz") && !fs::is_directory(path, ignored))
    return readArchive(path);
  Dataset data = fs::is_directory(path, ignored) ? readFolder(path, labels) : Dataset{readCsv(path, &labels), {}, {}};
  require(!data.pictures.empty(), "{}: has no pictures, expected .png, .jpg or .bmp files", path);
  return data;
}

std::vector<LabelledPicture> listedSamples(const std::string &path) { return readCsv(path, nullptr); }

bool isLabelName(const std::string &name) {
  static const std::set<std::string> names = {"class", "classes", "label", "labels", "y", "y_test"};
  return names.contains(name);
}

bool Dataset::isArrays(const LabelledPicture &sample) const { return sample.row >= 0 || isArrayFile(sample.path); }

SampleArrays Dataset::arraysOf(const LabelledPicture &sample) const {
  SampleArrays arrays;
  if (sample.row < 0 && sample.path.ends_with(".npy"))
    return {{"", toTensor(readNpy(sample.path))}};
  if (sample.row < 0) {
    for (NpzMember &member : readNpz(sample.path))
      arrays.emplace_back(member.name, toTensor(std::move(member.array)));
    return arrays;
  }
  for (const NpzMember &member : archive) {
    std::vector<int64_t> dims = member.array.dims;
    dims[0] = 1;
    Tensor one(member.array.type, dims);
    require(one.type() != ElementType::string, "{}: '{}' holds strings, expected numbers", sample.path, member.name);
    std::memcpy(one.data(), member.array.data.data() + sample.row * one.bytes(), static_cast<size_t>(one.bytes()));
    arrays.emplace_back(member.name, std::move(one));
  }
  return arrays;
}

void checkPictures(Dataset &data, bool skips, const std::function<void(size_t)> &progress) {
  constexpr size_t named = 10;
  std::vector<std::string> errors = readingErrors(data.pictures, progress);
  size_t count = errors.size() - static_cast<size_t>(std::count(errors.begin(), errors.end(), "")), said = 0;
  if (count == 0)
    return;
  std::string text;
  std::vector<LabelledPicture> good;
  for (size_t i = 0; i < errors.size(); ++i) {
    const std::string &file = data.pictures[i].path;
    if (errors[i].empty()) {
      good.push_back(data.pictures[i]);
      continue;
    }
    if (said++ < named)
      text += (text.empty() ? "" : "; ") + errors[i];
    std::string prefix = file + ": "; // callers print the path separately
    data.skipped.push_back({file, errors[i].starts_with(prefix) ? errors[i].substr(prefix.size()) : errors[i]});
  }
  if (count > named)
    text += fmt::format("; and {} more", count - named);
  require(skips || count == 1, "{} of {} pictures cannot be read: {} (--skip-unreadable leaves them out)", count,
          errors.size(), text);
  require(skips, "{} (--skip-unreadable leaves it out)", text);
  require(!good.empty(), "none of {} pictures can be read: {}", errors.size(), text);
  data.pictures = std::move(good);
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
