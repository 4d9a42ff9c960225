// The builder: immediate shape inference, errors that name the node, control flow, and state after failed calls.
#include "stage/GraphBuilder.h"
#include "ir/Context.h"
#include "ir/ModelText.h"
#include "stage/Canonical.h"
#include "stage/ProgramMaker.h"
#include "support/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

using namespace lathe;
using Ints = std::vector<int64_t>;

namespace {

/// The message of the Error that `f` throws.
template <class F> std::string errorOf(F f) {
  try {
    f();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

template <class T>
GraphBuilder::Value constant(GraphBuilder &graph, ElementType type, Ints dims, std::vector<T> values) {
  return graph.constant("c", type, dims, {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)});
}

GraphBuilder::Value zeros(GraphBuilder &graph, Ints dims) {
  int64_t count = 1;
  for (int64_t extent : dims)
    count *= extent;
  return constant(graph, ElementType::f32, dims, std::vector<float>(size_t(count)));
}

const std::vector<BuilderAttribute> window = {
    {"strides", Ints{1, 1}}, {"dilations", Ints{1, 1}}, {"pads", Ints{1, 1, 1, 1}}};

TEST(GraphBuilder, typesAndExtentsAreKnownAtOnce) {
  GraphBuilder graph("net");
  auto x = graph.input("x", "f32", {"N", "3", "8", "8"});
  auto conv = graph.add("conv", {x, zeros(graph, {4, 3, 3, 3})}, window)[0];
  EXPECT_EQ(graph.typeOf(conv), "tensor<?x4x8x8xf32>");
  EXPECT_THAT(graph.dimsOf(conv), testing::ElementsAre("N", "4", "8", "8"));
  // A reshape to computed extents: the contents of `shape` are known as formulas.
  auto shape = graph.add("shape", {conv}, {{"end", Ints{1}}})[0];
  auto rest = constant<int64_t>(graph, ElementType::i64, {1}, {256});
  auto extents = graph.add("concat", {shape, rest}, {{"axis", Ints{0}}})[0];
  auto flat = graph.add("reshape", {conv, extents}, {})[0];
  EXPECT_THAT(graph.dimsOf(flat), testing::ElementsAre("N", "256"));
  EXPECT_EQ(graph.typeOf(flat), "tensor<?x256xf32>");
}

TEST(GraphBuilder, errorsNameTheNodeAndWhatIsExpected) {
  GraphBuilder graph("net");
  auto x = graph.input("x", "f32", {"1", "3", "8", "8"});
  auto w = zeros(graph, {4, 2, 3, 3});
  using testing::HasSubstr;
  EXPECT_THAT(errorOf([&] { graph.add("conv", {x, w}, window, {"layer1.conv1", {}, {}}); }),
              testing::AllOf(HasSubstr("net: node 1 'layer1.conv1' (conv): conv_c2"), HasSubstr("3")));
  EXPECT_THAT(errorOf([&] { graph.add("convv", {x, w}, {}); }),
              HasSubstr("no operator 'convv' (did you mean 'conv'?)"));
  EXPECT_THAT(errorOf([&] { graph.add("conv", {x, w}, {{"stride", Ints{1}}}); }),
              HasSubstr("conv has no attribute 'stride'; it has strides, dilations, pads and group (did you mean"));
  EXPECT_THAT(errorOf([&] { graph.add("conv", {x, w}, {{"strides", std::string("1")}}); }),
              HasSubstr("attribute 'strides' is a text, expected integers"));
  EXPECT_THAT(errorOf([&] { graph.add("conv", {x, w}, {{"group", Ints{1, 2}}}); }),
              HasSubstr("attribute 'group' has 2 values, expected one integer"));
  EXPECT_THAT(errorOf([&] { graph.add("conv", {x, w}, {{"group", Ints{1}}, {"group", Ints{1}}}); }),
              HasSubstr("twice"));
  EXPECT_THAT(errorOf([&] { graph.add("conv", {x}, window); }), HasSubstr("operand 'w' is missing"));
  EXPECT_THAT(errorOf([&] { graph.add("relu", {x, x}, {}); }), HasSubstr("2 operands, expected at most 1"));
  EXPECT_THAT(errorOf([&] { graph.add("relu", {77}, {}); }), HasSubstr("number 77, expected one of the"));
  EXPECT_THAT(errorOf([&] { graph.add("cast", {x}, {{"to", std::string("f31")}}); }),
              HasSubstr("'f31', expected an element type"));
  EXPECT_THAT(errorOf([&] { graph.add("relu", {x}, {}, {"r", {"tensor<1x3x9x8xf32>"}, {}}); }),
              HasSubstr("'r' (relu)"));
  EXPECT_THAT(errorOf([&] { graph.input("y", "float", {}); }), HasSubstr("'float' is no element type"));
  EXPECT_THAT(errorOf([&] { graph.input("y", "f32", {"N+"}); }), HasSubstr("input 'y': extent 'N+'"));
  EXPECT_THAT(errorOf([&] { graph.input("y", "f32", {"N", "?"}); }),
              HasSubstr("input 'y': has an extent '?' beside a symbolic"));
  EXPECT_THAT(errorOf([&] { graph.input("y", "f32", {"-3"}); }),
              HasSubstr("input 'y': extent '-3': expected none below 0"));
  EXPECT_THAT(errorOf([&] { graph.input("x", "f32", {"2"}); }), HasSubstr("input 'x': there are two of this name"));
  EXPECT_THAT(errorOf([&] { graph.input("", "f32", {"2"}); }), HasSubstr("input '': expected a name"));
  EXPECT_THAT(errorOf([&] { graph.output("", x); }), HasSubstr("output '': expected a name"));
  EXPECT_THAT(errorOf([&] { graph.weight("w"); }), HasSubstr("there is no file of weights"));
  EXPECT_THAT(errorOf([&] { graph.constant("c", ElementType::f32, {3}, {"1234", 4}); }),
              HasSubstr("has 4 bytes, expected 12"));
  EXPECT_THAT(errorOf([&] { graph.constant("c", ElementType::f32, {int64_t(1) << 60}, {}); }),
              HasSubstr("constant 'c': extent 1152921504606846976 is out of range"));
  EXPECT_THAT(errorOf([&] { graph.finish(); }), HasSubstr("net: the graph has no output"));
  graph.output("y", x);
  EXPECT_THAT(errorOf([&] { graph.output("y", x); }), HasSubstr("two outputs 'y'"));
  // None of these calls has changed the graph.
  EXPECT_EQ(canonicalText(graph.finish()), "%0 = input \"x\" tensor<1x3x8x8xf32> [1, 3, 8, 8]\noutput \"y\" %0\n");
}

TEST(GraphBuilder, graphsGrowAfterTheyWereWritten) {
  auto folder = std::filesystem::path(testing::TempDir()) / "lathe_graph_builder";
  std::filesystem::create_directories(folder);
  std::string path = (folder / "net.mlir").string();
  GraphBuilder graph("net");
  auto x = graph.input("x", "f32", {"2", "512"});
  auto sum = graph.add("add", {x, zeros(graph, {2, 512})}, {}, {"sum", {}, {}})[0];
  graph.output("sum", sum);
  nn::writeModelText(graph.finish(), path);
  graph.output("relu", graph.add("relu", {sum}, {})[0]);
  std::string longer = canonicalText(graph.finish());
  EXPECT_THAT(longer, testing::HasSubstr("relu(%1)"));
  GraphBuilder other("other");
  auto y = other.input("x", "f32", {"2", "512"});
  other.output("sum", other.add("add", {y, zeros(other, {2, 512})}, {})[0]);
  std::string shorter = canonicalText(other.finish());
  mlir::MLIRContext context;
  EXPECT_EQ(canonicalText(*nn::readModelText(context, path)), shorter);
  EXPECT_NE(longer, shorter);
  std::filesystem::remove_all(folder);
}

/// Sums 0, 1, ... while the trip count lasts, and collects the sums.
TEST(GraphBuilder, loopsAndBranches) {
  GraphBuilder graph("net");
  auto trips = graph.input("trips", "i64", {});
  auto start = graph.input("start", "f32", {});
  auto yes = constant<char>(graph, ElementType::boolean, {}, {1});
  GraphBuilder &body = graph.body("sum");
  auto i = body.input("i", "i64", {});
  auto goesOn = body.input("condition", "bool", {});
  auto sum = body.input("sum", "f32", {});
  EXPECT_THAT(errorOf([&] { body.add("relu", {start}, {}); }),
              testing::HasSubstr("is a value of another graph: a body sees its own inputs alone"));
  auto step = body.add("cast", {i}, {{"to", std::string("f32")}})[0];
  auto next = body.add("add", {sum, step}, {})[0];
  body.output("condition", goesOn);
  body.output("next", next);
  body.output("collected", next);
  EXPECT_THAT(errorOf([&] { graph.loop(trips, yes, {start}, 2, body); }), testing::HasSubstr("carries 2 of 1 values"));
  auto results = graph.loop(trips, yes, {start}, 1, body, {"loop", {}, {}});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(graph.typeOf(results[0]), "tensor<f32>");
  EXPECT_EQ(graph.typeOf(results[1]), "tensor<?xf32>");

  GraphBuilder &first = graph.body("pass"), &second = graph.body("double");
  first.output("y", first.input("x", "f32", {}));
  auto x = second.input("x", "f32", {});
  EXPECT_THAT(errorOf([&] { graph.branch(yes, {start}, first, graph.body("nothing"), {"b", {}, {}}); }),
              testing::HasSubstr("'b' (if): its bodies return 1 and 0 values"));
  second.output("y", second.add("add", {x, x}, {})[0]);
  auto chosen = graph.branch(yes, {results[0]}, first, second);
  graph.output("chosen", chosen[0]);
  graph.output("sums", results[1]);
  std::string text = canonicalText(graph.finish());
  EXPECT_THAT(text, testing::HasSubstr("= loop(%0, constant bool[]"));
  EXPECT_THAT(text, testing::HasSubstr("then:\n  %0 = input tensor<f32> []\n  output %0\nelse:\n  %0 = input"));
}

TEST(GraphBuilder, bodiesThatNothingUsesAreNoMistake) {
  GraphBuilder graph("net");
  graph.output("y", graph.input("x", "f32", {"2"}));
  graph.body("outer").body("inner");
  EXPECT_EQ(errorOf([&] { graph.finish(); }), "no error");
}

TEST(Staged, aSavedModelHasTheNameOfItsFolder) {
  for (const auto &[path, name] : std::map<std::string, std::string>{{"m/flowers/saved_model.pb", "flowers"},
                                                                     {"flowers/saved_model.pbtxt", "flowers"},
                                                                     {"saved_model.pb", "saved_model.pb"},
                                                                     {"./saved_model.pb", "saved_model.pb"},
                                                                     {"m/net.pb", "net.pb"}}) {
    GraphBuilder graph(path);
    graph.output("y", graph.add("relu", {graph.input("x", "f32", {"2"})}, {})[0]);
    EXPECT_EQ(staging::stageModel(graph.finish()).program.name, name);
  }
}

/// All operators of a Keras layer have its name.
TEST(Staged, blocksOfLayersAreCalledLikeTheirFirstLayerWithAWeight) {
  GraphBuilder graph("net");
  auto x = graph.input("x", "f32", {"1", "8", "8", "4"});
  auto add = [&](const char *op, const std::vector<GraphBuilder::Value> &operands,
                 const std::vector<BuilderAttribute> &attributes,
                 const std::string &layer) { return graph.add(op, operands, attributes, {layer, {}, {}})[0]; };
  for (int i = 0; i < 4; ++i) {
    std::string layer = "conv2d_" + std::to_string(i + 7);
    auto first = add("transpose", {x}, {{"perm", Ints{0, 3, 1, 2}}}, layer);
    auto conv = add("conv", {first, zeros(graph, {4, 4, 3, 3})}, window, layer);
    auto last = add("transpose", {conv}, {{"perm", Ints{0, 2, 3, 1}}}, layer);
    x = add("add", {x, add("relu", {last}, {}, "relu_" + std::to_string(i + 3))}, {}, "add_" + std::to_string(i));
  }
  graph.output("y", x);
  staging::StagedModel staged = staging::stageModel(graph.finish());
  std::vector<std::string> names;
  for (const auto &[name, elements] : staged.weights)
    names.push_back(name);
  std::string text = staging::pythonText(staged.program, "net.py", "net.safetensors");
  EXPECT_THAT(text, testing::ContainsRegex("net[.]at[(]f?\"conv2d_(7|[{]i[}])[.]\"")) << testing::PrintToString(names);
}

/// The text ignores names, order, sharing of constants and unread operators, but not attributes, types and weights.
TEST(Canonical, tellsWhatAGraphComputes) {
  auto text = [](bool swapped, bool shared, double epsilon, float weight) {
    GraphBuilder graph(swapped ? "a" : "b");
    auto x = graph.input("x", "f32", {"2", "3"});
    auto make = [&] { return constant<float>(graph, ElementType::f32, {3}, {weight, 1, 1}); };
    auto scale = make(), other = shared ? scale : make();
    auto norm = [&] {
      return graph.add("layer_norm", {x, scale, other}, {{"epsilon", std::vector<double>{epsilon}}})[0];
    };
    auto relu = [&] { return graph.add("relu", {x}, {}, {swapped ? "r" : "", {}, {}})[0]; };
    GraphBuilder::Value a, b;
    if (swapped) {
      b = relu();
      a = norm();
      graph.add("exp", {a}, {}); // has no reader
    } else {
      a = norm();
      b = relu();
    }
    graph.output("y", graph.add("mul", {a, b}, {})[0]);
    return canonicalText(graph.finish());
  };
  std::string expected = text(false, true, 0.5, 2);
  EXPECT_EQ(text(true, false, 0.5, 2), expected);
  EXPECT_NE(text(false, true, 0.25, 2), expected);
  EXPECT_NE(text(false, true, 0.5, 2.0000002f), expected);
  EXPECT_NE(text(false, true, 1e-5, 2), text(false, true, 1.0000000000000002e-5, 2));
}

/// Equal elements have one hash in any storage: dense, splat or resource.
TEST(Canonical, storageOfConstantsDoesNotMatter) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  std::vector<float> ones(5000, 1.0f);
  auto type = mlir::RankedTensorType::get({5000}, mlir::Float32Type::get(context.get()));
  auto splat = mlir::DenseElementsAttr::get(type, 1.0f);
  mlir::ElementsAttr resource = nn::makeConstant(context.get(), ElementType::f32, {5000},
                                                 {reinterpret_cast<const char *>(ones.data()), 20000}, "w");
  ASSERT_TRUE(llvm::isa<mlir::DenseResourceElementsAttr>(resource));
  EXPECT_EQ(constantKey(splat), constantKey(resource));
  EXPECT_THAT(constantKey(splat), testing::StartsWith("f32[5000] "));
  ones[4999] = std::nextafter(1.0f, 2.0f);
  EXPECT_NE(constantKey(splat),
            constantKey(nn::makeConstant(context.get(), ElementType::f32, {5000},
                                         {reinterpret_cast<const char *>(ones.data()), 20000}, "w")));
}

} // namespace
