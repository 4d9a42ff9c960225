// operator_support CASES: compiles every operator of the nn dialect in every element type, and every operator of ONNX that
// becomes several of them, and prints what the compiler made of each as JSON. docs/generated/operators.md is written from
// that (dev/gen_operators_page.py), so the page says what the compiler does.
//
//   {"operators": {"conv": {"f32": {"kernels": ["contraction"]}, "bool": {"invalid": "conv_c1: ..."}, ...}, ...},
//    "composed": {"Einsum": {"operators": ["matmul", ...], "kernels": ["contraction"]}, ...}}
//
// Of a case: "kernels" are the families of the kernels that were made, "references" the operators left to references with
// the reason; neither: its value was known when compiling ("folded"), or it is its operand's memory ("view"). "invalid":
// the shape function refuses the type. Exit code 1: an operator has no case, or one that is invalid in every type.
#include "compile/Compile.h"
#include "import/onnx/TestModel.h"
#include "ir/Context.h"
#include "lab/problems/Operands.h"
#include "lab/providers/graph/ProblemGraph.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>

namespace lathe {
namespace {

using nlohmann::json;

constexpr const char *target = "x86-64-v3"; // the page is the same wherever it is made

/// What the compiler makes of the module, which it consumes.
json outcomeOf(mlir::ModuleOp module) {
  CompileOptions options;
  options.target = target;
  options.level = 2; // layouts follow the machine, and their conversions are kernels beside the operator
  CompileReport report = checkCompiled(module, options);
  json result = json::object();
  std::set<std::string> families;
  bool view = false;
  module.walk([&](mlir::func::FuncOp function) {
    if (auto family = function->getAttrOfType<mlir::StringAttr>("nn.family"))
      families.insert(family.str());
    else
      for (mlir::Operation &op : function.getBody().front())
        view |= op.getName().stripDialect() == "reshape";
  });
  if (!families.empty())
    result["kernels"] = families;
  for (const ReferenceUse &use : report.references)
    result["references"][use.op] = use.reason;
  if (result.empty())
    result[view ? "view" : "folded"] = true;
  return result;
}

/// The case's text with one element type.
std::string typed(std::string text, std::string_view type) {
  for (size_t at = 0; (at = text.find('T', at)) != std::string::npos; at += type.size())
    text.replace(at, 1, type);
  return text;
}

json outcomeOf(const std::string &text) {
  lab::Problem problem;
  try {
    problem = lab::Problem::parse(text);
  } catch (const Error &error) {
    return {{"invalid", error.what()}};
  }
  auto context = makeContext();
  auto module = lab::problemGraph(context.get(), problem, lab::makeOperands(problem, 1));
  return outcomeOf(*module);
}

/// Operators whose results have extents that depend on values, which no problem of the laboratory has: operands, in the
/// type that varies where none is given; extents of -1 stand for an operand that is missing.
struct LateOperand {
  std::vector<int64_t> dims;
  ElementType type = ElementType::invalid;
  std::vector<double> constant = {}; // its elements, where it is one
};
const std::map<std::string, std::vector<LateOperand>> lateOperators = {
    {"bind_extents", {{{2}}}},
    {"count_non_zero", {{{5, 19}}}},
    {"distinct", {{{19}}}},
    {"iota", {{{1}, ElementType::i64}}},
    {"non_zero_positions", {{{5, 19}}, {{1}, ElementType::i64}, {{1}, ElementType::i64}}},
    {"select_boxes", {{{1, 6, 4}}, {{1, 2, 6}}, {{}, ElementType::i64}, {{-1}}, {{-1}}}},
    {"selected_boxes", {{{1, 2, 6}, ElementType::i32}, {{1, 2}, ElementType::i64}, {{1}, ElementType::i64}}},
    {"compress", {{{5, 19}}, {{5}, ElementType::boolean}}},
    {"constant_of_shape", {{{2}, ElementType::i64, {3, 5}}}},
    {"non_max_suppression", {{{1, 6, 4}}, {{1, 2, 6}}, {{}, ElementType::i64}, {{-1}}, {{-1}}}},
    {"non_zero", {{{5, 19}}}},
    {"range", {{{}, ElementType::invalid, {0}}, {{}, ElementType::invalid, {5}}, {{}, ElementType::invalid, {1}}}},
    {"unique", {{{19}}}}};

/// Sequences, optionals and strings are no operands of a problem, and always run on references: the type of their elements
/// is text, or any.
bool holdsNoNumbers(const OpRecord &record) {
  return record.family == std::string_view("values") || record.family == std::string_view("strings");
}

bool missing(const LateOperand &operand) { return operand.dims == std::vector<int64_t>{-1}; }

json lateOutcome(const std::string &name, ElementType type) {
  auto context = makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(context.get()));
  mlir::OpBuilder b = mlir::OpBuilder::atBlockEnd(module->getBody());
  auto located = [&](const std::string &text) { return mlir::NameLoc::get(b.getStringAttr(text)); };
  const std::vector<LateOperand> &operands = lateOperators.at(name);
  llvm::SmallVector<mlir::Type> types;
  auto typeOf = [&](const LateOperand &operand) { return operand.type == ElementType::invalid ? type : operand.type; };
  auto isInput = [&](const LateOperand &operand) { return operand.constant.empty() && !missing(operand); };
  for (const LateOperand &operand : operands)
    if (isInput(operand))
      types.push_back(mlir::RankedTensorType::get(operand.dims, nn::toMlir(context.get(), typeOf(operand))));
  auto function = b.create<mlir::func::FuncOp>(located("main"), "main", b.getFunctionType(types, {}));
  mlir::Block *body = function.addEntryBlock();
  b.setInsertionPointToStart(body);
  auto attrs = findOp(name)->makeAttrs();
  if (auto *filled = dynamic_cast<ConstantOfShapeAttrs *>(attrs.get()))
    filled->type = type;
  if (auto *bound = dynamic_cast<BindExtentsAttrs *>(attrs.get()))
    bound->symbols = "rows columns";
  mlir::Operation *made;
  try {
    llvm::SmallVector<mlir::Value> values;
    unsigned next = 0;
    for (const LateOperand &operand : operands) {
      values.emplace_back(isInput(operand) ? mlir::Value(body->getArgument(next++)) : mlir::Value());
      if (operand.constant.empty())
        continue;
      Tensor data = Tensor::of<double>(operand.dims, std::span(operand.constant)).convertedTo(typeOf(operand));
      auto attr = nn::makeConstant(
          context.get(), data.type(), data.dims(),
          llvm::ArrayRef<char>(static_cast<const char *>(data.data()), static_cast<size_t>(data.bytes())), "constant");
      values.back() = b.create<nn::ConstantOp>(located("constant"), attr.getType(), attr);
    }
    made = nn::build(b, located(name), name, values, *attrs);
  } catch (const Error &error) {
    return {{"invalid", error.what()}};
  }
  b.create<mlir::func::ReturnOp>(located("return"), made->getResults());
  function.setType(b.getFunctionType(types, made->getResultTypes()));
  for (unsigned i = 0; i < types.size(); ++i)
    function.setArgAttr(i, "nn.name", b.getStringAttr(fmt::format("in{}", i)));
  for (unsigned i = 0; i < made->getNumResults(); ++i)
    function.setResultAttr(i, "nn.name", b.getStringAttr(fmt::format("out{}", i)));
  return outcomeOf(*module);
}

/// Adds what another case of the same operator and type gave: what one of them cannot, is left to the reference.
void merge(json &into, const json &more) {
  if (into.is_null() || into.contains("invalid"))
    into = more;
  else if (!more.contains("invalid"))
    into.update(more);
}

std::map<std::string, std::vector<std::string>> readCases(const char *path) {
  std::ifstream file(path);
  require(file.good(), "{}: cannot be read", path);
  std::map<std::string, std::vector<std::string>> cases;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#')
      cases[line.substr(0, line.find(' '))].push_back(line);
  for (const OpRecord &record : opRecords()) {
    if (cases.contains(record.name) || lateOperators.contains(record.name) || holdsNoNumbers(record))
      continue;
    require(std::string_view(record.lowering) == "elementwise", "{}: no case for the operator '{}'", path, record.name);
    std::string text = record.name;
    for (const OperandRecord &operand : record.operands)
      if (!operand.optional)
        text += fmt::format(" {}=3x17:T", operand.name);
    cases[record.name] = {text};
  }
  return cases;
}

json operators(const char *path) {
  json result = json::object();
  std::string failures;
  for (const OpRecord &record : opRecords())
    if (holdsNoNumbers(record))
      for (int i = 1; i <= static_cast<int>(ElementType::f8e5m2fnuz); ++i)
        if (auto type = static_cast<ElementType>(i); type == ElementType::string || *record.family == 'v')
          result[record.name][std::string(name(type))]["references"][record.name] = "no tensor of numbers";
  auto cases = readCases(path);
  for (const auto &[name, operands] : lateOperators)
    cases[name]; // without a text
  for (const auto &[name, texts] : cases) {
    json &types = result[name];
    bool valid = false;
    for (int i = 1; i <= static_cast<int>(ElementType::f8e5m2fnuz); ++i) {
      auto type = static_cast<ElementType>(i);
      if (type == ElementType::string) // has no place in a problem
        continue;
      json &outcome = types[std::string(lathe::name(type))];
      for (const std::string &text : texts)
        merge(outcome, outcomeOf(typed(text, lathe::name(type))));
      if (texts.empty())
        outcome = lateOutcome(name, type);
      valid |= !outcome.contains("invalid");
    }
    if (!valid)
      failures += fmt::format("{}: every type is invalid: {}\n", name, types.begin()->dump());
  }
  require(failures.empty(), "{}", failures);
  return result;
}

json composedOf(const onnx::TestModel &model) {
  auto context = makeContext();
  auto module = importOnnxBytes(*context, model.bytes(), "case.onnx");
  std::set<std::string> names;
  module->walk([&](mlir::Operation *op) {
    if (nn::recordOf(op))
      names.insert(op->getName().stripDialect().str());
  });
  json result = outcomeOf(*module);
  result["operators"] = names;
  return result;
}

/// Signal processing, n-grams, and operators with a state. `add` gives a model one node and its first input.
template <class Add> void addRecentModels(std::map<std::string, onnx::TestModel> &models, const Add &add) {
  using onnx::TensorProto, onnx::TestModel;
  for (const char *op : {"CausalConvWithState", "FlexAttention", "LinearAttention", "SwiGLU", "TensorScatter"})
    models.try_emplace(op, 28);
  add("CausalConvWithState", {1, 8, 5}, {"x", "w"}).first->weight("w", {8, 1, 4});
  add("DFT", {1, 16, 1}, {"x", "", "axis"}).first->ints("axis", {}, {1});
  add("DeformConv", {1, 4, 6, 6}, {"x", "w", "offset"}).first->weight("w", {4, 4, 3, 3}).input("offset", {1, 18, 4, 4});
  add("FlexAttention", {1, 2, 4, 8}, {"x", "k", "v"}).first->input("k", {1, 2, 6, 8}).input("v", {1, 2, 6, 8});
  add("LinearAttention", {1, "T", 8}, {"x", "k", "v"})
      .second.attr("q_num_heads", 2)
      .attr("kv_num_heads", 2)
      .attr("update_rule", "linear");
  models.at("LinearAttention").input("k", {1, "T", 8}).input("v", {1, "T", 8});
  add("MelWeightMatrix", {}, {"bands", "length", "rate", "low", "high"})
      .first->ints("bands", {}, {8})
      .ints("length", {}, {16})
      .ints("rate", {}, {8192})
      .floats("low", {}, {0})
      .floats("high", {}, {4096});
  add("STFT", {1, 64, 1}, {"x", "step", "", "length"}).first->ints("step", {}, {8}).ints("length", {}, {16});
  add("SwiGLU", {4, 8}, {"x", "b"}).first->input("b", {4, 8});
  add("TensorScatter", {2, 1, 4, 5}, {"x", "update", "at"})
      .first->input("update", {2, 1, 1, 5})
      .input("at", {2}, TensorProto::INT64);
  auto grams = add("TfIdfVectorizer", {2, 6}, {"x"}, TensorProto::INT64).second;
  grams.attr("mode", "TF").attr("max_gram_length", 2).attr("max_skip_count", 1).attr("min_gram_length", 1);
  grams.attr("ngram_counts", std::vector<int64_t>{0, 1}).attr("ngram_indexes", std::vector<int64_t>{0, 1});
  grams.attr("pool_int64s", std::vector<int64_t>{2, 3, 4});
}

/// ONNX Runtime's product by weights of 4 bits: 64 steps in two blocks, 64 columns.
void addPackedProduct(std::map<std::string, onnx::TestModel> &models) {
  onnx::TestModel &model = models.try_emplace("MatMulNBits", 21).first->second;
  auto *domain = model.model.add_opset_import();
  domain->set_domain("com.microsoft");
  domain->set_version(1);
  model.input("x", {1, 64}).output("y").weight("scales", {128});
  auto *codes = model.graph->add_initializer();
  codes->set_name("codes");
  codes->set_data_type(onnx::TensorProto::UINT8);
  for (int64_t extent : {64, 2, 16})
    codes->add_dims(extent);
  codes->set_raw_data(std::string(2048, 'Z'));
  auto node = model.node("MatMulNBits", {"x", "codes", "scales"}, {"y"});
  node.node->set_domain("com.microsoft");
  node.attr("K", 64).attr("N", 64).attr("bits", 4).attr("block_size", 32);
}

/// Operators of ONNX that no record maps: a model with one node of each.
std::map<std::string, onnx::TestModel> composedModels() {
  using onnx::TensorProto, onnx::TestModel;
  std::map<std::string, TestModel> models;
  auto add = [&](const char *op, std::vector<TestModel::Extent> dims, std::vector<const char *> operands,
                 int32_t type = TensorProto::FLOAT, int32_t resultType = TensorProto::FLOAT) {
    auto [entry, fresh] = models.try_emplace(op, 21);
    TestModel &model = entry->second;
    if (!operands.empty() && std::string_view(operands[0]) == "x")
      model.input("x", std::move(dims), type);
    model.output("y", resultType);
    return std::pair<TestModel *, onnx::TestNode>(&model, model.node(op, operands, {"y"}));
  };
  auto scaled = [](TestModel &model, const char *scale, const char *zero, int32_t type) {
    model.floats(scale, {}, {0.5f}).ints(zero, {}, {3});
    auto *tensor = model.graph->mutable_initializer(model.graph->initializer_size() - 1);
    tensor->set_data_type(type);
    tensor->clear_int64_data();
    tensor->add_int32_data(3);
  };
  auto bytes = [](TestModel &model, const char *name, std::vector<int64_t> dims) {
    int64_t count = 1;
    for (int64_t extent : dims)
      count *= extent;
    model.ints(name, dims, {});
    auto *tensor = model.graph->mutable_initializer(model.graph->initializer_size() - 1);
    tensor->set_data_type(TensorProto::INT8);
    for (int64_t i = 0; i < count; ++i)
      tensor->add_int32_data(int32_t(i % 11) - 5);
  };
  add("AffineGrid", {2, 2, 3}, {"x", "size"}).first->ints("size", {2, 3, 5, 6});
  for (const char *window : {"BlackmanWindow", "HammingWindow", "HannWindow"})
    add(window, {}, {"size"}).first->ints("size", {}, {10});
  add("CenterCropPad", {20, 10}, {"x", "shape"}).first->ints("shape", {10, 12});
  scaled(*add("DequantizeLinear", {2, 16}, {"x", "scale", "zero"}, TensorProto::UINT8).first, "scale", "zero",
         TensorProto::UINT8);
  {
    TestModel &model = models.try_emplace("DynamicQuantizeLinear", 21).first->second;
    model.input("x", {4, 8}).output("y", TensorProto::UINT8).output("s").output("z", TensorProto::UINT8);
    model.node("DynamicQuantizeLinear", {"x"}, {"y", "s", "z"});
  }
  add("Einsum", {4, 8}, {"x", "w"}).second.attr("equation", "ij,jk->ik");
  models.at("Einsum").weight("w", {8, 5});
  add("EyeLike", {4, 5}, {"x"});
  add("GlobalLpPool", {1, 8, 6, 6}, {"x"});
  add("LpPool", {1, 8, 6, 6}, {"x"}).second.attr("kernel_shape", {2, 2}).attr("strides", {2, 2});
  add("MeanVarianceNormalization", {2, 8, 5, 5}, {"x"});
  for (const char *loss : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"})
    add(loss, {4, 10}, {"x", "target"}).first->ints("target", {1, 2, 3, 4});
  add("OneHot", {5}, {"x", "depth", "values"}, TensorProto::INT64)
      .first->ints("depth", {}, {7})
      .floats("values", {2}, {0, 1});
  for (const char *op : {"QLinearConv", "QLinearMatMul"}) {
    bool conv = std::string_view(op) == "QLinearConv";
    std::vector<TestModel::Extent> dims = {4, 16};
    if (conv)
      dims = {1, 8, 6, 6};
    TestModel &model =
        *add(op, dims, {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"}, TensorProto::UINT8, TensorProto::UINT8).first;
    scaled(model, "xs", "xz", TensorProto::UINT8);
    bytes(model, "w", conv ? std::vector<int64_t>{16, 8, 3, 3} : std::vector<int64_t>{16, 5});
    scaled(model, "ws", "wz", TensorProto::INT8);
    scaled(model, "ys", "yz", TensorProto::UINT8);
  }
  models.try_emplace("RotaryEmbedding", 23);
  add("RotaryEmbedding", {1, 2, 4, 8}, {"x", "cosine", "sine"})
      .first->weight("cosine", {1, 4, 4})
      .weight("sine", {1, 4, 4});
  scaled(*add("QuantizeLinear", {2, 16}, {"x", "scale", "zero"}, TensorProto::FLOAT, TensorProto::UINT8).first, "scale",
         "zero", TensorProto::UINT8);
  add("Trilu", {5, 6}, {"x"});
  addRecentModels(models, add);
  addPackedProduct(models);
  return models;
}

int run(const char *path) {
  json composed = json::object();
  for (const auto &[name, model] : composedModels())
    composed[name] = composedOf(model);
  std::cout << json{{"operators", operators(path)}, {"composed", composed}}.dump(1) << "\n";
  return 0;
}

} // namespace
} // namespace lathe

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: operator_support CASES\n");
    return 2;
  }
  try {
    return lathe::run(argv[1]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "operator_support: %s\n", error.what());
    return 1;
  }
}
