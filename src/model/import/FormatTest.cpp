// Tests a format that only this test uses: lines of text. It needs a reader and a table, and no other code.
//
//   revision 2
//   input x f32 N 4
//   tensor w f32 4x2 1 2 3 4 5 6 7 8
//   node fc product x w -> h
//   node act clamp h -> y low=0 high=6
//   output y f32
#include "import/Node.h"
#include "ir/Context.h"
#include "passes/interpret/Evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cstring>
#include <sstream>

namespace lathe::source {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// ---- The reader.

std::vector<std::string> wordsOf(const std::string &line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::optional<int64_t> integerIn(const std::string &text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

AttributeRecord attributeOf(const std::string &word) {
  size_t equals = word.find('=');
  AttributeRecord record;
  record.name = word.substr(0, equals);
  std::string text = word.substr(equals + 1);
  std::vector<int64_t> list;
  if (text.find(',') != std::string::npos) {
    std::istringstream stream(text);
    for (std::string item; std::getline(stream, item, ',');)
      list.push_back(integerIn(item).value());
    record.value = list;
  } else if (auto integer = integerIn(text)) {
    record.value = *integer;
  } else if (auto type = elementTypeFromName(text)) {
    record.value = *type;
  } else if (text.find('.') != std::string::npos) {
    record.value = std::stof(text);
  } else {
    record.value = text;
  }
  return record;
}

ValueRecord valueOf(const std::vector<std::string> &words) {
  ValueRecord value;
  value.name = words.at(1);
  value.typeName = words.at(2);
  value.type = elementTypeFromName(words[2]).value_or(ElementType::invalid);
  value.extents.emplace();
  for (size_t i = 3; i < words.size(); ++i) {
    auto extent = integerIn(words[i]);
    value.extents->push_back({extent, extent ? "" : words[i]});
  }
  return value;
}

/// tensor NAME TYPE EXTENTxEXTENT VALUE...: floats, read on demand.
TensorRecord tensorOf(std::vector<std::string> words, int *reads) {
  TensorRecord tensor;
  tensor.name = words.at(1);
  tensor.typeName = words.at(2);
  tensor.type = elementTypeFromName(words[2]).value_or(ElementType::invalid);
  tensor.read = [words, reads](const std::string &what) {
    TensorData data{ElementType::f32, {}, {}, {}};
    std::istringstream extents(words.at(3));
    for (std::string extent; std::getline(extents, extent, 'x');)
      data.dims.push_back(integerIn(extent).value());
    auto count = static_cast<size_t>(checkedElements(data.dims, what));
    require(words.size() == 4 + count, "{}: has {} values, expected {}", what, words.size() - 4, count);
    for (size_t i = 0; i < count; ++i) {
      float value = std::stof(words[4 + i]);
      const char *bytes = reinterpret_cast<const char *>(&value);
      data.bytes.insert(data.bytes.end(), bytes, bytes + sizeof value);
    }
    ++*reads;
    return data;
  };
  return tensor;
}

int tensorsRead = 0;

ModelRecord readLines(std::string_view bytes, const std::string &fileName, const std::filesystem::path &,
                      const ImportOptions &) {
  ModelRecord model;
  std::istringstream stream{std::string(bytes)};
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    std::vector<std::string> words = wordsOf(line);
    if (words.empty())
      continue;
    if (words[0] == "revision") {
      model.version = integerIn(words.at(1)).value();
    } else if (words[0] == "input") {
      model.graph.inputs.push_back(valueOf(words));
    } else if (words[0] == "output") {
      model.graph.outputs.push_back(valueOf(words));
    } else if (words[0] == "tensor") {
      model.graph.initializers.push_back(tensorOf(words, &tensorsRead));
    } else if (words[0] == "node") {
      NodeRecord node;
      node.name = words.at(1);
      node.op = words.at(2);
      size_t i = 3;
      for (; words.at(i) != "->"; ++i)
        node.inputs.push_back(words[i]);
      for (++i; i < words.size() && words[i].find('=') == std::string::npos; ++i)
        node.outputs.push_back(words[i]);
      for (; i < words.size(); ++i)
        node.attributes.push_back(attributeOf(words[i]));
      model.graph.nodes.push_back(node);
    } else {
      fail("{}: line {}: got '{}'", fileName, number, words[0]);
    }
  }
  return model;
}

// ---- The table.

constexpr const char *clampNames[] = {"low=min", "high=max"}, *turnNames[] = {"order=perm"}, *asNames[] = {"type=to"};
constexpr FormatMapping product{"lines", "product", 1, 1000, true, {}},
    clamp{"lines", "clamp", 1, 1000, true, clampNames}, turn{"lines", "turn", 1, 2, true, turnNames},
    turn3{"lines", "turn", 3, 1000, true, {}}, as{"lines", "as", 1, 1000, true, asNames},
    minus{"lines", "minus", 3, 1000, true, {}};

/// y = x * scale + offset
void importAffine(Node &node) {
  node.expectInputs(1, 1);
  mlir::Value x = node.in(0);
  ElementType type = node.info(x).type;
  mlir::Value y = node.emit("mul", {x, node.constantScalar(type, node.floatAttr("scale", 1))});
  node.set(0, node.emit("add", {y, node.constantScalar(type, node.floatAttr("offset", 0))}));
}

const Format &lines() {
  static const Format format = {.name = "lines",
                                .versionWord = "revision",
                                .read = readLines,
                                .mappings = {{findOp("matmul"), &product},
                                             {findOp("clip"), &clamp},
                                             {findOp("transpose"), &turn},
                                             {findOp("transpose"), &turn3},
                                             {findOp("cast"), &as},
                                             {findOp("neg"), &minus}},
                                .handlers = {{"affine", importAffine}},
                                .passesOn = [](const NodeRecord &node) { return node.op == "same"; }};
  return format;
}

// ---- What they make.

const std::string network = "revision 2\n"
                            "input x f32 N 2\n"
                            "tensor w f32 2x3 1 2 3 4 5 6\n"
                            "tensor unused f32 1 1\n"
                            "node out clamp h2 -> y low=0.0 high=20.5\n" // before its producers
                            "node fc product x w -> h\n"
                            "node scaled affine h -> h2 scale=2.0 offset=-1.5\n"
                            "node turned turn h2 -> t order=1,0\n"
                            "output y f32\n"
                            "output t f32\n";

class FormatTest : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();

  mlir::OwningOpRef<mlir::ModuleOp> import(const std::string &text, const ImportOptions &options = {}) {
    return importModelOf(lines(), *context, text, "m.lines", ".", options);
  }
  std::string error(const std::string &text, const ImportOptions &options = {}) {
    try {
      import(text, options);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }
  static std::string withNode(const std::string &node) { return network + "node more " + node + "\noutput more f32\n"; }
};

TEST_F(FormatTest, GraphComputesWhatTheFileSays) {
  tensorsRead = 0;
  auto module = import(network, {.shapes = {{"x", {2, 2}}}});
  EXPECT_EQ(tensorsRead, 1) << "a tensor that nothing reads is not decoded";
  std::vector<Value> inputs{Value(Tensor::of<float>({2, 2}, {1, 1, 0, 1}))};
  std::vector<Value> results = evaluate(*module, inputs);
  // x * w = {{5, 7, 9}, {4, 5, 6}}; doubled, less 1.5
  const Tensor &y = results.at(0).tensor(), &t = results.at(1).tensor();
  std::vector<double> clamped, turned;
  for (int64_t i = 0; i < 6; ++i) {
    clamped.push_back(y.asDouble(i));
    turned.push_back(t.asDouble(i));
  }
  EXPECT_THAT(clamped, testing::ElementsAre(8.5, 12.5, 16.5, 6.5, 8.5, 10.5));
  EXPECT_THAT(turned, testing::ElementsAre(8.5, 6.5, 12.5, 8.5, 16.5, 10.5));
  EXPECT_THAT(t.dims(), testing::ElementsAre(3, 2));
}

TEST_F(FormatTest, SymbolsAndLocationsAreTheFormats) {
  auto module = import(network);
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  EXPECT_THAT(text,
              AllOf(HasSubstr("tensor<?x2xf32>"), HasSubstr("nn.dims = [\"N\", \"2\"]"), HasSubstr("nn.name = \"t\"")));
  std::vector<std::string> places;
  module->walk([&](mlir::Operation *op) {
    if (nn::recordOf(op))
      places.push_back(nn::describe(op->getLoc()));
  });
  EXPECT_THAT(places, testing::Contains("m.lines: node 1 'fc' (product, revision 2)"));
}

TEST_F(FormatTest, ProblemsAreCollectedWithSuggestions) {
  std::string text = network + "node a clamped y -> a1\nnode b minus y -> b1\nnode c as y -> c1 type=i8 way=up\n";
  try {
    import(text + "node d fourier y -> d1\noutput a1 f32\noutput d1 f32\n");
    FAIL() << "expected an error";
  } catch (const UnsupportedError &error) {
    ASSERT_EQ(error.issues.size(), 2u);
    EXPECT_EQ(error.issues[0].node, "a");
    EXPECT_EQ(error.issues[0].type, "f32");
    EXPECT_EQ(error.issues[0].opset, 2);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'a' (clamped, revision 2): the operator is not supported (did you mean "
                                              "'clamp'?)"),
                                    HasSubstr("'d' (fourier, revision 2)"), Not(HasSubstr("\n"))));
  }
}

