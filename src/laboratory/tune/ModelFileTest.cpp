// Files of trained models: read again, damaged, and of other versions.
#include "tune/ModelFile.h"

#include "store/ContentKey.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

#include <fstream>

namespace lathe::tune {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<TrainingExample> someExamples(FeatureSet set, size_t count) {
  std::mt19937 random(1);
  std::vector<TrainingExample> all;
  for (size_t i = 0; i < count; ++i) {
    TrainingExample one;
    for (size_t feature = 0; feature < featureNames(set).size(); ++feature)
      one.features.push_back(float(random() % 1000));
    one.cycles = 1000 + double(random() % 1000);
    one.seconds = one.cycles * (one.features[0] > 500 ? 3e-9 : 1e-9);
    all.push_back(std::move(one));
  }
  return all;
}

struct ModelFile : store::StoreFolder {
  std::string path = file("models.jsonl");
  ModelKind kind{FeatureSet::knob, Objective::ranking};
  TrainedModels trained{kind, {}};

  ModelFile() {
    LearnedModelOptions options;
    options.objective = kind.objective;
    options.rounds = 3;
    for (const char *family : {"contraction", "softmax"}) {
      auto model = std::make_shared<LearnedModel>(options);
      model->fit(someExamples(kind.features, trained.models.empty() ? 40 : 60));
      trained.models[family] = std::move(model);
    }
  }
  std::string bytes() const {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string &bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  std::string errorOfReading() const {
    return errorOf([&] { readModels(path); });
  }
  /// Replaces the header and updates its hash.
  void changeHeader(const std::function<void(json &)> &change) const {
    std::string text = bytes();
    size_t end = text.find('\n');
    json header = json::parse(text.substr(0, end)).at("lathe_models");
    header.erase("xxh3_128");
    change(header);
    store::ContentHasher hasher;
    hasher.update(header.dump());
    hasher.update(text.substr(end, text.size() - end - 1));
    header["xxh3_128"] = hasher.digest();
    write(json{{"lathe_models", header}}.dump() + text.substr(end));
  }
};

TEST_F(ModelFile, isReadAgain) {
  for (const char *name : {"models.jsonl", "models.jsonl.gz"}) {
    writeModels(file(name), trained);
    TrainedModels read = readModels(file(name));
    EXPECT_EQ(read.kind, kind);
    ASSERT_EQ(read.models.size(), 2u);
    std::vector<TrainingExample> all = someExamples(kind.features, 50);
    std::vector<Example> examples(all.begin(), all.end());
    for (const auto &[family, model] : trained.models)
      EXPECT_EQ(read.models.at(family)->score(examples), model->score(examples)) << family;
  }
}

TEST_F(ModelFile, damageIsOneError) {
  writeModels(path, trained);
  std::string whole = bytes();
  for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 997) {
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ 1);
    write(damaged);
    EXPECT_THAT(errorOfReading(), StartsWith(path + ": ")) << at;
  }
  for (size_t size : {size_t(0), size_t(1), whole.find('\n'), whole.size() / 2, whole.rfind('\n', whole.size() - 2)}) {
    write(whole.substr(0, size));
    EXPECT_THAT(errorOfReading(), StartsWith(path + ": ")) << size;
  }
  write(whole + "{}\n");
  EXPECT_THAT(errorOfReading(), HasSubstr("damaged"));
  for (const char *other : {"", "abc", "[1]", "{\"lathe_store\":{\"format\":2}}\n"}) {
    write(other);
    EXPECT_THAT(errorOfReading(), HasSubstr("is no file of trained models")) << other;
  }
  write("{\"lathe_models\":{\"format\":2}}\n");
  EXPECT_THAT(errorOfReading(), HasSubstr("lacks a field"));
  EXPECT_THAT(errorOf([&] { readModels(file("none")); }), HasSubstr("none"));
  EXPECT_THAT(errorOf([&] { writeModels(path, {kind, {}}); }), HasSubstr("no trained model"));
}

TEST_F(ModelFile, modelsOfOtherVersionsAreRefused) {
  auto errorAfter = [&](const std::function<void(json &)> &change) {
    writeModels(path, trained);
    changeHeader(change);
    return errorOfReading();
  };
  EXPECT_EQ(errorAfter([](json &) {}), "no error");
  EXPECT_THAT(errorAfter([](json &header) { header["format"] = 1; }), HasSubstr("has format 1, expected 2"));
  EXPECT_THAT(errorAfter([](json &header) { header["model"] = "xgb_loops"; }), HasSubstr("no model 'xgb_loops'"));
  EXPECT_THAT(errorAfter([](json &header) { header["feature_version"] = 99; }),
              AllOf(HasSubstr("features 'knob' have version 99"), HasSubstr("train it again")));
  EXPECT_THAT(errorAfter([](json &header) { header["features"][3] = "problem.colour"; }),
              HasSubstr("no feature 'problem.colour'"));
  EXPECT_THAT(errorAfter([](json &header) {
                for (json &family : header["families"])
                  family["algorithms"].push_back("new/1");
              }),
              HasSubstr("algorithms that this version of Lathe does not have"));
  EXPECT_THAT(errorAfter([](json &header) { header["families"].push_back("pool"); }),
              HasSubstr("has 2 models, expected 3"));
  EXPECT_THAT(errorAfter([](json &header) { header["families"] = 3; }), HasSubstr("damaged"));
}

/// The file was written by a version with fewer features and algorithms.
TEST_F(ModelFile, modelsOfFewerFeaturesAreRead) {
  const std::vector<std::string> &names = featureNames(kind.features);
  std::vector<size_t> columns; // every second feature, in reverse order
  for (size_t i = names.size(); i-- > 0;)
    if (i % 2 == 0)
      columns.push_back(i);
  LearnedModelOptions options;
  options.objective = kind.objective;
  options.rounds = 3;
  std::vector<TrainingExample> all = someExamples(kind.features, 60);
  std::vector<Example> examples(all.begin(), all.end()), fewer;
  for (TrainingExample &example : all) {
    std::vector<float> some;
    for (size_t column : columns)
      some.push_back(example.features[column]);
    example.features = some;
    fewer.push_back(example);
  }
  auto model = std::make_shared<LearnedModel>(options);
  model->fit(all);
  trained.models = {{"contraction", model}, {"softmax", model}};
  writeModels(path, trained);
  EXPECT_THAT(errorOfReading(), HasSubstr("a learned cost model of")); // the header has all features
  changeHeader([&](json &header) {
    header["features"] = json::array();
    for (size_t column : columns)
      header["features"].push_back(names[column]);
    for (json &family : header["families"])
      if (family["family"] == "contraction")
        family["algorithms"].erase(0);
      else
        family["algorithms"].push_back("softmax/99");
  });
  TrainedModels read = readModels(path);
  ASSERT_EQ(read.models.size(), 1u);
  EXPECT_EQ(read.models.at("contraction")->score(examples), model->score(fewer));
  EXPECT_THAT(read.leftOut, testing::ElementsAre("softmax"));
}

} // namespace
} // namespace lathe::tune
