#include "codegen/families/Recurrent.h"

#include "codegen/builder/KernelHarness.h"
#include "codegen/builder/Scalar.h"
#include "codegen/contraction/Contraction.h"
#include "codegen/contraction/Microkernel.h"

#include <cstring>

namespace lathe {
namespace {

/// Slots meet within a microsecond, in which one reads 128 KiB of weights from its second-level cache and multiplies a
/// row with them.
constexpr int64_t worthSplitting = int64_t(1) << 18;

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

/// What of the plan does not depend on the schedule.
void readProblem(RecurrentPlan &plan, const KernelProblem &problem) {
  mlir::func::FuncOp function = problem.function;
  mlir::Operation *anchor = soleAnchor(function);
  if (nn::recordOf(anchor)->name != std::string_view("recurrence"))
    throw Declined{fmt::format("'{}' is not a recurrence", nn::recordOf(anchor)->name)};
  for (mlir::Operation &op : function.getBody().front().without_terminator())
    if (&op != anchor)
      throw Declined{"other operators beside a recurrence"};
  plan.form = recurrentForm(*nn::attrsOf(anchor));
  auto operands = nn::operandsByRecord(anchor);
  nn::SymbolicShapes shapes(function);
  TensorInfo x = shapes.of(operands[plan.form.x]), r = shapes.of(operands[plan.form.r]);
  plan.type = x.type;
  if (plan.type != ElementType::f32 && plan.type != ElementType::f64)
    throw Declined{fmt::format("a recurrence of elements of type {}", name(plan.type))};
  plan.steps = x.dims[0];
  plan.batch = x.dims[1];
  if (!r.dims[2].isConstant() || r.dims[2] == Dim(0))
    throw Declined{fmt::format("the hidden extent {} is not static", r.dims[2].str())};
  plan.hidden = r.dims[2].constant();
  plan.lanes = problem.target.lanes(bitWidth(plan.type));

  plan.x = argumentOf(operands[plan.form.x], "the gates");
  plan.r = argumentOf(operands[plan.form.r], "the recurrent weights");
  auto optional = [&](size_t index, const char *what) -> std::optional<unsigned> {
    if (index >= operands.size() || !operands[index])
      return std::nullopt;
    unsigned argument = argumentOf(operands[index], what);
    if (argument == plan.r)
      throw Declined{fmt::format("{} are also the recurrent weights", what)};
    return argument;
  };
  if (plan.x == plan.r)
    throw Declined{"the gates are also the recurrent weights"};
  plan.hiddenBias = optional(plan.form.hiddenBias, "the biases");
  plan.lengths = optional(plan.form.lengths, "the lengths");
  plan.initialH = optional(plan.form.initialH, "the initial states");
  plan.initialC = optional(plan.form.initialC, "the initial cells");
  plan.peepholes = optional(plan.form.p, "the peepholes");
  for (mlir::BlockArgument argument : function.getArguments())
    if (nn::layoutOf(argument))
      throw Declined{"a recurrence in a blocked layout"};
  plan.constantR = function.getArgAttr(plan.r, "nn.constant") != nullptr;

  std::optional<unsigned> *results[] = {&plan.y, &plan.lastH, &plan.lastC};
  unsigned buffer = function.getNumArguments();
  for (mlir::Value returned : function.getBody().front().getTerminator()->getOperands()) {
    if (returned.getDefiningOp() != anchor || nn::layoutOf(returned))
      throw Declined{"a result that is not the recurrence's"};
    std::optional<unsigned> &place = *results[llvm::cast<mlir::OpResult>(returned).getResultNumber()];
    if (place)
      throw Declined{"a result that is returned twice"};
    place = buffer++;
  }

  if (plan.form.cell == Cell::gru && !plan.form.linearBeforeReset)
    plan.phases = {{{0, 1}}, {{2}}};
  else if (plan.form.cell == Cell::gru)
    plan.phases = {{{0, 1, 2}}};
  else if (plan.form.cell == Cell::lstm)
    plan.phases = {{{0, 1, 2, 3}}};
  else
    plan.phases = {{{0}}};
}

} // namespace

RecurrentPlan::RecurrentPlan(const KernelProblem &problem, const Schedule &schedule) {
  readProblem(*this, problem);
  rows = schedule.number("rows");
  if (batch.isConstant())
    rows = std::max<int64_t>(1, std::min(rows, batch.constant()));
  vectors = std::min(schedule.number("vectors"), (hidden + lanes - 1) / lanes);
  unroll = schedule.number("unroll");
  split = schedule.number("split") == 1;
  if (split && (!batch.isConstant() || batch.constant() < 1))
    throw Declined{fmt::format("split=1 for a batch of {}, expected a static one", batch.str())};
  if (split && !constantR)
    throw Declined{"split=1 with recurrent weights that are not constant"};
  if (!Microkernel::fits(problem.target, rows, mostGates() * vectors))
    throw Declined{
        fmt::format("rows={} vectors={} needs more than {} registers", rows, vectors, problem.target.vectorRegisters)};
}

int64_t RecurrentPlan::mostGates() const {
  size_t most = 0;
  for (const RecurrentPhase &phase : phases)
    most = std::max<size_t>(most, phase.gates.size());
  return static_cast<int64_t>(most);
}

int64_t RecurrentPlan::packedOffset(size_t phase) const {
  int64_t gates = 0;
  for (size_t i = 0; i < phase; ++i)
    gates += static_cast<int64_t>(phases[i].gates.size());
  return gates * padded() * hidden;
}

std::vector<char> RecurrentPlan::pack(const nn::ConstantData &data) const {
  int64_t size = elementBytes();
  std::vector<char> packed(form.directions() * packedSize() * size); // columns beyond the last stay zero
  char *to = packed.data();
  for (int64_t d = 0; d < form.directions(); ++d)
    for (const RecurrentPhase &phase : phases)
      for (int64_t tile = 0; tile < tiles(); ++tile)
        for (int64_t k = 0; k < hidden; ++k)
          for (int64_t gate : phase.gates)
            for (int64_t j = 0; j < tileColumns(); ++j, to += size) {
              int64_t column = tile * tileColumns() + j;
              if (column < hidden)
                std::memcpy(to,
                            data.bytes.data() +
                                (data.splat ? 0 : ((d * form.gates() + gate) * hidden + column) * hidden + k) * size,
                            size);
            }
  return packed;
}

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

Schedule recurrentPrior(const KernelProblem &problem) {
  Schedule schedule{"recurrent", 1, {}, {}};
  RecurrentPlan plan(problem, schedule);
  int64_t gates = plan.mostGates(), columns = (plan.hidden + plan.lanes - 1) / plan.lanes;
  // As many rows as the registers hold beside one vector of every gate: each reads all weights once.
  int64_t rows = 1;
  while (Microkernel::fits(problem.target, rows + 1, gates) && rows < 12)
    ++rows;
  if (plan.batch.isConstant()) {
    int64_t batch = std::max<int64_t>(1, plan.batch.constant());
    // Blocks of one size, and a unit for every thread.
    rows = std::min(rows, std::max<int64_t>(1, batch * plan.form.directions() / problem.threads));
    int64_t blocks = (batch + rows - 1) / rows;
    rows = (batch + blocks - 1) / blocks;
  }
  // Eight sums in flight hide the latency of the multiplications; more only pay while nothing spills.
  int64_t vectors = 1;
  for (int64_t v = 2; v <= 8; ++v)
    if (columns % v == 0 && rows * gates * (v / 2) < 8 && Microkernel::fits(problem.target, rows, gates * v))
      vectors = v;
  // Loads a kibibyte apart from one iteration to the next are still foreseen by the hardware; at two, half the
  // bandwidth was lost.
  int64_t unroll = std::max<int64_t>(1, 1024 / (gates * vectors * plan.lanes * plan.elementBytes()));
  schedule.numbers = {{"rows", rows}, {"vectors", vectors}, {"unroll", std::min<int64_t>(unroll, 8)}};
  // Fewer blocks than slots: the slots share the columns of a step, where that saves more than meeting after it costs.
  if (plan.constantR && plan.batch.isConstant()) {
    int64_t batch = std::max<int64_t>(1, plan.batch.constant());
    int64_t blocks = plan.form.directions() * ((batch + rows - 1) / rows);
    int64_t stepBytes = rows * plan.form.gates() * plan.hidden * plan.hidden * plan.elementBytes();
    if (blocks < problem.threads && stepBytes >= worthSplitting)
      schedule.numbers["split"] = 1;
  }
  return schedule;
}

} // namespace lathe
