// Damaged graphs: each gives one line that names the file; none crashes, hangs or asks for absurd amounts of memory.
// The models of the test data are truncated and get flipped bits, at fixed and at random places:
// LATHE_TENSORFLOW_DAMAGES is the number of both for each model and round (import/DamageTesting.h).
#include "import/DamageTesting.h"
#include "import/tensorflow/GraphTesting.h"
#include "import/tensorflow/TensorFlow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <google/protobuf/text_format.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <unistd.h>

namespace lathe::tensorflow {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using G = TestGraph;

G small() {
  G g;
  g.op("Add", {g.placeholder("x", {2}), g.constant<float>({2}, {1, 2})}, {}, "y");
  return g;
}

TEST(BadGraph, FormatsAreToldApart) {
  std::string graph = small().bytes();
  EXPECT_TRUE(isGraph(graph));
  EXPECT_FALSE(isGraphText(graph));
  EXPECT_TRUE(isGraphText("# a comment\n node {\n}"));
  EXPECT_FALSE(isGraphText("module {}"));
  file::SavedModel saved;
  saved.set_saved_model_schema_version(1);
  saved.add_meta_graphs()->mutable_meta_info_def()->add_tags("serve");
  EXPECT_TRUE(isGraph(saved.SerializeAsString()));
  EXPECT_TRUE(isSavedModel(saved.SerializeAsString()));
  EXPECT_FALSE(isSavedModel(graph));
  EXPECT_FALSE(isGraph(std::string("\x08\x07\x12\x07pytorch\x3a\x02", 13))) << "ONNX with a producer";
  EXPECT_FALSE(isGraph(std::string("\x08\x07\x3a\x02\x0a\x00", 6))) << "ONNX";
}

TEST(BadGraph, SavedModelsAreToldApartBehindComments) {
  EXPECT_TRUE(isSavedModel("# a comment\n# and another\n saved_model_schema_version: 1\n"));
  EXPECT_TRUE(isSavedModel("# a comment\nmeta_graphs {\n}"));
  EXPECT_FALSE(isSavedModel("# meta_graphs {\nnode {\n}"));
  EXPECT_THAT(importError("# a comment\nmeta_graphs {\n"), HasSubstr("expected the text of a SavedModel"));
}

TEST(BadGraph, AnEmptyFileIsAnError) {
  EXPECT_FALSE(isSavedModel({})) << "there is no first byte";
  EXPECT_THAT(importError({}), HasSubstr("m.pb: "));
}

TEST(BadGraph, TextIsReadAsWell) {
  std::string text;
  ASSERT_TRUE(google::protobuf::TextFormat::PrintToString(small().graph, &text));
  EXPECT_THAT(numbersOf(results(text, {floats({2}, {3, 4})}).at(0)), ElementsAre(4, 6));
  EXPECT_THAT(importError(text + "\nnode {"), HasSubstr("m.pb: line "));
}

TEST(BadGraph, WhatIsWrongIsNamed) {
  G missing;
  missing.op("Relu", {"nothing"}, {}, "y");
  EXPECT_THAT(importError(missing.bytes()), HasSubstr("input 'nothing' is not produced by any node"));
  G cycle;
  cycle.op("Add", {cycle.placeholder("x", {2}), "b"}, {}, "a");
  cycle.op("Relu", {"a"}, {}, "b");
  cycle.op("Relu", {"b"}, {}, "y");
  EXPECT_THAT(importError(cycle.bytes()), HasSubstr("is part of a cycle or depends on one"));
  G twice;
  twice.op("Relu", {twice.placeholder("x", {2})}, {}, "y");
  twice.op("Tanh", {"x"}, {}, "y");
  EXPECT_THAT(importError(twice.bytes()), HasSubstr("there are two nodes 'y'"));
  G operands;
  operands.op("MatMul", {operands.placeholder("x", {2, 2})}, {}, "y");
  EXPECT_THAT(importError(operands.bytes()), HasSubstr("'y' (MatMul, producer 1000): has 1 inputs, expected 2"));
  G empty;
  EXPECT_THAT(importError(empty.bytes()), HasSubstr("m.pb"));
}

TEST(BadGraph, ConstantsFitTheirExtents) {
  auto constant = [](const std::function<void(file::TensorProto &)> &change) {
    G g;
    std::string c = g.constant<float>({2}, {1, 2});
    for (file::NodeDef &node : *g.graph.mutable_node())
      change(*(*node.mutable_attr())["value"].mutable_tensor());
    g.op("Add", {g.placeholder("x", {2}), c}, {}, "y");
    return importError(g.bytes());
  };
  EXPECT_THAT(constant([](auto &tensor) { tensor.mutable_tensor_content()->pop_back(); }),
              HasSubstr("has 7 bytes of data, expected 8"));
  EXPECT_THAT(constant([](auto &tensor) { tensor.mutable_tensor_shape()->mutable_dim(0)->set_size(-3); }),
              HasSubstr("has extent -3, expected none below 0"));
  EXPECT_THAT(constant([](auto &tensor) {
                tensor.clear_tensor_content();
                tensor.add_float_val(1);
                tensor.mutable_tensor_shape()->mutable_dim(0)->set_size(int64_t(1) << 40);
              }),
              HasSubstr("repeats an element 1099511627776 times"));
  EXPECT_EQ(constant([](auto &tensor) {
              tensor.clear_tensor_content();
              tensor.add_float_val(1);
            }),
            "")
      << "one element stands for all";
}

TEST(BadGraph, AnErrorIsAllThatIsSaid) {
  G g;
  g.op("Relu", {g.placeholder("x", {2})}, {}, "abc");
  std::string bytes = g.bytes();
  size_t at = bytes.find("abc");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = '\xff'; // invalid UTF-8
  testing::internal::CaptureStderr();
  std::string error = importError(bytes);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(error, HasSubstr("m.pb: is not a TensorFlow graph or is damaged"));
}

// ---- Models of the test data --------------------------------------------------------------------------------------

fs::path models() {
  const char *given = std::getenv("LATHE_TEST_DATA");
  return fs::path(given ? given : LATHE_TEST_DATA) / "models/tensorflow";
}

/// The number of damages of each kind for a model in a round.
int64_t damagesOf() { return damage::numberOf("LATHE_TENSORFLOW_DAMAGES", 6); }

std::string contents(const fs::path &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class Damages {
public:
  explicit Damages(uint64_t seed) : random(seed) {}
  size_t below(size_t limit) { return random() % limit; }

  std::string flipped(std::string bytes) {
    for (size_t i = 0, count = 1 + below(4); i < count; ++i)
      bytes[below(bytes.size())] ^= static_cast<char>(1u << below(8));
    return bytes;
  }
  /// Sets a byte to an extreme number: a length, a type, a number of axes.
  std::string overwritten(std::string bytes) {
    static constexpr unsigned char extremes[] = {0, 1, 0x7f, 0x80, 0xff};
    bytes[below(bytes.size())] = static_cast<char>(extremes[below(std::size(extremes))]);
    return bytes;
  }

private:
  std::mt19937_64 random;
};

/// Calls `each` with damaged forms of `whole` and a description of the damage.
void damaged(const damage::Rounds &rounds, const std::string &whole, int64_t count,
             const std::function<void(const std::string &, const std::string &)> &each) {
  Damages damages(rounds.seed());
  for (int64_t i = 0; i < count && !rounds.over(); ++i) {
    std::string what = fmt::format("damage {}", i);
    each(whole.substr(0, damages.below(whole.size())), what + " (cut)");
    each(damages.flipped(whole), what + " (flipped)");
    each(damages.overwritten(whole), what + " (overwritten)");
  }
}

TEST(BadGraph, DamagedModelsAreRefusedOrRead) {
  if (!fs::exists(models()))
    GTEST_SKIP() << "NO TEST DATA: there is no models/tensorflow (set LATHE_TEST_DATA)";
  damage::Rounds rounds("graphs");
  while (rounds.next())
    for (const std::string name : {"fc-layers.frozen.pb", "lstm.frozen.pb"})
      damaged(rounds, contents(models() / name), damagesOf(), [&](const std::string &bytes, const std::string &what) {
        rounds.refusedClearly(name + ": " + what, "", [&] { return importError(bytes); });
      });
  EXPECT_GE(rounds.errors(), rounds.cases() / 4) << "most files that are cut short are refused";
}

/// Loops with many kinds of nodes, which the damages connect wrongly.
TEST(BadGraph, DamagedControlFlowIsRefusedOrRead) {
  G g;
  g.op("Enter", {g.placeholder("x", {2})}, {text("frame_name", "f")}, "e");
  g.op("Merge", {"e", "n"}, {}, "m");
  g.op("LoopCond", {g.op("Less", {g.op("Sum", {"m", g.ints({0})}), g.real(9)})}, {}, "c");
  g.op("Switch", {"m", "c"}, {}, "s");
  g.op("NextIteration", {g.op("Add", {"s:1", g.real(1)})}, {}, "n");
  g.op("Exit", {"s"}, {}, "y");
  damage::Rounds rounds("control flow");
  while (rounds.next())
    damaged(rounds, g.bytes(), 40 * damagesOf(), [&](const std::string &bytes, const std::string &what) {
      rounds.refusedClearly(what, "", [&] { return importError(bytes); });
    });
  EXPECT_GT(rounds.errors(), 100);
}

TEST(BadGraph, DamagedSavedModelsAreRefusedOrRead) {
  fs::path from = models() / "kws_dscnn_saved_model";
  if (!fs::exists(from))
    GTEST_SKIP() << "NO TEST DATA: there is no " << from << " (set LATHE_TEST_DATA)";
  fs::path folder = fs::temp_directory_path() / fmt::format("lathe-bad-graph-{}", ::getpid());
  fs::create_directories(folder / "variables");
  std::vector<std::string> names = {"variables/variables.index", "variables/variables.data-00000-of-00001",
                                    "saved_model.pb"};
  std::erase_if(names, [&](const std::string &name) { return !fs::exists(from / name); }); // weights may be constants
  auto write = [&](const std::string &name, const std::string &bytes) {
    std::ofstream(folder / name, std::ios::binary | std::ios::trunc) << bytes;
  };
  for (const std::string &name : names)
    write(name, contents(from / name));
  auto import = [&] {
    auto context = makeContext();
    try {
      importModelOf(format(), *context, contents(folder / "saved_model.pb"), "m.pb", folder, {});
      return std::string();
    } catch (const Error &error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(import(), "");
  damage::Rounds rounds("saved models");
  while (rounds.next())
    for (const std::string &name : names) {
      std::string whole = contents(from / name);
      damaged(rounds, whole, damagesOf(), [&](const std::string &bytes, const std::string &what) {
        write(name, bytes);
        rounds.refusedClearly(name + ": " + what, "", import);
      });
      write(name, whole);
    }
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  EXPECT_GE(rounds.errors(), rounds.cases() / 4);
}

} // namespace
} // namespace lathe::tensorflow
