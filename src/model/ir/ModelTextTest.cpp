#include "ir/ModelText.h"

#include "ir/Bridge.h"
#include "support/ErrorTesting.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

namespace lathe::nn {
namespace {

namespace fs = std::filesystem;

class ModelText : public testing::Test {
protected:
  fs::path folder = fs::path(testing::TempDir()) / fmt::format("lathe_model_text_{}", ::getpid());
  std::string path = (folder / "m.mlir").string();
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};

  void SetUp() override {
    fs::create_directories(folder);
    context.loadDialect<NnDialect, mlir::func::FuncDialect>();
  }
  void TearDown() override { fs::remove_all(folder); }
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &source) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    EXPECT_TRUE(module);
    return module;
  }
  static std::string text(mlir::ModuleOp module) {
    std::string result;
    llvm::raw_string_ostream out(result);
    module->print(out, mlir::OpPrintingFlags().enableDebugInfo(true, false));
    return result;
  }
  static std::string readFile(const std::string &file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void writeFile(const std::string &content) { std::ofstream(path, std::ios::binary) << content; }
  std::string errorOfReading() {
    mlir::MLIRContext fresh;
    return errorOf([&] { readModelText(fresh, path); });
  }

  /// x + w + scale, w a weight of 4 KiB under a name that needs quoting.
  mlir::OwningOpRef<mlir::ModuleOp> withWeight(float first) {
    mlir::OpBuilder b(&context);
    auto module = mlir::ModuleOp::create(b.getUnknownLoc());
    auto tensor = mlir::RankedTensorType::get({1024}, b.getF32Type());
    auto function = mlir::func::FuncOp::create(b.getUnknownLoc(), "main", b.getFunctionType({tensor}, {tensor}));
    module.push_back(function);
    b.setInsertionPointToEnd(function.addEntryBlock());
    std::vector<float> values(1024, 0.5f);
    values[0] = first;
    auto w = makeConstant(&context, ElementType::f32, {1024}, {reinterpret_cast<char *>(values.data()), 4096},
                          "block 1/\"w\":0");
    float small = 3;
    auto s = makeConstant(&context, ElementType::f32, {1}, {reinterpret_cast<char *>(&small), 4}, "s");
    auto loc = mlir::NameLoc::get(b.getStringAttr("add1 (Add, opset 13)"),
                                  mlir::FileLineColLoc::get(&context, "m.onnx", 4, 0));
    mlir::Value c = b.create<ConstantOp>(loc, w.getShapedType(), w),
                d = b.create<ConstantOp>(loc, s.getShapedType(), s);
    mlir::Value sum = buildValue(b, loc, "add", {function.getArgument(0), c}, AddAttrs{});
    b.create<mlir::func::ReturnOp>(loc, buildValue(b, loc, "mul", {sum, d}, MulAttrs{}));
    return module;
  }
};

TEST_F(ModelText, WeightsLieBesideTheText) {
  auto module = withWeight(7);
  writeModelText(*module, path);
  EXPECT_TRUE(fs::exists(path + ".safetensors"));
  EXPECT_LT(fs::file_size(path), 2000u);
  mlir::MLIRContext fresh;
  auto back = readModelText(fresh, path);
  ConstantOp weight;
  back->walk([&](ConstantOp constant) { weight = weight ? weight : constant; });
  auto data = constantData(weight.getValue());
  EXPECT_EQ(data.bytes.size(), 4096u);
  EXPECT_EQ(reinterpret_cast<const float *>(data.bytes.data())[0], 7.0f);
  EXPECT_EQ(text(*back), text(*module));
}

TEST_F(ModelText, ModelsOfOneContextKeepTheirOwnWeights) {
  auto one = withWeight(1), two = withWeight(2);
  writeModelText(*one, path);
  writeModelText(*two, path + "2.mlir");
  for (int i = 0; i < 2; ++i) { // twice: the names are taken in the second round
    auto first = readModelText(context, path), second = readModelText(context, path + "2.mlir");
    auto value = [](mlir::ModuleOp module) {
      float result = 0;
      module.walk([&](ConstantOp constant) {
        auto data = constantData(constant.getValue());
        if (data.dims[0] == 1024)
          result = reinterpret_cast<const float *>(data.bytes.data())[0];
      });
      return result;
    };
    EXPECT_EQ(value(*first), 1.0f);
    EXPECT_EQ(value(*second), 2.0f);
  }
}

