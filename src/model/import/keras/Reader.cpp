// Converts a Keras file to plain records: every call of a layer becomes a node, models inside models are unfolded, and
// masks become tensors.
#include "import/UnusedDefinitions.h"
#include "import/keras/Flatten.h"
#include "import/keras/Keras.h"
#include "support/JsonError.h"
#include "support/zip/Zip.h"

#include <charconv>
#include <map>
#include <stdexcept>

namespace lathe::keras {
namespace {

/// Data that the records of a file point to.
struct Storage {
  ModelConfig model;
  std::shared_ptr<const Hdf5File> weights;
  FlatNodes nodes;
};

/// A configuration is text of a few kilobytes to megabytes.
constexpr uint64_t mostConfigBytes = uint64_t(256) << 20;
/// Limits on unpacked sizes: weights hardly compress, so a larger archive is an attack.
constexpr uint64_t mostGain = 64, alwaysAllowed = uint64_t(64) << 20;

/// Copies of deeply nested values need much stack.
constexpr int mostLevels = 500;

json parsed(std::string_view text, const std::string &what) {
  auto limited = [&](int depth, json::parse_event_t, const json &) {
    require(depth <= mostLevels, "{} is nested deeper than {} levels", what, mostLevels);
    return true;
  };
  try {
    return json::parse(text, limited);
  } catch (const json::exception &error) {
    fail("{} is not valid JSON: {}", what, messageOf(error));
  }
}

/// The major version (1, 2 or 3) of "2.4.0"; before 1.2, Keras 1 wrote no version.
int majorVersion(const std::string &text) {
  if (text.empty())
    return 1;
  int version = std::atoi(text.c_str());
  require(version >= 1 && version <= 3, "was written by Keras {}, expected 1, 2 or 3", text);
  return version;
}

/// Vocabularies that layers have adapted to data: texts by their names in the archive.
using Vocabularies = std::map<std::string, std::string>;

constexpr const char *vocabularyFile = "/vocabulary.txt";
constexpr size_t mostTokens = size_t(1) << 21; // of a vocabulary, with its special tokens

struct Contents {
  json config;
  std::string version;
  std::shared_ptr<const Hdf5File> weights;
  Vocabularies vocabularies;
};

Contents readHdf5(std::string_view bytes, const std::string &fileName) {
  // Skips the optimizer's state, which is twice as large as the weights.
  auto file = std::make_shared<const Hdf5File>(bytes, fileName, std::set<std::string>{"optimizer_weights"});
  auto config = file->text("/", "model_config");
  require(config.has_value(), "{}: has no attribute model_config: it holds weights alone; save the whole model",
          fileName);
  std::string version = file->text("/", "keras_version").value_or("");
  if (version.empty())
    version = file->text("/model_weights", "keras_version").value_or("");
  return {parsed(*config, fileName + ": model_config"), version, file, {}};
}

std::vector<char> memberOf(const ZipArchive &archive, const std::string &name, uint64_t most,
                           const std::string &fileName) {
  const ZipMember *member = archive.find(name);
  require(member != nullptr, "{}: is not a Keras archive: member '{}' is missing", fileName, name);
  require(member->unpacked <= most, "{}: member '{}' has {} bytes, expected at most {}", fileName, name,
          member->unpacked, most);
  return archive.contents(*member);
}

Contents readArchive(std::string_view bytes, const std::string &fileName) {
  ZipArchive archive({bytes.data(), bytes.size()}, fileName, "a Keras archive");
  auto text = [&](const char *name) {
    std::vector<char> content = memberOf(archive, name, mostConfigBytes, fileName);
    return parsed({content.data(), content.size()}, fmt::format("{}: {}", fileName, name));
  };
  json config = text("config.json");
  std::string version = textMember(text("metadata.json"), "keras_version");
  require(archive.find("model.weights.h5") || !archive.find("model.weights.npz"),
          "{}: its weights are in model.weights.npz, expected model.weights.h5", fileName);
  std::vector<char> weights = memberOf(archive, "model.weights.h5", bytes.size() * mostGain + alwaysAllowed, fileName);
  auto file = std::make_shared<const Hdf5File>(std::string_view(weights.data(), weights.size()),
                                               fileName + "(model.weights.h5)", std::set<std::string>{"optimizer"});
  Vocabularies vocabularies;
  uint64_t left = mostConfigBytes; // for all of them together
  for (const ZipMember &member : archive.members())
    if (member.name.starts_with("assets/") && member.name.ends_with(vocabularyFile)) {
      std::vector<char> content = memberOf(archive, member.name, left, fileName);
      left -= content.size();
      vocabularies[member.name] = {content.begin(), content.end()};
    }
  return {config, version, file, std::move(vocabularies)};
}

/// The numbers in a text that has one in each line.
json numbersOf(const std::string &name, const std::string &text) {
  json numbers = json::array();
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (line.empty() && begin >= text.size())
      break; // blank lines that an editor added at the end
    int64_t value = 0;
    auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    require(error == std::errc() && stop == line.data() + line.size(), "'{}': line {} is '{}', expected an integer",
            name, numbers.size() + 1, source::oneLine(std::string(line.substr(0, 40))));
    numbers.push_back(value);
    require(numbers.size() <= mostTokens, "'{}': has more than {} lines", name, mostTokens);
  }
  return numbers;
}

/// Gives every IntegerLookup of `folder` without a vocabulary the vocabulary that Keras 3 stores beside its weights.
void addVocabularies(ModelConfig &model, const Vocabularies &vocabularies, const std::string &folder) {
  std::map<std::string, int> used;
  for (LayerConfig &layer : model.layers) {
    std::string name = snakeCase(layer.className);
    int before = used[name]++;
    std::string path = fmt::format("{}/{}{}", folder, name, before ? fmt::format("_{}", before) : "");
    if (layer.model) {
      auto inner = std::make_shared<ModelConfig>(*layer.model);
      addVocabularies(*inner, vocabularies, path + "/layers");
      layer.model = std::move(inner);
    } else if (layer.className == "IntegerLookup" && member(layer.config, "vocabulary").is_null()) {
      if (auto found = vocabularies.find(path + vocabularyFile); found != vocabularies.end())
        layer.config["vocabulary"] = numbersOf(found->first, found->second);
    }
  }
}

} // namespace

