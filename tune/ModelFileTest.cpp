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
  /// Writes the file again with another header that has the right hash.
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
  write("{\"lathe_models\":{\"format\":1}}\n");
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
  EXPECT_THAT(errorAfter([](json &header) { header["format"] = 2; }), HasSubstr("has format 2, expected 1"));
  EXPECT_THAT(errorAfter([](json &header) { header["model"] = "xgb_loops"; }), HasSubstr("no model 'xgb_loops'"));
  EXPECT_THAT(errorAfter([](json &header) { header["trained_with"]["feature_version"] = 99; }),
              AllOf(HasSubstr("other features 'knob'"), HasSubstr("99"), HasSubstr("train it again")));
  EXPECT_THAT(errorAfter([](json &header) { header["trained_with"]["feature_names"] = "x"; }),
              HasSubstr("other features 'knob'"));
  EXPECT_THAT(errorAfter([](json &header) { header["trained_with"]["algorithms"][0] = "direct/99"; }),
              HasSubstr("only the file has direct/99"));
  EXPECT_THAT(errorAfter([](json &header) { header["trained_with"]["algorithms"].push_back("new/1"); }),
              HasSubstr("only the file has new/1"));
  EXPECT_THAT(errorAfter([](json &header) { header["trained_with"]["algorithms"].erase(0); }),
              HasSubstr("only this version has "));
  EXPECT_THAT(errorAfter([](json &header) { header["families"].push_back("pool"); }),
              HasSubstr("has 2 models, expected 3"));
  EXPECT_THAT(errorAfter([](json &header) { header["families"] = 3; }), HasSubstr("damaged"));
}

} // namespace
} // namespace lathe::tune
