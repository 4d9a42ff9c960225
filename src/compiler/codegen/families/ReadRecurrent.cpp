// Reads the facts of a recurrent kernel from its function, and the functions of its gates.
#include "codegen/builder/KernelHarness.h"
#include "codegen/builder/Scalar.h"
#include "codegen/contraction/common/Contraction.h"
#include "codegen/families/Recurrent.h"

namespace lathe {
namespace {

/// Sets the fields alpha and beta of an attribute struct.
class ParameterSetter : public AttrVisitor {
public:
  explicit ParameterSetter(const CellActivation &activation) : activation(activation) {}
  void field(const char *name, double &value) override {
    if (name == std::string_view("alpha"))
      value = activation.alpha;
    if (name == std::string_view("beta"))
      value = activation.beta;
  }
  void field(const char *, int64_t &) override {}
  void field(const char *, bool &) override {}
  void field(const char *, std::string &) override {}
  void field(const char *, ElementType &) override {}
  void field(const char *, std::vector<int64_t> &) override {}
  void field(const char *, std::vector<double> &) override {}

private:
  const CellActivation &activation;
};

} // namespace

mlir::Value emitActivation(KernelBuilder &k, ElementType type, const CellActivation &function, mlir::Value x) {
  ScalarBuilder b(k, type, type, x);
  if (function.name == "sigmoid")
    return b.sigmoid(x);
  if (function.name == "tanh")
    return b.tanh(x);
  if (function.name == "affine")
    return b.fma(x, b.constant(function.alpha), b.constant(function.beta));
  if (function.name == "scaled_tanh")
    return b.mul(b.constant(function.alpha), b.tanh(b.mul(b.constant(function.beta), x)));
  const ScalarLowering *lowering = findScalarLowering(function.name);
  if (!lowering)
    throw Declined{fmt::format("activation '{}' has no scalar expression", function.name)};
  auto attrs = findOp(function.name)->makeAttrs();
  ParameterSetter setter(function);
  attrs->visit(setter);
  return lowering->lower(b, *attrs, {x});
}

namespace {

/// The one operator of the kernel.
mlir::Operation *recurrenceOf(mlir::func::FuncOp function) {
  mlir::Operation *anchor = soleAnchor(function);
  if (nn::recordOf(anchor)->name != std::string_view("recurrence"))
    throw Declined{fmt::format("'{}' is not a recurrence", nn::recordOf(anchor)->name)};
  for (mlir::Operation &op : function.getBody().front().without_terminator())
    if (&op != anchor)
      throw Declined{"other operators beside a recurrence"};
  for (mlir::BlockArgument argument : function.getArguments())
    if (nn::layoutOf(argument))
      throw Declined{"a recurrence in a blocked layout"};
  return anchor;
}

void setExtents(RecurrentGeometry &geometry, const TensorInfo &x, const TensorInfo &r) {
  geometry.type = x.type;
  if (geometry.type != ElementType::f32 && geometry.type != ElementType::f64)
    throw Declined{fmt::format("a recurrence of elements of type {}", name(geometry.type))};
  geometry.steps = x.dims[0];
  geometry.batch = x.dims[1];
  if (!r.dims[2].isConstant() || r.dims[2] == Dim(0))
    throw Declined{fmt::format("the hidden extent {} is not static", r.dims[2].str())};
  geometry.hidden = r.dims[2].constant();
}

void setArguments(RecurrentGeometry &geometry, llvm::ArrayRef<mlir::Value> operands) {
  geometry.x = argumentOf(operands[geometry.form.x], "the gates");
  geometry.r = argumentOf(operands[geometry.form.r], "the recurrent weights");
  auto optional = [&](size_t index, const char *what) -> std::optional<unsigned> {
    if (index >= operands.size() || !operands[index])
      return std::nullopt;
    unsigned argument = argumentOf(operands[index], what);
    if (argument == geometry.r)
      throw Declined{fmt::format("{} are also the recurrent weights", what)};
    return argument;
  };
  if (geometry.x == geometry.r)
    throw Declined{"the gates are also the recurrent weights"};
  geometry.hiddenBias = optional(geometry.form.hiddenBias, "the biases");
  geometry.lengths = optional(geometry.form.lengths, "the lengths");
  geometry.initialH = optional(geometry.form.initialH, "the initial states");
  geometry.initialC = optional(geometry.form.initialC, "the initial cells");
  geometry.peepholes = optional(geometry.form.p, "the peepholes");
}

void setResults(RecurrentGeometry &geometry, mlir::func::FuncOp function, mlir::Operation *anchor) {
  std::optional<unsigned> *results[] = {&geometry.y, &geometry.lastH, &geometry.lastC};
  unsigned buffer = function.getNumArguments();
  for (mlir::Value returned : function.getBody().front().getTerminator()->getOperands()) {
    if (returned.getDefiningOp() != anchor || nn::layoutOf(returned))
      throw Declined{"a result that is not the recurrence's"};
    std::optional<unsigned> &place = *results[llvm::cast<mlir::OpResult>(returned).getResultNumber()];
    if (place)
      throw Declined{"a result that is returned twice"};
    place = buffer++;
  }
}

} // namespace

std::unique_ptr<KernelFacts> readRecurrent(const KernelProblem &problem) {
  auto facts = std::make_unique<RecurrentFacts>();
  RecurrentGeometry &geometry = facts->geometry;
  mlir::func::FuncOp function = problem.function;
  mlir::Operation *anchor = recurrenceOf(function);
  geometry.form = recurrentForm(*nn::attrsOf(anchor));
  auto operands = nn::operandsByRecord(anchor);
  nn::SymbolicShapes shapes(function);
  setExtents(geometry, shapes.of(operands[geometry.form.x]), shapes.of(operands[geometry.form.r]));
  geometry.lanes = problem.target.lanes(bitWidth(geometry.type));
  setArguments(geometry, operands);
  geometry.constantR = function.getArgAttr(geometry.r, "nn.constant") != nullptr;
  setResults(geometry, function, anchor);
  if (geometry.form.cell == Cell::gru && !geometry.form.linearBeforeReset)
    geometry.phases = {{{0, 1}}, {{2}}};
  else if (geometry.form.cell == Cell::gru)
    geometry.phases = {{{0, 1, 2}}};
  else if (geometry.form.cell == Cell::lstm)
    geometry.phases = {{{0, 1, 2, 3}}};
  else
    geometry.phases = {{{0}}};
  // An activation without code declines here, while a temporary kernel is generated.
  KernelBuilder k(problem, "trial", {}, 0);
  for (const CellActivation &activation : geometry.form.activations)
    emitActivation(k, geometry.type, activation, k.zero(k.computeType(geometry.type)));
  return facts;
}

std::vector<char> packedWeights(const RecurrentPlan &plan, const nn::ConstantData &data) {
  int64_t size = plan.elementBytes();
  std::vector<char> packed(plan.form.directions() * plan.packedSize() * size); // columns beyond the last stay zero
  char *to = packed.data();
  for (int64_t d = 0; d < plan.form.directions(); ++d)
    for (const RecurrentPhase &phase : plan.phases)
      for (int64_t tile = 0; tile < plan.tiles(); ++tile)
        for (int64_t k = 0; k < plan.hidden; ++k)
          for (int64_t gate : phase.gates)
            for (int64_t j = 0; j < plan.tileColumns(); ++j, to += size) {
              int64_t column = tile * plan.tileColumns() + j;
              if (column < plan.hidden)
                std::memcpy(
                    to,
                    data.bytes.data() +
                        (data.splat ? 0 : ((d * plan.form.gates() + gate) * plan.hidden + column) * plan.hidden + k) *
                            size,
                    size);
            }
  return packed;
}

void emitPacking(KernelBuilder &k, const RecurrentPlan &plan, mlir::Value d, const std::function<mlir::Value()> &to) {
  using mlir::Value;
  int64_t gates = plan.form.gates();
  int64_t wide = plan.tileColumns();
  for (size_t phase = 0; phase < plan.phases.size(); ++phase) {
    auto &members = plan.phases[phase].gates;
    for (auto [position, gate] : llvm::enumerate(members)) {
      int64_t all = static_cast<int64_t>(members.size()) * wide;
      Value base = k.constant(plan.packedOffset(phase) + static_cast<int64_t>(position) * wide);
      auto copy = [&](int64_t low, int64_t high, bool real) {
        k.loop(k.constant(low), k.constant(high), 1, [&](Value column) {
          Value place = k.add(k.add(base, k.mul(k.div(column, wide), plan.hidden * all)), k.rem(column, wide));
          Value from = k.mul(k.add(k.mul(k.add(k.mul(d, gates), gate), plan.hidden), column), plan.hidden);
          k.loop(k.constant(0), k.constant(plan.hidden), 1, [&](Value step) {
            Value element =
                real ? k.load(k.buffer(plan.r), k.add(from, step), plan.type) : k.zero(k.computeType(plan.type));
            k.store(element, to(), k.add(place, k.mul(step, all)), plan.type);
          });
        });
      };
      copy(0, plan.hidden, true);
      copy(plan.hidden, plan.padded(), false);
    }
  }
}

} // namespace lathe