ModelRecord readModel(std::string_view bytes, const std::string &fileName, const std::filesystem::path &,
                      const ImportOptions &options) {
  require(options.signature.empty(), "{}: a Keras model has no signatures, got '{}'", fileName, options.signature);
  bool archive = bytes.starts_with("PK");
  Contents contents = archive ? readArchive(bytes, fileName) : readHdf5(bytes, fileName);
  try {
    auto storage = std::make_shared<Storage>();
    int version = majorVersion(contents.version);
    storage->model = readModelConfig(contents.config, version);
    if (!contents.vocabularies.empty())
      addVocabularies(storage->model, contents.vocabularies, "assets/layers");
    storage->weights = contents.weights;
    ModelRecord model;
    model.version = version;
    model.producer = "Keras " + (contents.version.empty() ? "1" : contents.version);
    checkLayers(storage->model, version, options, fileName);
    flatten(storage->model, Weights(storage->weights), version, options, storage->nodes, model.graph);
    model.storage = storage;
    return model;
  } catch (const UnsupportedError &) {
    throw;
  } catch (const UnusedDefinitions &) {
    throw;
  } catch (const json::exception &error) { // an error that the checks do not cover
    fail("{}: its configuration is not that of a Keras model: {}", fileName, messageOf(error));
  } catch (const std::out_of_range &) {
    fail("{}: its configuration refers to what is not there", fileName);
  } catch (const Error &error) {
    fail("{}: {}", fileName, error.what());
  }
}

} // namespace lathe::keras