TEST_F(ModelText, KernelsLevelComesBack) {
  auto module = parse(R"(
    module attributes {nn.source = "m.onnx"} {
      func.func private @conv1_relu1(%x: tensor<?x16x8x8xf32, #nn.blocked<1, 16>> {nn.dims = ["N", "16", "8", "8"]}, %w: tensor<16xf32> {nn.constant})
          -> tensor<?x16x8x8xf32, #nn.blocked<1, 16>> attributes {nn.family = "elementwise", nn.schedule = "v1 tile 4"} {
        %y = nn.relu %x : (tensor<?x16x8x8xf32, #nn.blocked<1, 16>>) -> tensor<?x16x8x8xf32, #nn.blocked<1, 16>>
        return %y : tensor<?x16x8x8xf32, #nn.blocked<1, 16>>
      }
      func.func @main(%x: tensor<?x16x8x8xf32> {nn.dims = ["N", "16", "8", "8"], nn.name = "x"}) -> (tensor<?x16x8x8xf32> {nn.name = "y"}) {
        %w = nn.constant {value = dense<1.0> : tensor<16xf32>} : tensor<16xf32>
        %b = nn.convert_layout %x : tensor<?x16x8x8xf32> -> tensor<?x16x8x8xf32, #nn.blocked<1, 16>>
        %y = func.call @conv1_relu1(%b, %w) : (tensor<?x16x8x8xf32, #nn.blocked<1, 16>>, tensor<16xf32>) -> tensor<?x16x8x8xf32, #nn.blocked<1, 16>>
        %r = nn.convert_layout %y : tensor<?x16x8x8xf32, #nn.blocked<1, 16>> -> tensor<?x16x8x8xf32>
        return %r : tensor<?x16x8x8xf32>
      }
    })");
  writeModelText(*module, path);
  EXPECT_FALSE(fs::exists(path + ".safetensors"));
  mlir::MLIRContext fresh;
  EXPECT_EQ(text(*readModelText(fresh, path)), text(*module));
}

TEST_F(ModelText, ATextInMemoryIsReadAndCheckedAlike) {
  const std::string kernel =
      R"("func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "kernel"}> ({
^bb0(%arg0: tensor<4xf32>):
  %0 = "nn.relu"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%0) : (tensor<4xf32>) -> ()
}) {nn.family = "elementwise"} : () -> ()
)";
  mlir::MLIRContext fresh;
  auto module = parseModelText(fresh, kernel, "a.db, kernel");
  EXPECT_EQ((*module->getOps<mlir::func::FuncOp>().begin()).getName(), "kernel");
  auto errorOfParsing = [&](const std::string &text) {
    return errorOf([&] { parseModelText(fresh, text, "a.db, kernel"); });
  };
  EXPECT_THAT(errorOfParsing("module {"), testing::StartsWith("a.db, kernel: line 1: "));
  EXPECT_THAT(errorOfParsing("module attributes {nn.colour = 1} {}"), testing::HasSubstr("nn.colour"));
}

