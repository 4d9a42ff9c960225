// Damaged and invalid models: each gives one line that names the file and the place; none crashes or hangs.
#include "import/DamageTesting.h"
#include "import/onnx/TestModel.h"
#include "support/ErrorTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

namespace lathe::onnx {
namespace {

namespace fs = std::filesystem;

/// A small valid network with every kind of node.
TestModel network() {
  TestModel m(13);
  m.input("x", {"N", 3, 8, 8}).output("y");
  m.weight("w", {4, 3, 3, 3}).weight("b", {4}).weight("fc", {10, 64}).ints("shape", {0, -1});
  m.ints("starts", {0}).ints("ends", {64}).ints("axes", {1});
  m.node("Conv", {"x", "w", "b"}, {"c"}, "conv1")
      .attr("pads", {1, 1, 1, 1})
      .attr("kernel_shape", {3, 3})
      .attr("strides", {1, 1});
  m.node("Relu", {"c"}, {"r"}, "relu1");
  m.node("MaxPool", {"r"}, {"p"}, "pool1").attr("kernel_shape", {2, 2}).attr("strides", {2, 2});
  m.node("Reshape", {"p", "shape"}, {"f"}, "flat");
  m.node("Slice", {"f", "starts", "ends", "axes"}, {"s"}, "cut");
  m.node("Gemm", {"s", "fc"}, {"g"}, "fc1").attr("transB", 1).attr("alpha", 0.5f);
  m.node("Softmax", {"g"}, {"y"}, "prob").attr("axis", -1);
  return m;
}

NodeProto &node(TestModel &m, const char *name) {
  for (NodeProto &candidate : *m.graph->mutable_node())
    if (candidate.name() == name)
      return candidate;
  throw std::logic_error(name);
}

AttributeProto &attr(TestModel &m, const char *nodeName, const char *name) {
  for (AttributeProto &candidate : *node(m, nodeName).mutable_attribute())
    if (candidate.name() == name)
      return candidate;
  throw std::logic_error(name);
}

struct Case {
  const char *name;
  std::function<void(TestModel &)> damage;
  std::vector<std::string> expected; // parts of the message
};

auto *inputDim(TestModel &m, int axis) {
  return m.graph->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(axis);
}

const Case cases[] = {
    {"pads count",
     [](TestModel &m) { attr(m, "conv1", "pads").mutable_ints()->RemoveLast(); },
     {"m.onnx: node 0 'conv1' (Conv, opset 13): pads has 3 values, expected 4"}},
    {"attribute kind",
     [](TestModel &m) { attr(m, "conv1", "pads").set_type(AttributeProto::INT); },
     {"'conv1'", "an integer, expected integers"}},
    {"attribute without value",
     [](TestModel &m) {
       auto &a = attr(m, "fc1", "alpha");
       a.clear_f(), a.set_type(AttributeProto::TENSOR);
     },
     {"'fc1'", "nothing, expected a float"}},
    {"unknown attribute", [](TestModel &m) { attr(m, "fc1", "alpha").set_name("beat"); }, {"'fc1'", "'beat'"}},
    {"attribute twice",
     [](TestModel &m) { *node(m, "fc1").add_attribute() = attr(m, "fc1", "alpha"); },
     {"'fc1'", "given twice"}},
    {"stride zero",
     [](TestModel &m) { attr(m, "conv1", "strides").set_ints(0, 0); },
     {"'conv1'", "strides has value 0"}},
    {"stride absurd", [](TestModel &m) { attr(m, "conv1", "strides").set_ints(0, INT64_MAX); }, {"'conv1'", "strides"}},
    {"pad absurd", [](TestModel &m) { attr(m, "conv1", "pads").set_ints(0, INT64_MAX); }, {"'conv1'", "pads"}},
    {"kernel disagrees",
     [](TestModel &m) { attr(m, "conv1", "kernel_shape").set_ints(0, 5); },
     {"'conv1'", "kernel_shape is [5, 3], expected [3, 3]"}},
    {"kernel too great", [](TestModel &m) { attr(m, "pool1", "kernel_shape").set_ints(0, 90); }, {"'pool1'", "90"}},
    {"too few operands",
     [](TestModel &m) { node(m, "conv1").mutable_input()->DeleteSubrange(1, 2); },
     {"'conv1'", "has 1 inputs, expected 2 to 3"}},
    {"too many operands",
     [](TestModel &m) { node(m, "relu1").add_input("x"); },
     {"'relu1'", "has 2 inputs, expected 1"}},
    {"operand left out", [](TestModel &m) { node(m, "conv1").set_input(1, ""); }, {"'conv1'", "missing"}},
    {"operand unknown",
     [](TestModel &m) { node(m, "conv1").set_input(0, "nowhere"); },
     {"'conv1'", "'nowhere' is not produced"}},
    {"result twice",
     [](TestModel &m) { node(m, "relu1").set_output(0, "c"); },
     {"'relu1'", "'c' is already produced by node 0 'conv1'"}},
    {"result is an input",
     [](TestModel &m) { node(m, "relu1").set_output(0, "x"); },
     {"'relu1'", "'x' is already an input"}},
    {"no results", [](TestModel &m) { node(m, "prob").clear_output(); }, {"'y' is not produced"}},
    {"too many results",
     [](TestModel &m) { node(m, "relu1").add_output("more"); },
     {"'relu1'", "has 2 outputs, expected 1"}},
    {"a required result is not written",
     [](TestModel &m) { node(m, "relu1").set_op_type("TopK"), node(m, "relu1").add_input("ends"); },
     {"node 1 'relu1' (TopK, opset 13): has 1 outputs, expected 2"}},
    {"a required result has no name",
     [](TestModel &m) {
       node(m, "relu1").set_op_type("TopK"), node(m, "relu1").add_input("ends"), node(m, "relu1").add_output("");
     },
     {"'relu1'", "output 1 is missing"}},
    {"two of three required results are not written",
     [](TestModel &m) { node(m, "relu1").set_op_type("DynamicQuantizeLinear"); },
     {"'relu1'", "has 1 outputs, expected 3"}},
    {"cycle", [](TestModel &m) { node(m, "conv1").set_input(0, "r"); }, {"cycle"}},
    {"itself", [](TestModel &m) { node(m, "relu1").set_input(0, "r"); }, {"'relu1'", "cycle"}},
    {"unknown operator", [](TestModel &m) { node(m, "relu1").set_op_type("ReluPlus"); }, {"ReluPlus", "not supported"}},
    {"no operator", [](TestModel &m) { node(m, "relu1").clear_op_type(); }, {"not supported"}},
    {"operator of a later opset",
     [](TestModel &m) { node(m, "relu1").set_op_type("Where"), m.model.mutable_opset_import(0)->set_version(8); },
     {"'relu1'", "opset 8"}},
    {"unknown opset",
     [](TestModel &m) { m.model.mutable_opset_import(0)->set_version(99); },
     {"imports opset 99, expected"}},
    {"ancient opset",
     [](TestModel &m) { m.model.mutable_opset_import(0)->set_version(2); },
     {"imports opset 2, expected"}},
    {"negative opset",
     [](TestModel &m) { m.model.mutable_opset_import(0)->set_version(-1); },
     {"imports opset -1, expected"}},
    {"no opset", [](TestModel &m) { m.model.clear_opset_import(); }, {"no opset"}},
    {"no graph", [](TestModel &m) { m.model.clear_graph(); }, {"no graph"}},
    {"no outputs", [](TestModel &m) { m.graph->clear_output(); }, {"no outputs"}},
    {"output unknown",
     [](TestModel &m) { m.graph->mutable_output(0)->set_name("elsewhere"); },
     {"'elsewhere' is not produced"}},
    {"output twice", [](TestModel &m) { *m.graph->add_output() = m.graph->output(0); }, {"two outputs 'y'"}},
    {"output of another type",
     [](TestModel &m) {
       m.graph->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::INT64);
     },
     {"'y' is f32, expected i64"}},
    {"input twice", [](TestModel &m) { *m.graph->add_input() = m.graph->input(0); }, {"two inputs 'x'"}},
    {"input without type", [](TestModel &m) { m.graph->mutable_input(0)->clear_type(); }, {"'x'", "no type"}},
    {"input without shape",
     [](TestModel &m) { m.graph->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape(); },
     {"'x' has no shape", "--shape"}},
    {"input of strange type",
     [](TestModel &m) { m.graph->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(77); },
     {"type 77"}},
    {"negative extent", [](TestModel &m) { inputDim(m, 2)->set_dim_value(-8); }, {"'x' has extent -8 on axis 2"}},
    {"absurd extent",
     [](TestModel &m) { inputDim(m, 2)->set_dim_value(1'000'000'000'000'000'000); },
     {"'x'", "absurd"}},
    {"extents whose product overflows",
     [](TestModel &m) {
       for (int i = 0; i < 4; ++i)
         inputDim(m, i)->set_dim_value(1LL << 40);
     },
     {"'x'", "absurd"}},
    {"another rank",
     [](TestModel &m) {
       m.graph->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()->RemoveLast();
     },
     {"'conv1'", "rank"}},
    {"channels disagree",
     [](TestModel &m) { inputDim(m, 1)->set_dim_value(5); },
     {"'conv1'", "5 channels, expected 3"}},
    {"types disagree",
     [](TestModel &m) {
       m.graph->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::DOUBLE);
     },
     {"'conv1'", "f64"}},
    {"weight too short",
     [](TestModel &m) { m.graph->mutable_initializer(0)->mutable_float_data()->RemoveLast(); },
     {"'conv1'", "initializer 'w'", "107 values, expected 108"}},
    {"weight raw size",
     [](TestModel &m) {
       m.graph->mutable_initializer(0)->clear_float_data(), m.graph->mutable_initializer(0)->set_raw_data("abc");
     },
     {"initializer 'w'", "3 bytes, expected 432"}},
    {"weight with negative extent",
     [](TestModel &m) { m.graph->mutable_initializer(0)->set_dims(0, -4); },
     {"initializer 'w'", "extent -4"}},
    {"weight with absurd extents",
     [](TestModel &m) { m.graph->mutable_initializer(0)->set_dims(0, 1LL << 62); },
     {"initializer 'w'", "absurd"}},
    {"weight of strange type",
     [](TestModel &m) { m.graph->mutable_initializer(0)->set_data_type(15); },
     {"complex128"}},
    {"weight without name",
     [](TestModel &m) { m.graph->mutable_initializer(0)->clear_name(); },
     {"initializer has no name"}},
    {"weight twice",
     [](TestModel &m) { *m.graph->add_initializer() = m.graph->initializer(0); },
     {"two initializers 'w'"}},
    {"weight in segments",
     [](TestModel &m) { m.graph->mutable_initializer(0)->mutable_segment()->set_begin(0); },
     {"segments"}},
    {"reshape to another size",
     [](TestModel &m) {
       m.graph->mutable_initializer(3)->set_int64_data(1, 7), m.graph->mutable_initializer(3)->set_int64_data(0, 3);
       inputDim(m, 0)->set_dim_value(1);
     },
     {"'flat'", "64"}},
    {"reshape to nonsense", [](TestModel &m) { m.graph->mutable_initializer(3)->set_int64_data(0, -7); }, {"'flat'"}},
    {"slice axis", [](TestModel &m) { m.graph->mutable_initializer(6)->set_int64_data(0, 9); }, {"'cut'", "axis 9"}},
    {"softmax axis", [](TestModel &m) { attr(m, "prob", "axis").set_i(INT64_MIN); }, {"'prob'", "axis"}},
    {"subgraph",
     [](TestModel &m) {
       auto *a = node(m, "relu1").add_attribute();
       a->set_name("body");
       a->mutable_g();
     },
     {"subgraphs"}},
    {"external data in memory",
     [](TestModel &m) {
       auto *t = m.graph->mutable_initializer(0);
       t->clear_float_data();
       t->set_data_location(TensorProto::EXTERNAL);
       auto *e = t->add_external_data();
       e->set_key("location");
       e->set_value("w.bin");
     },
     {"'w.bin'", "memory"}},
    {"line breaks in names",
     [](TestModel &m) {
       node(m, "conv1").set_name("a\nb");
       attr(m, "a\nb", "pads").mutable_ints()->RemoveLast();
     },
     {"pads has 3"}},
};

