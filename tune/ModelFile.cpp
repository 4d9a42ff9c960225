#include "tune/ModelFile.h"

#include "schedule/Algorithms.h"
#include "store/ContentKey.h"
#include "store/Lines.h"
#include "support/Text.h"

#include <algorithm>

namespace lathe::tune {
namespace {

using nlohmann::json;

constexpr const char *headerKey = "lathe_models", *hashKey = "xxh3_128";
constexpr int fileFormat = 1;

/// What models depend on: those of another version fit if it is equal.
json dependenciesOf(const ModelKind &kind) {
  json algorithmTexts = json::array();
  for (const Algorithm &algorithm : algorithms())
    algorithmTexts.push_back(algorithm.str());
  return {{"feature_version", featureVersion},
          {"feature_names", store::documentKey(featureNames(kind.features))},
          {"algorithms", std::move(algorithmTexts)}};
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

/// Throws Error for the first of the dependencies that differs.
void requireFitting(const json &dependencies, const ModelKind &kind) {
  const std::string again = "train it again with `lathe tune --train-model`";
  const json own = dependenciesOf(kind);
  for (const char *key : {"feature_version", "feature_names"})
    require(dependencies.at(key) == own.at(key),
            "it was trained on other features '{}' than this version of Lathe has ({} {}, expected {}); {}",
            name(kind.features), key, dependencies.at(key).dump(), own.at(key).dump(), again);
  auto requireSubset = [&](const json &some, const json &all, const char *whose) {
    for (const json &algorithm : some)
      require(std::find(all.begin(), all.end(), algorithm) != all.end(),
              "it was trained with other algorithms than this version of Lathe has: only {} has {}; {}", whose,
              printable(algorithm.get<std::string>()), again);
  };
  requireSubset(dependencies.at("algorithms"), own.at("algorithms"), "the file");
  requireSubset(own.at("algorithms"), dependencies.at("algorithms"), "this version");
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
  requireFitting(header.at("trained_with"), *kind);
  std::vector<std::string> families = header.at("families").get<std::vector<std::string>>();
  require(families.size() == lines.size(), "it has {}, expected {}", counted(int64_t(lines.size()), "model"),
          families.size());
  TrainedModels all{*kind, {}};
  for (size_t i = 0; i < families.size(); ++i) {
    LearnedModelOptions options;
    options.objective = kind->objective;
    auto model = std::make_shared<LearnedModel>(options);
    model->load(lines[i]);
    all.models[families[i]] = std::move(model);
  }
  return all;
}

} // namespace

void writeModels(const std::string &path, const TrainedModels &models) {
  require(!models.models.empty(), "{}: there is no trained model to write", path);
  std::vector<std::string> families, lines;
  for (const auto &[family, model] : models.models) {
    families.push_back(family);
    lines.push_back(model->save());
  }
  json header = {{"format", fileFormat},
                 {"model", name(models.kind)},
                 {"trained_with", dependenciesOf(models.kind)},
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