TEST_F(ModelText, ErrorsNameFileAndLine) {
  writeFile("func.func @main() {\n  %0 = nn.relu %x\n  return\n}\n");
  EXPECT_THAT(errorOfReading(), testing::StartsWith(path + ": line 2: "));
  writeFile("func.func @main(%x: tensor<4xf32>) -> tensor<3xf32> {\n"
            "  %0 = nn.relu %x : (tensor<4xf32>) -> tensor<3xf32>\n  return %0 : tensor<3xf32>\n}\n");
  EXPECT_THAT(errorOfReading(),
              testing::AllOf(testing::StartsWith(path + ": line 2: "), testing::HasSubstr("expected")));
  fs::remove(path);
  EXPECT_THAT(errorOfReading(), testing::HasSubstr("No such file"));
  writeFile("func.func @main() { return } " + std::string(200'000, '['));
  EXPECT_THAT(errorOfReading(), testing::HasSubstr("nested"));
}

TEST_F(ModelText, NumbersOfResultsAreLimited) {
  // The parser reserves places for all results before it reads the operation.
  writeFile("func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) {\n  return %x#400000000 : tensor<4xf32>\n}\n");
  EXPECT_THAT(errorOfReading(),
              testing::StartsWith(path + ": line 2: '400000000' results of one operation, expected at "
                                         "most "));
  writeFile("func.func @main() {\n  %1000000000:1000000000 = nn.split\n}\n");
  EXPECT_THAT(errorOfReading(), testing::HasSubstr("line 2: '1000000000' results"));
  writeFile("func.func @main() {\n  %a:99999999999999999999999 = nn.split\n}\n");
  EXPECT_THAT(errorOfReading(), testing::HasSubstr("line 2: '99999999999999999999999' results"));
  writeFile("func.func @main(%x: tensor<4xf32> {nn.name = \"%a:1000000\"}) -> (tensor<2xf32>) {\n"
            "  %0:2 = nn.split %x {axis = 0 : i64, sizes = array<i64: 2, 2>} : (tensor<4xf32>) -> (tensor<2xf32>, "
            "tensor<2xf32>) // %a#1000000\n"
            "  return %0#1 : tensor<2xf32>\n}\n");
  EXPECT_EQ(errorOfReading(), "no error");
}

TEST_F(ModelText, DamagedWeightsAreErrors) {
  writeModelText(*withWeight(7), path);
  std::string weights = path + ".safetensors", good;
  {
    std::ifstream in(weights, std::ios::binary);
    good.assign(std::istreambuf_iterator<char>(in), {});
  }
  auto with = [&](const std::string &bytes) {
    std::ofstream(weights, std::ios::binary | std::ios::trunc) << bytes;
    return errorOfReading();
  };
  EXPECT_EQ(with(good), "no error");
  for (size_t keep : {size_t(0), size_t(7), size_t(20), good.size() - 1})
    EXPECT_NE(with(good.substr(0, keep)), "no error") << keep;
  EXPECT_NE(with(std::string(8, '\xff') + good.substr(8)), "no error");
  std::string other = good;
  other.replace(other.find("F32"), 3, "I32");
  EXPECT_THAT(with(other), testing::HasSubstr("is I32"));
  // A shape that does not match the bytes.
  size_t shape = good.find("\"shape\":[") + 9;
  for (const char *digits : {"2", "-1"}) {
    other = good;
    other.replace(shape, std::strlen(digits), digits);
    EXPECT_THAT(with(other), testing::ContainsRegex("is F32 \\[.*\\], expected [0-9]+ bytes, got [0-9]+")) << other;
  }
  fs::remove(weights);
  EXPECT_THAT(errorOfReading(), testing::AllOf(testing::HasSubstr("'" + weights + "', which does not exist"),
                                               testing::HasSubstr("put the file there")));
}

TEST_F(ModelText, ARenamedTextFindsItsWeights) {
  auto written = writeModelText(*withWeight(7), path);
  ASSERT_EQ(written.size(), 2u);
  for (const WrittenFile &file : written)
    EXPECT_EQ(fs::file_size(file.path), file.bytes) << file.path;
  std::string weights = path + ".safetensors", original = path;
  path = (folder / "renamed.mlir").string();
  fs::rename(original, path);
  EXPECT_EQ(errorOfReading(), "no error");
  // Moves both files, and changes the name in the text.
  fs::create_directories(folder / "below");
  fs::rename(weights, folder / "below" / "other.bin");
  EXPECT_THAT(errorOfReading(), testing::HasSubstr("m.mlir.safetensors', which does not exist"));
  std::string text = readFile(path), named = "m.mlir.safetensors";
  text.replace(text.find(named), named.size(), "below/other.bin");
  writeFile(text);
  EXPECT_EQ(errorOfReading(), "no error");
  // A text without a file name has its weights beside it; older versions wrote no name.
  text.erase(text.find(" attributes {nn.weights"),
             std::string(" attributes {nn.weights = \"below/other.bin\"}").size());
  writeFile(text);
  EXPECT_THAT(errorOfReading(), testing::HasSubstr("'" + path + ".safetensors' does not exist"));
  fs::rename(folder / "below" / "other.bin", path + ".safetensors");
  EXPECT_EQ(errorOfReading(), "no error");
}

TEST_F(ModelText, WeightsLeftOutOfAPrintAreSaidToBe) {
  writeFile("func.func @main() -> tensor<1024xf32> {\n"
            "  %0 = nn.constant {value = dense_resource<__elided__> : tensor<1024xf32>} : tensor<1024xf32>\n"
            "  return %0 : tensor<1024xf32>\n}\n");
  EXPECT_THAT(errorOfReading(), testing::HasSubstr("was left out when the text was printed"));
}

TEST_F(ModelText, ConstantsOfOneResourceHaveItsSize) {
  writeModelText(*withWeight(7), path);
  std::string text = readFile(path), constant = "nn.constant {value = dense_resource<";
  size_t begin = text.rfind('\n', text.find(constant)) + 1;
  std::string line = text.substr(begin, text.find('\n', begin) + 1 - begin);
  for (size_t at; (at = line.find("1024x")) != std::string::npos;)
    line.replace(at, 5, "9999x");
  line.replace(line.find('%'), line.find(' ', line.find('%')) - line.find('%'), "%other");
  writeFile(text.insert(begin, line));
  EXPECT_THAT(errorOfReading(), testing::HasSubstr("4096 bytes"));
}

TEST_F(ModelText, SmallConstantsOfSmallTypesComeBack) {
  mlir::OpBuilder b(&context);
  auto module = mlir::ModuleOp::create(b.getUnknownLoc());
  std::vector<char> nibbles = {1, 2, 3, 4};
  auto value = makeConstant(&context, ElementType::i4, {8}, nibbles, "n");
  auto function = mlir::func::FuncOp::create(b.getUnknownLoc(), "main", b.getFunctionType({}, {value.getShapedType()}));
  module.push_back(function);
  b.setInsertionPointToEnd(function.addEntryBlock());
  mlir::Value constant = b.create<ConstantOp>(b.getUnknownLoc(), value.getShapedType(), value);
  b.create<mlir::func::ReturnOp>(b.getUnknownLoc(), constant);
  writeModelText(module, path);
  mlir::MLIRContext fresh;
  auto back = readModelText(fresh, path);
  back->walk([&](ConstantOp read) {
    auto bytes = constantData(read.getValue()).bytes;
    EXPECT_EQ(std::vector<char>(bytes.begin(), bytes.end()), nibbles);
  });
  module->erase();
}

/// A text of one function with chosen attributes, argument and operator.
std::string oneOperator(const std::string &op, const std::string &argument = "", const std::string &function = "",
                        const std::string &module = "") {
  return fmt::format("module {} {{\n  func.func @main(%x: tensor<4xf32> {}) -> tensor<4xf32> {} {{\n    %0 = {} : "
                     "(tensor<4xf32>) -> tensor<4xf32>\n    return %0 : tensor<4xf32>\n  }}\n}}\n",
                     module, argument, function, op);
}

TEST_F(ModelText, AttributesThatNothingReadsAreErrors) {
  auto error = [&](const std::string &text) {
    writeFile(text);
    std::string said = errorOfReading();
    return said.starts_with(path + ": ") ? said.substr(path.size() + 2) : said;
  };
  EXPECT_EQ(error(oneOperator("nn.leaky_relu %x {alpha = 0.3 : f64}")), "no error");
  EXPECT_EQ(error(oneOperator("nn.leaky_relu %x {nn.reason = \"why\"}", "{nn.name = \"x\", nn.dims = [\"4\"]}",
                              "attributes {nn.family = \"elementwise\", nn.schedule = \"map/2\"}",
                              "attributes {nn.source = \"m.onnx\", nn.producer = \"p\"}")),
            "no error");
  EXPECT_EQ(
      error(oneOperator("nn.leaky_relu %x {alhpa = 0.3 : f64}")),
      "line 3: nn.leaky_relu has no attribute 'alhpa'; it has alpha, nn.reason, nn.in_place, nn.part and nn.extents "
      "(did you mean 'alpha'?)");
  EXPECT_THAT(error(oneOperator("nn.leaky_relu %x {nn.inplace}")), testing::HasSubstr("did you mean 'nn.in_place'?"));
  EXPECT_THAT(error(oneOperator("nn.relu %x {other.alpha = 1}")), testing::HasSubstr("has no attribute 'other.alpha'"));
  EXPECT_THAT(error(oneOperator("nn.relu %x", "{nn.nmae = \"x\"}")),
              testing::AllOf(testing::StartsWith("line 2: "), testing::HasSubstr("did you mean 'nn.name'?")));
  EXPECT_THAT(error(oneOperator("nn.relu %x", "{nn.name = 3}")), testing::HasSubstr("is not a string"));
  EXPECT_THAT(error(oneOperator("nn.relu %x", "{nn.dims = [3]}")), testing::HasSubstr("is not an array of strings"));
  EXPECT_THAT(error(oneOperator("nn.relu %x", "{nn.dims = [\"4\", \"4\"]}")), testing::HasSubstr("expected 1"));
  EXPECT_THAT(error(oneOperator("nn.relu %x", "", "attributes {nn.familiy = \"elementwise\"}")),
              testing::HasSubstr("did you mean 'nn.family'?"));
  EXPECT_THAT(error(oneOperator("nn.relu %x", "", "attributes {family = \"elementwise\"}")),
              testing::HasSubstr("has no attribute 'family'"));
  EXPECT_THAT(error(oneOperator("nn.relu %x", "", "", "attributes {nn.suorce = \"m.onnx\"}")),
              testing::HasSubstr("did you mean 'nn.source'?"));
}

TEST_F(ModelText, VerifierErrorsNameLineAndNode) {
  auto wrong = [&](const std::string &loc) {
    writeFile(
        fmt::format("func.func @main(%x: tensor<4xf32>) -> tensor<3xf32> {{\n  %0 = nn.relu %x : (tensor<4xf32>) -> "
                    "tensor<3xf32> {}\n  return %0 : tensor<3xf32>\n}}\n",
                    loc));
    return errorOfReading();
  };
  std::string said = path + ": line 2: 'nn.relu' op result is 'tensor<3xf32>', expected 'tensor<4xf32>'";
  EXPECT_EQ(wrong(""), said);
  EXPECT_EQ(wrong("loc(\"act1 (Relu)\"(\"m.onnx\":0:0))"), said + " (m.onnx: node 0 'act1' (Relu))");
  EXPECT_EQ(wrong("loc(\"act1\")"), said + " ('act1')");
}

TEST_F(ModelText, LocationsOutliveTheChecks) {
  writeModelText(*withWeight(7), path);
  mlir::MLIRContext fresh;
  auto back = readModelText(fresh, path);
  back->walk([&](mlir::Operation *op) {
    if (recordOf(op)) {
      EXPECT_EQ(describe(op->getLoc()), "m.onnx: node 4 'add1' (Add, opset 13)");
    }
  });
}

TEST_F(ModelText, WhatIsNoModelIsAnError) {
  auto error = [&](const std::string &text) {
    writeFile(text);
    return errorOfReading();
  };
  using testing::HasSubstr;
  EXPECT_THAT(error("func.func private @main(tensor<4xf32>) -> tensor<4xf32>\n"), HasSubstr("no body of one block"));
  EXPECT_THAT(error("func.func @main(%x: i32) -> i32 {\n  return %x : i32\n}\n"), HasSubstr("a value of type i32"));
  EXPECT_THAT(error("func.func @main(%x: tensor<4xcomplex<f32>>) {\n  return\n}\n"), HasSubstr("expected a tensor of"));
  EXPECT_THAT(error("func.func @main(%x: tensor<4294967296x4294967296xf32>) {\n  return\n}\n"),
              HasSubstr("more bytes than can be counted"));
  EXPECT_THAT(error("module {\n  module {\n  }\n}\n"), HasSubstr("line 2: expected functions"));
  EXPECT_THAT(error("func.func @main() -> tensor<2xf32> {\n  %0 = nn.constant {value = dense<1.0> : tensor<3xf32>} : "
                    "tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n"),
              HasSubstr("line 2: the constant's value and its result have different types"));
  writeModelText(*withWeight(7), path); // its weights follow the text for the parser
  std::string text = readFile(path);
  EXPECT_THAT(error(text.substr(0, text.find("    %2"))), HasSubstr("line 5: expected operation name"));
}

/// One random change of `bytes`: truncation, a changed byte, a removed or doubled range, digits.
std::string mutated(std::string bytes, std::mt19937_64 &random) {
  auto below = [&](size_t n) { return n ? random() % n : 0; };
  size_t at = below(bytes.size()), length = 1 + below(30);
  switch (random() % 6) {
  case 0:
    return bytes.substr(0, at);
  case 1:
    bytes[at] = static_cast<char>(random());
    return bytes;
  case 2:
    return bytes.erase(at, length);
  case 3:
    return bytes.insert(below(bytes.size()), bytes.substr(at, length));
  case 4:
    return bytes.insert(at, std::array{"-1", "9223372036854775807", "0", "[", "\"", "?x", "1e30"}[below(7)]);
  default:
    for (size_t i = at; i < bytes.size(); ++i)
      if (bytes[i] >= '0' && bytes[i] <= '9') {
        bytes[i] = static_cast<char>('0' + below(10));
        break;
      }
    return bytes;
  }
}

TEST_F(ModelText, MutatedFilesAreReadOrRefusedInOneLine) {
  uint64_t seed = 20261122;
  std::mt19937_64 random(seed);
  writeModelText(*withWeight(7), path);
  std::string weights = path + ".safetensors", text = readFile(path), data = readFile(weights);
  size_t header = data.find('\0', 8) == std::string::npos ? data.size() : data.find('\0', 8);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    bool changeText = i % 2;
    writeFile(changeText ? mutated(text, random) : text);
    std::string head = data.substr(0, header);
    std::ofstream(weights, std::ios::binary | std::ios::trunc)
        << (changeText ? data : mutated(head, random) + data.substr(header));
    std::string said = errorOfReading();
    refused += said != "no error";
    EXPECT_TRUE(std::none_of(said.begin(), said.end(), [](unsigned char c) { return c < 32; }))
        << said << ", change " << i << " of seed " << seed;
  }
  EXPECT_GT(refused, 200) << "seed " << seed;
}

} // namespace
} // namespace lathe::nn
