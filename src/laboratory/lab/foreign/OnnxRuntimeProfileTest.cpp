// Events in the form of ONNX Runtime 1.30 profiles.
#include "lab/foreign/ForeignTesting.h"

using namespace lathe;
using namespace lathe::lab;
using store::PointStatus;
using testing::HasSubstr;

namespace {

std::string session(const std::string &name, int64_t us) {
  return fmt::format(
      R"({{"cat" : "Session","pid" :1,"tid" :1,"dur" :{},"ts" :8,"ph" : "X","name" :"{}","args" : {{}}}})", us, name);
}

std::string node(const std::string &name, const std::string &op, const std::string &in, const std::string &out,
                 const std::string &us) {
  return fmt::format(R"({{"cat" : "Node","pid" :1,"tid" :1,"dur" :{},"ts" :9,"ph" : "X","name" :"{}_kernel_time",)"
                     R"("args" : {{"op_name" : "{}","provider" : "CPUExecutionProvider","node_index" : "3",)"
                     R"("thread_scheduling_stats" : "","input_type_shape" : [{}],"output_type_shape" : [{}]}}}})",
                     us, name, op, in, out);
}

class OnnxRuntimeProfileTest : public ForeignFolder {
protected:
  static std::string profile(const std::vector<std::string> &events) {
    return fmt::format("[\n{}\n]\n", fmt::join(events, ",\n"));
  }
  static constexpr const char *image = R"({"float":[1,8,4,4]})";
  static std::string relu(const std::string &us) { return node("relu1", "Relu", image, image, us); }
};

TEST_F(OnnxRuntimeProfileTest, nodesArePoints) {
  std::string conv = node("conv1", "Conv", std::string(image) + R"(,{"float":[8,8,1,1]})", image, "20");
  std::string product = node("fc", "MatMul", R"({"float":[2,3]},{"float":[3,5]})", R"({"float":[2,5]})", "7");
  store::ImportCounts counts =
      import(write("p.json", profile({session("model_loading_uri", 22484), conv, relu("3"), product,
                                      session("model_run", 40), conv, relu("5"), product, session("model_run", 30)})));
  EXPECT_EQ(counts.points.added, 4u);
  EXPECT_EQ(counts.samples, 8u);
  std::map<std::string, store::Point> points;
  store.points({}, true, [&](const store::Point &point) { points[point.problem.op] = point; });
  ASSERT_EQ(points.size(), 4u);
  const store::Point &first = points.at("relu");
  EXPECT_EQ(first.problem.text, "relu x=1x8x4x4");
  EXPECT_EQ(first.status, PointStatus::notVerified);
  EXPECT_EQ(first.provider, "onnxruntime");
  EXPECT_EQ(first.variant, "CPUExecutionProvider");
  EXPECT_EQ(first.setting.extra.at("node"), "relu1");
  ASSERT_EQ(first.rounds.size(), 2u); // a round for each run
  EXPECT_EQ(first.rounds[1][0].wallNs, 5000);
  EXPECT_EQ(points.at("matmul").problem.text, "matmul a=2x3 b=3x5");
  // The profile does not contain attributes.
  EXPECT_EQ(points.at("Conv").problem.text, "f32 1x8x4x4, f32 8x8x1x1 -> f32 1x8x4x4");
  EXPECT_EQ(points.at("model").rounds[0][0].wallNs, 40000);
  EXPECT_EQ(store.platform(store.experiments()[0].experiment.platform).cpu, "unknown (onnxruntime)");
  EXPECT_EQ(import(file("p.json")).points.added, 0u);
}

TEST_F(OnnxRuntimeProfileTest, whatIsNoProblemOfOursKeepsItsText) {
  for (const std::string &event :
       {node("a", "Relu", R"({"float":[1,8,4,4]})", R"({"float":[2,8,4,4]})", "1"),
        node("b", "Relu", R"({"odd":[2]})", R"({"odd":[2]})", "1"), node("c", "FusedThing", "", "", "1"),
        node("d", "MatMul", R"({"float":[2,3]},{"float":[4,5]})", R"({"float":[2,5]})", "1")})
    import(write("p.json", profile({event})));
  size_t count = 0;
  store.points({}, true, [&](const store::Point &point) {
    ++count;
    EXPECT_THAT(point.problem.text, HasSubstr("->"));
  });
  EXPECT_EQ(count, 4u);
}

TEST_F(OnnxRuntimeProfileTest, profilesWithoutTheirEnd) {
  std::string text = profile({session("model_run", 1), relu("3"), relu("4")});
  store::ImportCounts counts = import(write("p.json", text.substr(0, text.size() - 20)));
  EXPECT_EQ(counts.samples, 2u);
  ASSERT_EQ(counts.notes.size(), 1u);
  EXPECT_THAT(counts.notes[0], HasSubstr("p.json:4: the file ends in the middle of the list"));
}

TEST_F(OnnxRuntimeProfileTest, damageIsOneLine) {
  auto refusedEvent = [&](const std::string &event) { return refused(profile({relu("1"), event})); };
  EXPECT_THAT(refusedEvent(relu("-1")), HasSubstr("refused.log:3: 'dur' is -1, expected a time"));
  EXPECT_THAT(refusedEvent(relu("1e300")), HasSubstr("'dur' is 1e+300"));
  EXPECT_THAT(refusedEvent(relu("99999999999999999999999")), HasSubstr("'dur' is 1e+23"));
  EXPECT_THAT(refusedEvent(relu("NaN")), HasSubstr("refused.log:3: is not valid JSON"));
  EXPECT_THAT(refusedEvent(relu("\"1\"")), HasSubstr("'dur' is string, expected a number"));
  EXPECT_THAT(refusedEvent("7"), HasSubstr("an event is number, expected an object"));
  EXPECT_THAT(refusedEvent(R"({"cat":"Node","name":"x_kernel_time","dur":1})"), HasSubstr("'args' is missing"));
  EXPECT_THAT(refusedEvent(node("x", "", "", "", "1")), HasSubstr("'op_name' is empty"));
  EXPECT_THAT(refusedEvent(node("x", "Relu", R"({"float":[-1]})", "", "1")), HasSubstr("the extent -1"));
  EXPECT_THAT(refusedEvent(node("x", "Relu", R"({"float":[1.5]})", "", "1")), HasSubstr("the extent 1.5"));
  EXPECT_THAT(refusedEvent(node("x", "Relu", R"({"float":[18446744073709551615]})", "", "1")),
              HasSubstr("the extent 18446744073709551615"));
  EXPECT_THAT(refusedEvent(node("x", "Relu", "[1]", "", "1")), HasSubstr("'input_type_shape' has [1]"));
  EXPECT_THAT(refused("[]"), HasSubstr("has no measurement (onnxruntime)"));
  EXPECT_THAT(refused("[" + std::string(5000000, '[')), HasSubstr("nested deeper than 64 levels"));
}

TEST_F(OnnxRuntimeProfileTest, textsAreHarmless) {
  import(write("p.json", profile({node("<img onerror=x>\\u0000\\u001b", "Relu", image, image, "1")})));
  EXPECT_EQ(store.points().at(0).setting.extra.at("node"), "<img onerror=x>\\x00\\x1b");
}

} // namespace