TEST_F(FormatTest, ErrorsNameFileNodeAndVersion) {
  EXPECT_EQ(error(withNode("minus y -> more")),
            "m.lines: node 4 'more' (minus, revision 2): there is no such operator in revision 2");
  EXPECT_EQ(error(withNode("as y -> more type=i8 way=up")),
            "m.lines: node 4 'more' (as, revision 2): attribute 'way' is not one of as at revision 2");
  EXPECT_EQ(error(withNode("clamp y -> more low=none")),
            "m.lines: node 4 'more' (clamp, revision 2): attribute 'low' is a string, expected a float");
  EXPECT_EQ(error(withNode("as y -> more type=none")),
            "m.lines: node 4 'more' (as, revision 2): attribute 'type' is a string, expected an element type");
  EXPECT_EQ(error(withNode("product nothing w -> more")),
            "m.lines: node 4 'more' (product, revision 2): input 'nothing' is not produced by any node, input or "
            "initializer");
  EXPECT_THAT(error(withNode("product more w -> more")), HasSubstr("is part of a cycle or depends on one"));
  EXPECT_THAT(error(withNode("minus y -> h")), HasSubstr("output 'h' is already produced by node 1 'fc'"));
  EXPECT_EQ(error("revision 2\ninput x f32 2\ntensor w f32 2x2 1\nnode p product x w -> y\noutput y f32\n"),
            "m.lines: node 0 'p' (product, revision 2): initializer 'w': has 1 values, expected 4");
  EXPECT_EQ(
      error(network, {.shapes = {{"x", {2, 3}}}}),
      "m.lines: node 1 'fc' (product, revision 2): matmul_c2: inner extents 3 (of a, 2x3) and 2 (of b, 2x3) differ "
      "(--shape: input 'x' is Nx2 in the model)");
  EXPECT_EQ(error("revision 2\nwhat\n"), "m.lines: line 2: got 'what'");
}

/// The newest mapping whose version fits is used: revision 3 calls the order `perm`.
TEST_F(FormatTest, MappingsFollowTheVersion) {
  std::string newer = network;
  newer.replace(newer.find("revision 2"), 10, "revision 3");
  EXPECT_THAT(error(newer), HasSubstr("attribute 'order' is not one of turn at revision 3"));
  newer.replace(newer.find("order="), 6, "perm=");
  EXPECT_EQ(error(newer), "");
  EXPECT_EQ(error(newer + "node more minus y -> more\noutput more f32\n"), "");
}

TEST_F(FormatTest, OriginsLookThroughWhatPassesOn) {
  ModelRecord model = readLines(network + "node copy same y -> z\n", "m.lines", {}, {});
  TensorOrigins origins = originsOf(lines(), model.graph);
  EXPECT_EQ(origins.at("h").node, "fc");
  EXPECT_EQ(origins.at("z").node, "out");
}

} // namespace
} // namespace lathe::source
