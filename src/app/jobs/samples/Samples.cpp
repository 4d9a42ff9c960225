#include "jobs/samples/Samples.h"

#include "evaluate/Dataset.h"
#include "jobs/Inputs.h"
#include "runtime/NpyTensor.h"
#include "support/PendingFile.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace lathe::jobs {
namespace {

namespace fs = std::filesystem;
using Sample = std::vector<Value>;

/// The extents of a port in one sample; symbols are 1 unless --shape says otherwise.
std::vector<int64_t> extentsOf(const runtime::Port &port, const std::map<std::string, std::vector<int64_t>> &shapes) {
  if (auto given = shapes.find(port.name); given != shapes.end())
    return given->second;
  std::vector<int64_t> dims;
  for (const Dim &dim : port.dims)
    dims.push_back(dim.evaluate([](const std::string &) { return int64_t(1); }));
  return dims;
}

/// The files of a folder that are samples, in order.
std::vector<std::string> filesOf(const fs::path &folder) {
  std::vector<std::string> files;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
    std::string path = entry.path().string();
    if (entry.path().filename().string().starts_with(".")) // systems create hidden files
      continue;
    if (entry.is_regular_file() && (path.ends_with(".npy") || path.ends_with(".npz") || evaluate::isPicture(path)))
      files.push_back(std::move(path));
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The samples of a folder. With a folder for each class: the first sample of each class, then the second, and so on,
/// so that a few samples cover all classes. A CSV file names its samples in its first column.
std::vector<std::string> sampleFiles(const std::string &path) {
  if (!fs::is_directory(path)) {
    std::vector<std::string> files;
    for (const evaluate::LabelledPicture &sample : evaluate::listedSamples(path))
      files.push_back(sample.path);
    return files;
  }
  std::vector<std::vector<std::string>> classes;
  std::vector<fs::path> folders;
  for (const fs::directory_entry &entry : fs::directory_iterator(path))
    if (entry.is_directory() && !entry.path().filename().string().starts_with("."))
      folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  for (const fs::path &folder : folders)
    classes.push_back(filesOf(folder));
  std::vector<std::string> files = filesOf(path);
  for (size_t i = 0, added = 1; added; ++i) {
    added = 0;
    for (const std::vector<std::string> &each : classes)
      if (i < each.size()) {
        files.push_back(each[i]);
        ++added;
      }
  }
  return files;
}

class Loader {
public:
  Loader(std::span<const runtime::Port> ports, const SampleOptions &flags)
      : ports(ports), flags(flags), shapes(shapesByName(ports, flags.shapes)) {
    for (const runtime::Port &port : ports)
      require(port.tensor(), "input '{}' is {}, expected a tensor: samples are tensors", port.name, name(port.kind));
  }

  std::vector<std::string> names; // of the samples that were read

  std::vector<Sample> random() {
    InputOptions fill;
    fill.fill = "random";
    fill.seed = flags.seed;
    std::vector<Sample> samples;
    for (int64_t i = 0; i < flags.most; ++i) {
      Sample sample;
      for (const runtime::Port &port : ports)
        sample.push_back(filledInput(port, fill, shapes, {}, static_cast<uint64_t>(i) * ports.size() + sample.size()));
      samples.push_back(std::move(sample));
    }
    return samples;
  }

  std::vector<Sample> archive() {
    protectInput(flags.path);
    std::vector<NpzMember> members = readNpz(flags.path, inputs());
    std::vector<Sample> samples;
    for (const runtime::Port &port : ports) {
      Tensor all = toTensor(memberOf(members, port.name, flags.path));
      std::vector<int64_t> dims = extentsOf(port, shapes);
      bool fits = !dims.empty() && dims[0] > 0 && all.dims().size() == dims.size() && all.dim(0) % dims[0] == 0 &&
                  std::equal(dims.begin() + 1, dims.end(), all.dims().begin() + 1);
      require(fits, "{}: '{}' is {}, expected samples of {} one after the other along the first axis", flags.path,
              port.name, dimsText(all.dims()), dimsText(dims));
      int64_t count = std::min(all.dim(0) / dims[0], flags.most);
      require(samples.empty() || static_cast<int64_t>(samples.size()) == count,
              "{}: '{}' has {} samples, other inputs have {}", flags.path, port.name, count, samples.size());
      samples.resize(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) {
        Tensor one(all.type(), dims);
        std::memcpy(one.data(), static_cast<const char *>(all.data()) + i * one.bytes(),
                    static_cast<size_t>(one.bytes()));
        samples[static_cast<size_t>(i)].push_back(checked(port, one, flags.path));
      }
    }
    for (size_t i = 0; i < samples.size(); ++i)
      names.push_back(fmt::format("{}: sample {}", flags.path, i));
    return samples;
  }

  std::vector<Sample> folder(const std::function<void(size_t, size_t)> &progress) {
    std::vector<std::string> files = sampleFiles(flags.path);
    require(!files.empty(), "{}: has no .npy, .npz, .png, .jpg or .bmp files, expected a sample a file", flags.path);
    if (flags.crops)
      return crops(files, progress);
    files.resize(std::min(files.size(), static_cast<size_t>(flags.most)));
    std::vector<Sample> samples;
    for (const std::string &file : files) {
      if (progress)
        progress(samples.size(), files.size());
      protectInput(file);
      samples.push_back(sampleOf(file));
      names.push_back(file);
    }
    return samples;
  }

private:
  std::span<const runtime::Port> ports;
  const SampleOptions &flags;
  std::map<std::string, std::vector<int64_t>> shapes;

  /// Other arrays of an archive are not unpacked. A single input accepts an array of any name.
  NpzWanted inputs() const {
    return [this](const std::string &name, const NpyHeader &) {
      return ports.size() == 1 ||
             std::any_of(ports.begin(), ports.end(), [&](const runtime::Port &port) { return port.name == name; });
    };
  }

  /// The array of an input. A single input takes the only array besides the classes, whatever its name.
  NpyArray memberOf(const std::vector<NpzMember> &members, const std::string &name, const std::string &file) const {
    auto found = std::find_if(members.begin(), members.end(), [&](const NpzMember &m) { return m.name == name; });
    auto isInput = [](const NpzMember &m) { return !evaluate::isLabelName(m.name); };
    if (found == members.end() && ports.size() == 1 && std::count_if(members.begin(), members.end(), isInput) == 1)
      found = std::find_if(members.begin(), members.end(), isInput);
    require(found != members.end(), "{}: has no array '{}', expected one for each input", file, name);
    return found->array;
  }

  const runtime::Port &only(const std::string &file) const {
    require(ports.size() == 1, "{}: is one tensor, the model has {} inputs; give an .npz with an array for each", file,
            ports.size());
    return ports[0];
  }

  Value checked(const runtime::Port &port, const Tensor &tensor, const std::string &file) const {
    std::vector<int64_t> dims = extentsOf(port, shapes);
    bool fits = tensor.dims().size() == dims.size();
    for (size_t i = 0; fits && i < dims.size(); ++i)
      fits = !port.dims[i].isConstant() || tensor.dim(i) == dims[i]; // another extent may belong to a batch
    require(tensor.type() == port.type && fits, "{}: is {} {}, input '{}' expects {} {}", file, name(tensor.type()),
            dimsText(tensor.dims()), port.name, name(port.type), dimsText(dims));
    return tensor;
  }

  /// Crops of one picture are consecutive, so that it is decoded once.
  std::vector<Sample> crops(const std::vector<std::string> &files,
                            const std::function<void(size_t, size_t)> &progress) {
    auto count = static_cast<size_t>(flags.crops);
    evaluate::Preprocessing how = flags.pictures.of(only(flags.path), extentsOf(ports[0], shapes));
    std::vector<Sample> samples;
    evaluate::Picture picture;
    std::string decoded;
    uint64_t state = flags.seed;
    for (size_t i = 0; i < count; ++i) {
      if (progress)
        progress(i, count);
      if (const std::string &file = files[i * files.size() / count]; file != decoded) {
        picture = evaluate::readPicture(file);
        decoded = file;
      }
      samples.push_back({evaluate::preprocess(evaluate::randomlyCropped(picture, state), how)});
      names.push_back(decoded);
    }
    return samples;
  }

  Sample sampleOf(const std::string &file) {
    if (file.ends_with(".npy"))
      return {checked(only(file), toTensor(readNpy(file)), file)};
    if (!file.ends_with(".npz"))
      return {evaluate::preprocess(evaluate::readPicture(file),
                                   flags.pictures.of(only(file), extentsOf(ports[0], shapes)))};
    Sample sample;
    std::vector<NpzMember> members = readNpz(file, inputs());
    for (const runtime::Port &port : ports)
      sample.push_back(checked(port, toTensor(memberOf(members, port.name, file)), file));
    return sample;
  }
};

} // namespace

std::vector<std::vector<Value>> loadSamples(std::span<const runtime::Port> ports, const SampleOptions &flags,
                                            const std::function<void(size_t, size_t)> &progress,
                                            std::vector<std::string> *names) {
  Loader loader(ports, flags);
  if (flags.path.empty())
    return loader.random();
  require(fs::exists(flags.path), "{}: does not exist, expected a folder, a CSV file or an .npz file", flags.path);
  bool files = fs::is_directory(flags.path) || flags.path.ends_with(".csv");
  std::vector<Sample> samples = files ? loader.folder(progress) : loader.archive();
  if (names)
    *names = std::move(loader.names);
  return samples;
}

} // namespace lathe::jobs