class BadInput : public testing::TestWithParam<Case> {};

TEST_P(BadInput, IsOneLineThatNamesThePlace) {
  TestModel m = network();
  ASSERT_THAT(m.imported(), testing::HasSubstr("nn.softmax"));
  GetParam().damage(m);
  std::string message = m.imported();
  EXPECT_THAT(message, testing::StartsWith("error: m.onnx"));
  EXPECT_THAT(message, testing::Not(testing::HasSubstr("\n")));
  for (const std::string &part : GetParam().expected)
    EXPECT_THAT(message, testing::HasSubstr(part));
}

INSTANTIATE_TEST_SUITE_P(Cases, BadInput, testing::ValuesIn(cases), [](auto &info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

// ---- Files ------------------------------------------------------------------------------------------------------

class BadFile : public testing::Test {
protected:
  fs::path folder = fs::path(testing::TempDir()) / fmt::format("lathe_bad_file_{}", ::getpid());
  std::string path = (folder / "model" / "m.onnx").string();
  void SetUp() override { fs::create_directories(folder / "model"); }
  void TearDown() override { fs::remove_all(folder); }
  static void write(const fs::path &to, const std::string &bytes) { std::ofstream(to, std::ios::binary) << bytes; }
  std::string message() {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    return errorOf([&] { importModel(context, path); });
  }
  std::string withExternal(std::vector<std::pair<const char *, std::string>> entries) {
    TestModel m = network();
    auto *tensor = m.graph->mutable_initializer(0);
    tensor->clear_float_data();
    tensor->set_data_location(TensorProto::EXTERNAL);
    for (auto &[key, value] : entries) {
      auto *entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    write(path, m.bytes());
    return message();
  }
};

TEST_F(BadFile, NotThereEmptyOrNotAModel) {
  EXPECT_THAT(message(), testing::HasSubstr("No such file"));
  write(path, "");
  EXPECT_THAT(message(), testing::HasSubstr("is empty"));
  write(path, std::string("\x89PNG\r\n\x1a\n\0\0", 10));
  EXPECT_THAT(message(), testing::StartsWith(path + ": "));
  write(path, "just a note\n");
  EXPECT_THAT(message(), testing::StartsWith(path + ": is text without a function"));
  write(path, "func.func just a note\n");
  EXPECT_THAT(message(), testing::StartsWith(path + ": line 1"));
  path = folder.string();
  EXPECT_NE(message(), "no error");
}

TEST_F(BadFile, ExternalDataStaysInsideTheFolder) {
  write(folder / "model" / "w.bin", std::string(432 + 64, 'a'));
  EXPECT_THAT(withExternal({{"location", std::string("w.bin\0x", 7)}}), testing::HasSubstr("holds a NUL"));
  write(folder / "outside.bin", std::string(432, 'a'));
  fs::create_symlink(folder / "outside.bin", folder / "model" / "link.bin");
  EXPECT_EQ(withExternal({{"location", "w.bin"}}), "no error");
  EXPECT_EQ(withExternal({{"location", "w.bin"}, {"offset", "64"}, {"length", "432"}}), "no error");
  EXPECT_THAT(withExternal({{"location", "w.bin"}, {"offset", "65"}}),
              testing::HasSubstr("needs 432 bytes at 65 of 'w.bin', which has 496"));
  EXPECT_THAT(withExternal({{"location", "w.bin"}, {"offset", "9223372036854775807"}}),
              testing::HasSubstr("which has 496"));
  EXPECT_THAT(withExternal({{"location", "w.bin"}, {"length", "8"}}), testing::HasSubstr("8 bytes, expected 432"));
  EXPECT_THAT(withExternal({{"location", "w.bin"}, {"offset", "-1"}}), testing::HasSubstr("offset '-1'"));
  EXPECT_THAT(withExternal({{"location", "w.bin"}, {"offset", "1e3"}}), testing::HasSubstr("offset '1e3'"));
  EXPECT_THAT(withExternal({{"location", "missing.bin"}}),
              testing::AllOf(testing::HasSubstr("conv1"), testing::HasSubstr("does not exist")));
  EXPECT_THAT(withExternal({{"location", "../outside.bin"}}), testing::HasSubstr("leaves the model's folder"));
  EXPECT_THAT(withExternal({{"location", "link.bin"}}), testing::HasSubstr("leaves the model's folder"));
  EXPECT_THAT(withExternal({{"location", "/etc/passwd"}}), testing::HasSubstr("absolute"));
  EXPECT_THAT(withExternal({{"location", "."}}), testing::HasSubstr("not a file"));
  EXPECT_THAT(withExternal({}), testing::HasSubstr("no location"));
}

// ---- Damage at random --------------------------------------------------------------------------------------------

/// Returns the message of the import's Error, or "". Other exceptions must not occur.
std::string importErrorOf(const std::string &bytes) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  try {
    importOnnxBytes(context, bytes, "m.onnx");
  } catch (const Error &error) {
    EXPECT_STRNE(error.what(), "");
    return error.what();
  }
  return "";
}

void mustNotCrash(const std::string &bytes) { importErrorOf(bytes); }

TEST(Fuzz, EveryTruncation) {
  std::string bytes = network().bytes();
  for (size_t keep = 0; keep < bytes.size(); keep += keep < 64 ? 1 : 13)
    mustNotCrash(bytes.substr(0, keep));
}

TEST(Fuzz, DeepNesting) {
  // Attributes that hold graphs that hold nodes that hold attributes ...
  std::string inner = "x";
  for (int i = 0; i < 4000; ++i) {
    auto field = [](int number, const std::string &content) {
      std::string result(1, static_cast<char>(number << 3 | 2));
      for (size_t size = content.size(); true; size >>= 7) {
        result += static_cast<char>((size & 127) | (size > 127 ? 128 : 0));
        if (size <= 127)
          return result + content;
      }
    };
    inner = field(1, field(5, field(6, inner)));
  }
  mustNotCrash(std::string("\x3a\x05") + inner);
  mustNotCrash(inner);
}

/// Changes one to four single bytes or ranges of bytes.
std::string damaged(std::string bytes, std::mt19937 &random) {
  int changes = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < changes; ++i) {
    size_t at = random() % bytes.size();
    switch (random() % 5) {
    case 0:
      bytes[at] = static_cast<char>(random());
      break;
    case 1:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      break;
    case 2:
      bytes.erase(at, 1 + random() % 8);
      break;
    case 3:
      bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 32));
      break;
    default: // the greatest varint
      bytes.replace(at, 1, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
    }
    if (bytes.empty())
      bytes = "x";
  }
  return bytes;
}

TEST(Fuzz, RandomDamage) {
  const std::string good = network().bytes();
  damage::Rounds rounds("onnx");
  while (rounds.next()) {
    std::mt19937 random(static_cast<uint32_t>(rounds.seed()));
    for (int i = 0; i < 2000 && !rounds.over(); ++i) {
      std::string bytes = damaged(good, random);
      rounds.refusedClearly(fmt::format("damage {}", i), "", [&] { return importErrorOf(bytes); });
    }
  }
  // Half of the damage to weights has no effect; the rest is refused.
  EXPECT_GT(rounds.errors(), 100);
}

TEST(Fuzz, RandomBytes) {
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    std::string bytes(random() % 300, '\0');
    for (char &c : bytes)
      c = static_cast<char>(random());
    mustNotCrash(bytes);
  }
}

} // namespace
} // namespace lathe::onnx
