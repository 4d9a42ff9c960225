// Single operators in graphs, with results computed by hand from TensorFlow's definitions.
#include "import/tensorflow/GraphTesting.h"
#include "import/tensorflow/TensorFlow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

namespace lathe::tensorflow {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;
using G = TestGraph;
using Build = std::function<std::string(G &, const std::string &)>;

/// A graph whose input is x; `build` returns the tensor to compare.
struct Case {
  const char *name;
  Extents dims;
  Numbers x, wanted;
  Build build;
};

/// One operator on x and on the inputs that `more` makes.
Build op(const char *name, std::vector<Attr> attrs = {}, std::function<std::vector<std::string>(G &)> more = {}) {
  return [=](G &g, const std::string &x) {
    std::vector<std::string> inputs = {x};
    for (const std::string &input : more ? more(g) : std::vector<std::string>())
      inputs.push_back(input);
    return g.op(name, inputs, attrs);
  };
}
auto ints(std::vector<std::vector<int32_t>> lists) {
  return [=](G &g) {
    std::vector<std::string> names;
    for (const auto &list : lists)
      names.push_back(g.ints(list));
    return names;
  };
}
auto row(std::vector<float> values) {
  return [=](G &g) { return std::vector<std::string>{g.constant<float>({int64_t(values.size())}, values)}; };
}
/// A result as floats.
Build asFloat(Build build) {
  return [=](G &g, const std::string &x) { return g.op("Cast", {build(g, x)}, {type("DstT", 1)}); };
}
/// Result `index`.
Build result(Build build, int index) {
  return [=](G &g, const std::string &x) { return build(g, x) + ":" + std::to_string(index); };
}

constexpr double inf = std::numeric_limits<double>::infinity();

Numbers count(int n) {
  Numbers values;
  for (int i = 0; i < n; ++i)
    values.push_back(i);
  return values;
}

const Case cases[] = {
    // ---- Element by element.
    {"relu6", {3}, {-1, 3, 9}, {0, 3, 6}, op("Relu6")},
    {"leaky relu", {2}, {-4, 4}, {-1, 4}, op("LeakyRelu", {real("alpha", 0.25f)})},
    {"reciprocal root", {2}, {4, 16}, {0.5, 0.25}, op("Rsqrt")},
    {"halves to even", {3}, {0.5, 1.5, -2.5}, {0, 2, -2}, op("Round")},
    {"log1p of small numbers", {2}, {1e-9, 1}, {1e-9, std::log(2.0)}, op("Log1p")},
    {"expm1 of small and large ones", {3}, {1e-9, -1, 2}, {1e-9, std::exp(-1) - 1, std::exp(2) - 1}, op("Expm1")},
    {"finite", {3}, {1, inf, -inf}, {1, 0, 0}, asFloat(op("IsFinite"))},
    {"bias", {1, 2, 2}, {1, 2, 3, 4}, {11, 22, 13, 24}, op("BiasAdd", {}, row({10, 20}))},
    {"floor division", {4}, {5, -5, 5.5, -6}, {1, -2, -2, -2}, op("FloorDiv", {}, row({3, 3, -3, 3}))},
    {"remainder with the divisor's sign", {3}, {5, -5, 5.5}, {2, 1, -0.5}, op("FloorMod", {}, row({3, 3, -3}))},
    {"remainder with the dividend's sign", {2}, {5, -5}, {2, -2}, op("Mod", {}, row({3, 3}))},
    {"division by zero is zero", {2}, {5, 6}, {0, 3}, op("DivNoNan", {}, row({0, 2}))},
    {"unequal", {2}, {1, 2}, {0, 1}, asFloat(op("NotEqual", {}, row({1, 3})))},
    {"equal", {2}, {1, 2}, {1, 0}, asFloat(op("Equal", {}, row({1, 3})))},
    {"squared difference", {2}, {5, -1}, {9, 9}, op("SquaredDifference", {}, row({2}))},
    {"sum of three", {2}, {1, 2}, {12, 14}, [](G &g, const std::string &x) {
       return g.op("AddN", {x, g.constant<float>({2}, {10, 10}), x});
     }},
    {"limits", {3}, {-1, 2, 9}, {0, 2, 5}, [](G &g, const std::string &x) {
       return g.op("ClipByValue", {x, g.real(0), g.real(5)});
     }},
    {"rows chosen", {2, 2}, {1, 2, 3, 4}, {1, 2, 0, 0}, [](G &g, const std::string &x) {
       return g.op("Select", {g.constant<bool>({2}, {true, false}), x, g.op("ZerosLike", {x})});
     }},
    {"elements chosen", {2}, {1, 2}, {1, 7}, [](G &g, const std::string &x) {
       return g.op("SelectV2", {g.constant<bool>({2}, {true, false}), x, g.real(7)});
     }},
    {"whole numbers", {2}, {1.9, -1.9}, {1, -1}, [](G &g, const std::string &x) {
       return g.op("Cast", {g.op("Cast", {x}, {type("DstT", 3)})}, {type("DstT", 1)});
     }},
    // ---- Along axes.
    {"mean over axes", {2, 2}, {1, 2, 3, 5}, {1.5, 4}, op("Mean", {truth("keep_dims", false)}, ints({{-1}}))},
    {"sum keeps axes", {2, 2}, {1, 2, 3, 5}, {4, 7}, op("Sum", {truth("keep_dims")}, ints({{0}}))},
    {"no axes", {2}, {1, 2}, {1, 2}, op("Max", {}, ints({{}}))},
    {"all", {2}, {1, 0}, {0}, [](G &g, const std::string &x) {
       std::string any = g.op("Cast", {x}, {type("DstT", 10)});
       return g.op("Cast", {g.op("All", {any, g.ints({0})})}, {type("DstT", 1)});
     }},
    {"position of the maximum", {2, 3}, {1, 5, 2, 7, 0, 1}, {1, 0}, asFloat([](G &g, const std::string &x) {
       return g.op("ArgMax", {x, g.scalar(1)}, {type("output_type", 3)});
     })},
    {"running sums", {3}, {1, 2, 3}, {5, 3, 0}, [](G &g, const std::string &x) {
       return g.op("Cumsum", {x, g.scalar(0)}, {truth("exclusive"), truth("reverse")});
     }},
    {"softmax", {1, 2}, {0, std::log(3.0)}, {0.25, 0.75}, op("Softmax")},
    // ---- Extents.
    {"reshape", {2, 2}, {1, 2, 3, 4}, {1, 2, 3, 4}, op("Reshape", {}, ints({{-1}}))},
    {"shape of one axis", {2, 3}, count(6), {3}, asFloat([](G &g, const std::string &x) {
       return g.op("StridedSlice", {g.op("Shape", {x}), g.ints({-1}), g.ints({0}), g.ints({1})},
                   {number("shrink_axis_mask", 1), number("end_mask", 1)});
     })},
    {"number of elements", {2, 3}, count(6), {6}, asFloat(op("Size"))},
    // ---- Movement.
    {"concatenation", {1, 2}, {1, 2}, {1, 2, 9, 1, 2}, [](G &g, const std::string &x) {
       return g.op("ConcatV2", {x, g.constant<float>({1, 1}, {9}), x, g.scalar(-1)});
     }},
    {"pack", {2}, {1, 2}, {1, 1, 2, 2}, [](G &g, const std::string &x) {
       return g.op("Pack", {x, x}, {number("axis", 1), number("N", 2)});
     }},
    {"unpack", {2, 2}, {1, 2, 3, 4}, {2, 4}, result(op("Unpack", {number("axis", 1), number("num", 2)}), 1)},
    {"split", {4}, {1, 2, 3, 4}, {3, 4}, result([](G &g, const std::string &x) {
       return g.op("Split", {g.scalar(0), x}, {number("num_split", 2)});
     }, 1)},
    {"split by sizes", {4}, {1, 2, 3, 4}, {2, 3, 4}, result([](G &g, const std::string &x) {
       return g.op("SplitV", {x, g.ints({1, -1}), g.scalar(0)}, {number("num_split", 2)});
     }, 1)},
    {"pad", {2}, {1, 2}, {0, 1, 2, 0, 0}, [](G &g, const std::string &x) {
       return g.op("Pad", {x, g.constant<int32_t>({1, 2}, {1, 2})});
     }},
    {"reflected", {3}, {1, 2, 3}, {2, 1, 2, 3, 2}, [](G &g, const std::string &x) {
       return g.op("MirrorPad", {x, g.constant<int32_t>({1, 2}, {1, 1})}, {text("mode", "REFLECT")});
     }},
    {"mirrored", {3}, {1, 2, 3}, {1, 1, 2, 3, 3}, [](G &g, const std::string &x) {
       return g.op("MirrorPad", {x, g.constant<int32_t>({1, 2}, {1, 1})}, {text("mode", "SYMMETRIC")});
     }},
    {"tile", {2}, {1, 2}, {1, 2, 1, 2}, op("Tile", {}, ints({{2}}))},
    {"reverse", {3}, {1, 2, 3}, {3, 2, 1}, op("ReverseV2", {}, ints({{0}}))},
    {"roll", {3}, {1, 2, 3}, {3, 1, 2}, op("Roll", {}, ints({{1}, {0}}))},
    {"slice to the end", {4}, {1, 2, 3, 4}, {2, 3, 4}, op("Slice", {}, ints({{1}, {-1}}))},
    {"every mask of a strided slice", {2, 2, 3}, count(12), {8, 11}, [](G &g, const std::string &x) {
       // x[1, newaxis, ..., 2]: positions are index, new axis, ellipsis, index
       return g.op("StridedSlice", {x, g.ints({1, 0, 0, 2}), g.ints({2, 0, 0, 3}), g.ints({1, 1, 1, 1})},
                   {number("shrink_axis_mask", 0b1001), number("new_axis_mask", 0b0010), number("ellipsis_mask", 0b0100)});
     }},
    {"strides backwards", {4}, {1, 2, 3, 4}, {4, 2}, [](G &g, const std::string &x) {
       return g.op("StridedSlice", {x, g.ints({0}), g.ints({0}), g.ints({-2})},
                   {number("begin_mask", 1), number("end_mask", 1)});
     }},
    {"depth to space", {1, 1, 1, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}, op("DepthToSpace", {number("block_size", 2)})},
    {"space to batch", {1, 2, 2, 1}, {1, 2, 3, 4}, {1, 2, 3, 4}, [](G &g, const std::string &x) {
       return g.op("SpaceToBatchND", {x, g.ints({2, 2}), g.constant<int32_t>({2, 2}, {0, 0, 0, 0})});
     }},
    {"batch to space", {4, 1, 1, 1}, {1, 2, 3, 4}, {1, 2}, [](G &g, const std::string &x) {
       return g.op("BatchToSpaceND", {x, g.ints({2, 2}), g.constant<int32_t>({2, 2}, {0, 1, 0, 0})});
     }},
    // ---- Positions.
    {"gather", {3}, {5, 6, 7}, {7, 5}, [](G &g, const std::string &x) {
       return g.op("GatherV2", {x, g.ints({2, 0}), g.scalar(0)});
     }},
    {"gather within a batch", {2, 2}, {1, 2, 3, 4}, {2, 3}, [](G &g, const std::string &x) {
       return g.op("GatherV2", {x, g.constant<int32_t>({2, 1}, {1, 0}), g.scalar(1)}, {number("batch_dims", 1)});
     }},
    {"gather by coordinates", {2, 2}, {1, 2, 3, 4}, {2, 3}, [](G &g, const std::string &x) {
       return g.op("GatherNd", {x, g.constant<int32_t>({2, 2}, {0, 1, 1, 0})});
     }},
    {"scatter adds", {2}, {5, 6}, {0, 11, 0}, [](G &g, const std::string &x) {
       return g.op("ScatterNd", {g.constant<int32_t>({2, 1}, {1, 1}), x, g.ints({3})});
     }},
    {"scatter into a tensor", {3}, {5, 6, 7}, {5, 9, 7}, [](G &g, const std::string &x) {
       return g.op("TensorScatterUpdate", {x, g.constant<int32_t>({1, 1}, {1}), g.constant<float>({1}, {9})});
     }},
    {"one hot", {2}, {1, 2}, {0, 5, 0, 0, 0, 5}, [](G &g, const std::string &x) {
       return g.op("OneHot", {g.op("Cast", {x}, {type("DstT", 3)}), g.scalar(3), g.real(5), g.real(0)},
                   {number("axis", -1)});
     }},
    {"greatest", {4}, {3, 9, 1, 5}, {9, 5}, [](G &g, const std::string &x) {
       return g.op("TopKV2", {x, g.scalar(2)}, {truth("sorted")});
     }},
    {"their positions", {4}, {3, 9, 1, 5}, {1, 3}, asFloat(result([](G &g, const std::string &x) {
       return g.op("TopKV2", {x, g.scalar(2)}, {truth("sorted")});
     }, 1))},
    {"where", {3}, {0, 2, 3}, {1, 2}, asFloat(op("Where"))},
    {"segments", {3}, {1, 2, 4}, {4, 3}, [](G &g, const std::string &x) {
       return g.op("UnsortedSegmentSum", {x, g.ints({1, 1, 0}), g.scalar(2)});
     }},
    {"band", {2, 2}, {1, 2, 3, 4}, {1, 0, 3, 4}, [](G &g, const std::string &x) {
       return g.op("MatrixBandPart", {x, g.scalar(-1), g.scalar(0)});
     }},
    {"diagonal", {2, 2}, {1, 2, 3, 4}, {1, 4}, op("MatrixDiagPart")},
    // ---- Products.
    {"transposed product", {2, 1}, {1, 2}, {7, 10}, [](G &g, const std::string &x) {
       return g.op("MatMul", {x, g.constant<float>({2, 2}, {1, 2, 3, 4})}, {truth("transpose_a")});
     }},
    {"batch of products", {1, 2, 1}, {1, 2}, {7, 10}, [](G &g, const std::string &x) {
       return g.op("BatchMatMulV2", {x, g.constant<float>({1, 2, 2}, {1, 2, 3, 4})}, {truth("adj_x")});
     }},
    {"einsum", {2, 2}, {1, 2, 3, 4}, {5}, op("Einsum", {text("equation", "ii->"), number("N", 1)})},
    // ---- Others.
    {"fake quantisation", {3}, {-0.1, 0.3, 9}, {0, 1 / 3., 1},
     op("FakeQuantWithMinMaxArgs", {real("min", 0), real("max", 1), number("num_bits", 2)})},
    {"dropout of factor 1", {2}, {3, 4}, {3, 4}, [](G &g, const std::string &x) {
       std::string random = g.op("RandomUniform", {g.ints({2})}, {type("dtype", 1)});
       std::string mask = g.op("Floor", {g.op("Add", {g.real(1), random})});
       return g.op("Mul", {g.op("RealDiv", {x, g.real(1)}), mask});
     }},
    {"dropout of rate 0", {2}, {3, 4}, {3, 4}, [](G &g, const std::string &x) {
       std::string random = g.op("RandomUniform", {g.ints({2})}, {type("dtype", 1)});
       std::string keep = g.op("GreaterEqual", {random, g.real(0)});
       return g.op("Mul", {x, g.op("Cast", {keep}, {type("DstT", 1)})});
     }},
    {"greedy decoding", {4, 1, 3}, {1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0}, {0, 1}, asFloat(result([](G &g, const std::string &x) {
       return g.op("CTCGreedyDecoder", {x, g.ints({4})}, {truth("merge_repeated")});
     }, 1))},
};

class Operators : public testing::TestWithParam<Case> {};

TEST_P(Operators, ComputeWhatTensorFlowDoes) {
  const Case &one = GetParam();
  G g;
  std::string y = one.build(g, g.placeholder("x", one.dims));
  g.op("Identity", {y}, {}, "y");
  std::vector<Tensor> got = results(g.bytes(), {floats(one.dims, one.x)});
  ASSERT_EQ(got.size(), 1u);
  EXPECT_THAT(numbersOf(got[0]), Pointwise(DoubleNear(1e-6), one.wanted));
}

INSTANTIATE_TEST_SUITE_P(Graph, Operators, testing::ValuesIn(cases), [](auto &info) {
  std::string name = info.param.name;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

TEST(Operators, TheFactorOfDropoutMayComeWithTheRun) {
  G g;
  std::string x = g.placeholder("x", {2});
  g.op("Placeholder", {}, {type("dtype", 1)}, "keep");
  std::string mask = g.op("Floor", {g.op("Add", {"keep", g.op("RandomUniform", {g.ints({2})}, {type("dtype", 1)})})});
  g.op("Mul", {g.op("RealDiv", {x, "keep"}), mask}, {}, "y");
  EXPECT_EQ(numbersOf(results(g.bytes(), {floats({2}, {3, 4}), floats({}, {1})})[0]), (Numbers{3, 4}));
  EXPECT_TRUE(std::isnan(results(g.bytes(), {floats({2}, {3, 4}), floats({}, {0.5})})[0].asDouble(0)));
}

TEST(Operators, WhatIsForTrainingIsRefusedWithTheReason) {
  G g;
  std::string x = g.placeholder("x", {1, 2, 2, 1}), one = g.constant<float>({1}, {1});
  g.op("FusedBatchNormV3", {x, one, one, one, one}, {truth("is_training")}, "norm");
  EXPECT_THAT(importError(g.bytes()), HasSubstr("'norm' (FusedBatchNormV3, producer 1000): is_training is set"));
  G drop;
  x = drop.placeholder("x", {2});
  std::string random = drop.op("RandomUniform", {drop.ints({2})}, {type("dtype", 1)});
  drop.op("Mul", {x, drop.op("Floor", {drop.op("Add", {drop.real(0.5), random})})});
  EXPECT_THAT(importError(drop.bytes()), HasSubstr("dropout that keeps 0.5 of the values"));
}

TEST(Operators, UnknownOnesAreCollected) {
  G g;
  std::string x = g.placeholder("x", {2});
  g.op("MyOp", {g.op("OtherOp", {x}, {}, "scope/first")}, {}, "scope/second");
  g.op("Relu", {g.op("MyOp", {x}, {}, "third")}, {}, "y");
  std::string error = importError(g.bytes());
  EXPECT_THAT(error, HasSubstr("'scope/first' (OtherOp, producer 1000)"));
  EXPECT_THAT(error, HasSubstr("'scope/second' (MyOp, producer 1000)"));
  EXPECT_THAT(error, HasSubstr("'third' (MyOp, producer 1000)"));
}

TEST(Operators, AnUnknownAttributeIsNamed) {
  G g;
  g.op("Relu", {g.placeholder("x", {2})}, {number("strange", 1)}, "y");
  EXPECT_THAT(importError(g.bytes()), HasSubstr("attribute 'strange' is not one of Relu"));
}

TEST(Operators, ThePageIsWrittenFromTheTables) {
  std::ifstream file(LATHE_SOURCE_DIR "/docs/generated/tensorflow.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), supportPage()) << "ninja tensorflow-page writes it again";
}

/// Unsupported nodes are also reported behind other unsupported nodes, and in functions, from their attributes alone.
TEST(Unsupported, NodesBehindOthersAreListed) {
  TestGraph g;
  std::string vector = g.constant<float>({2}, {1, 1});
  auto norm = [&](const std::string &x, const std::string &name, bool training) {
    return g.op("FusedBatchNormV3", {x, vector, vector, vector, vector}, {truth("is_training", training)}, name);
  };
  file::FunctionDef &body = g.function("inner", {{"x", 1}}, {{"y", "norm:y:0"}});
  setNode(*body.add_node_def(), "odd", "Frobnicate", {"x"}, {});
  setNode(*body.add_node_def(), "norm", "FusedBatchNormV3", {"odd", "x", "x", "x", "x"}, {truth("is_training")});
  std::string x = norm(g.placeholder("x", {1, 2, 2, 2}), "first", true);
  x = norm(norm(x, "good", false), "second", true);
  for (const char *call : {"call", "again"})
    x = g.op("PartitionedCall", {x}, {function("f", "inner")}, call);
  g.op("Relu", {x}, {}, "y");
  auto context = makeContext();
  try {
    importModelOf(format(), *context, g.bytes(), "m.pb", {}, {});
    FAIL() << "expected an error";
  } catch (const UnsupportedError &error) {
    std::vector<std::string> nodes;
    for (const ImportIssue &issue : error.issues) {
      nodes.push_back(issue.node);
      EXPECT_EQ(issue.opset, 1000) << issue.node;
    }
    EXPECT_THAT(nodes,
                testing::UnorderedElementsAre("first", "second", "call/odd", "call/norm", "again/odd", "again/norm"));
  }
}

} // namespace
} // namespace lathe::tensorflow
