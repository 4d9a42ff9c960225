#include "tune/ModelFile.h"

#include "schedule/Algorithms.h"
#include "store/ContentKey.h"
#include "store/Lines.h"
#include "support/Text.h"

#include <algorithm>
#include <set>

namespace lathe::tune {
namespace {

using nlohmann::json;

constexpr const char *headerKey = "lathe_models", *hashKey = "xxh3_128";
constexpr int fileFormat = 2;

const std::string again = "train it again with `lathe tune --train-model`";

/// The algorithms of a family as texts: "direct/1".
std::set<std::string> algorithmsOf(const std::string &family) {
  std::set<std::string> texts;
  for (const Algorithm &algorithm : algorithms())
    if (algorithm.family == family)
      texts.insert(algorithm.str());
  return texts;
}

std::string hashOf(const json &header, const std::vector<std::string> &lines) {
  store::ContentHasher hasher;
  hasher.update(header.dump());
  for (const std::string &line : lines) {
    hasher.update("\n");
    hasher.update(line);
  }
  return hasher.digest();
}

/// The position of each of the file's features in this version's list of features.
std::vector<size_t> columnsOf(const json &header, FeatureSet set) {
  int version = header.at("feature_version").get<int>();
  require(version == featureVersion, "its features '{}' have version {}, expected {}; {}", name(set), version,
          featureVersion, again);
  const std::vector<std::string> &own = featureNames(set);
  std::vector<size_t> columns;
  for (const std::string &feature : header.at("features").get<std::vector<std::string>>()) {
    auto found = std::find(own.begin(), own.end(), feature);
    require(found != own.end(), "this version of Lathe has no feature '{}'; {}", printable(feature), again);
    columns.push_back(size_t(found - own.begin()));
  }
  return columns;
}

TrainedModels modelsOf(json header, const std::vector<std::string> &lines) {
  int format = header.at("format").get<int>();
  require(format == fileFormat, "it has format {}, expected {}", format, fileFormat);
  std::string hash = header.at(hashKey).get<std::string>();
  header.erase(hashKey);
  require(hash == hashOf(header, lines), "it is damaged: its content does not have the hash of its first line");
  std::string kindName = header.at("model").get<std::string>();
  std::optional<ModelKind> kind = modelKindOf(kindName);
  require(kind.has_value(), "this version of Lathe has no model '{}'", printable(kindName));
  std::vector<size_t> columns = columnsOf(header, kind->features);
  auto families = header.at("families").get<std::vector<json>>();
  require(families.size() == lines.size(), "it has {}, expected {}", counted(int64_t(lines.size()), "model"),
          families.size());
  TrainedModels all{*kind, {}};
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string family = families.at(i).at("family").get<std::string>();
    auto trainedWith = families.at(i).at("algorithms").get<std::set<std::string>>();
    std::set<std::string> own = algorithmsOf(family);
    if (!std::includes(own.begin(), own.end(), trainedWith.begin(), trainedWith.end())) {
      all.leftOut.push_back(family);
      continue;
    }
    LearnedModelOptions options;
    options.objective = kind->objective;
    auto model = std::make_shared<LearnedModel>(options);
    model->load(lines[i], columns);
    all.models[family] = std::move(model);
  }
  require(!all.models.empty(), "it was trained with algorithms that this version of Lathe does not have; {}", again);
  return all;
}

} // namespace

void writeModels(const std::string &path, const TrainedModels &models) {
  require(!models.models.empty(), "{}: there is no trained model to write", path);
  json families = json::array();
  std::vector<std::string> lines;
  for (const auto &[family, model] : models.models) {
    families.push_back({{"family", family}, {"algorithms", algorithmsOf(family)}});
    lines.push_back(model->save());
  }
  json header = {{"format", fileFormat},
                 {"model", name(models.kind)},
                 {"feature_version", featureVersion},
                 {"features", featureNames(models.kind.features)},
                 {"families", std::move(families)}};
  header[hashKey] = hashOf(header, lines);
  store::LineWriter writer(path);
  writer.line(json{{headerKey, std::move(header)}}.dump());
  for (const std::string &line : lines)
    writer.line(line);
  writer.commit();
}

TrainedModels readModels(const std::string &path) {
  store::LineReader reader(path);
  std::optional<std::string> first = reader.next();
  json document = store::parseDocument(first.value_or(""));
  require(document.is_object() && document.contains(headerKey),
          "{}: is no file of trained models, which `lathe tune --train-model` writes", path);
  std::vector<std::string> lines;
  while (std::optional<std::string> line = reader.next())
    lines.push_back(std::move(*line));
  try {
    return modelsOf(std::move(document.at(headerKey)), lines);
  } catch (const json::exception &) {
    fail("{}: it is damaged: its first line lacks a field", path);
  } catch (const Error &error) {
    fail("{}: {}", path, error.what());
  }
}

} // namespace lathe::tune
