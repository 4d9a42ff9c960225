#include "compile/PlanBuilder.h"

#include "compile/Compile.h"
#include "compile/Kernels.h"
#include "ir/Context.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstring>
#include <regex>

namespace lathe {
namespace {

class PlanBuilderTest : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  package::Constants constants;
  BuiltPlan built;

  const plan::PlanT &plan(const std::string &text, MeasuredTimes measured = {}) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module);
    Target target = Target::parse("x86-64-v3");
    ScheduleBook schedules;
    KernelLibrary library(target, {}, schedules, {}, std::move(measured));
    built = buildPlan(*module, library, constants);
    return *built.plan;
  }
  static const plan::CallReferenceT &reference(const plan::PlanT &plan, size_t index) {
    return *plan.blocks[0]->instructions[index]->operation.AsCallReference();
  }
};

TEST_F(PlanBuilderTest, referencesInputsAndOutputs) {
  const plan::PlanT &p = plan(R"(
    func.func @main(%x: tensor<?x3xf32> {nn.name = "data", nn.dims = ["N", "3"]}) -> (tensor<?x3xf32> {nn.name = "prob"}) {
      %0 = nn.relu %x : (tensor<?x3xf32>) -> tensor<?x3xf32>
      %1 = nn.relu %0 : (tensor<?x3xf32>) -> tensor<?x3xf32>
      return %1 : tensor<?x3xf32>
    })");
  ASSERT_EQ(p.values.size(), 3u);
  EXPECT_EQ(p.values[0]->name, "data");
  EXPECT_EQ(p.values[0]->dims, (std::vector<std::string>{"N", "3"}));
  EXPECT_EQ(Dim::parse(p.values[0]->bytes), Dim::symbol("N") * 12);
  EXPECT_EQ(p.values[1]->name, "prob");
  EXPECT_EQ(p.values[1]->storage, plan::Storage::Output);
  EXPECT_EQ(p.values[2]->storage, plan::Storage::Temporary);
  ASSERT_EQ(p.blocks[0]->instructions.size(), 2u);
  EXPECT_EQ(reference(p, 0).op, "relu");
  EXPECT_EQ(reference(p, 1).outputs, std::vector<uint32_t>{1});
  EXPECT_EQ(built.references.size(), 2u);
}

TEST_F(PlanBuilderTest, aViewAtTheEndAliasesTheOutput) {
  const plan::PlanT &p = plan(R"(
    func.func @main(%x: tensor<2x3xf32>) -> (tensor<6xf32> {nn.name = "y"}) {
      %0 = nn.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %1 = nn.reshape %0 {shape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
      return %1 : tensor<6xf32>
    })");
  ASSERT_EQ(p.values.size(), 3u);
  EXPECT_EQ(p.values[1]->name, "y");
  EXPECT_EQ(p.values[2]->storage, plan::Storage::Alias);
  EXPECT_EQ(p.values[2]->alias_of, 1);
  ASSERT_EQ(p.blocks[0]->instructions.size(), 1u);
  EXPECT_EQ(reference(p, 0).outputs, std::vector<uint32_t>{2});
}

/// Work items divide into images only if every operand and result has the images as its first axis.
TEST_F(PlanBuilderTest, unitsByImage) {
  for (const char *addend : {"4x8x6x6", "1x8x1x1", "8x1x1"}) {
    std::string text = fmt::format(R"(
      func.func private @k(%x: tensor<4x8x6x6xf32>, %w: tensor<8x8x1x1xf32> {{nn.constant}}, %r: tensor<{0}xf32>) -> tensor<4x8x6x6xf32>
          attributes {{nn.family = "contraction"}} {{
        %0 = nn.conv %x, %w {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}} :
            (tensor<4x8x6x6xf32>, tensor<8x8x1x1xf32>) -> tensor<4x8x6x6xf32>
        %1 = nn.add %0, %r : (tensor<4x8x6x6xf32>, tensor<{0}xf32>) -> tensor<4x8x6x6xf32>
        return %1 : tensor<4x8x6x6xf32>
      }}
      func.func @main(%x: tensor<4x8x6x6xf32>, %r: tensor<{0}xf32>) -> tensor<4x8x6x6xf32> {{
        %w = nn.constant {{value = dense<1.0> : tensor<8x8x1x1xf32>}} : tensor<8x8x1x1xf32>
        %0 = func.call @k(%x, %w, %r) : (tensor<4x8x6x6xf32>, tensor<8x8x1x1xf32>, tensor<{0}xf32>) -> tensor<4x8x6x6xf32>
        return %0 : tensor<4x8x6x6xf32>
      }})",
                                   addend);
    const plan::PlanT &p = plan(text);
    ASSERT_EQ(p.blocks[0]->instructions.size(), 1u) << addend;
    bool byImages = std::string(addend) == "4x8x6x6";
    EXPECT_EQ(p.blocks[0]->instructions[0]->operation.AsCallKernel()->images, byImages ? "4" : "") << addend;

    // Measured times of both orders are asked for only if there are two images.
    std::vector<BatchOrder> asked;
    auto times = [&](std::optional<double> ofImages) {
      const plan::PlanT &timed = plan(text, [&, ofImages](const ScheduleTask &, const Schedule &, BatchOrder order) {
        asked.push_back(order);
        return order == BatchOrder::call ? std::optional(3e-6) : ofImages;
      });
      const plan::CallKernelT &call = *timed.blocks[0]->instructions[0]->operation.AsCallKernel();
      EXPECT_EQ(built.timedBatches, call.call_seconds > 0);
      return std::pair(call.call_seconds, call.images_seconds);
    };
    EXPECT_EQ(times(2e-6), byImages ? std::pair(3e-6, 2e-6) : std::pair(0.0, 0.0)) << addend;
    EXPECT_EQ(asked, byImages ? std::vector({BatchOrder::call, BatchOrder::images}) : std::vector<BatchOrder>());
    EXPECT_EQ(times(std::nullopt), std::pair(0.0, 0.0));
  }
}

TEST_F(PlanBuilderTest, partsLieInTheWhole) {
  const char *text = R"(
    func.func private @k(%x: tensor<2x16xf32>) -> tensor<2x16xf32> attributes {nn.family = "elementwise"} {
      %0 = nn.relu %x : (tensor<2x16xf32>) -> tensor<2x16xf32>
      return %0 : tensor<2x16xf32>
    }
    func.func @main(%x: tensor<2x16xf32>) -> (tensor<4x16xf32>, tensor<2x16xf32>) {
      %0 = call @k(%x) : (tensor<2x16xf32>) -> tensor<2x16xf32>
      %1 = call @k(%0) : (tensor<2x16xf32>) -> tensor<2x16xf32>
      %2 = nn.concat %0, PART {axis = 0 : i64, nn.in_place} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
      %3 = nn.slice %2 {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, starts = array<i64: START>, ends = array<i64: 3>, axes = array<i64: 0>, steps = array<i64: STEP>, nn.in_place} : (tensor<4x16xf32>) -> tensor<2x16xf32>
      %4 = call @k(%3) : (tensor<2x16xf32>) -> tensor<2x16xf32>
      return %2, %4 : tensor<4x16xf32>, tensor<2x16xf32>
    })";
  auto with = [&](const std::string &part, const std::string &start, const std::string &step) {
    std::string filled = text;
    for (auto &[name, word] : {std::pair("PART", part), std::pair("START", start), std::pair("STEP", step)})
      filled.replace(filled.find(name), std::strlen(name), word);
    return filled;
  };
  const plan::PlanT &p = plan(with("%1", "1", "1"));
  ASSERT_EQ(p.blocks[0]->instructions.size(), 3u);
  auto buffers = [&](size_t i) { return p.blocks[0]->instructions[i]->operation.AsCallKernel()->buffers; };
  const plan::ValueT &low = *p.values[buffers(0)[1]], &high = *p.values[buffers(1)[1]],
                     &middle = *p.values[buffers(2)[0]];
  EXPECT_EQ(low.alias_of, static_cast<int>(p.outputs[0]));
  EXPECT_EQ(low.alias_offset, "");
  EXPECT_EQ(high.alias_of, static_cast<int>(p.outputs[0]));
  EXPECT_EQ(high.alias_offset, "128");
  EXPECT_EQ(middle.alias_of, static_cast<int>(p.outputs[0]));
  EXPECT_EQ(middle.alias_offset, "64");
  EXPECT_THROW(plan(with("%0", "1", "1")), Error); // twice
  EXPECT_THROW(plan(with("%x", "1", "1")), Error); // an argument
  EXPECT_THROW(plan(with("%1", "0", "2")), Error); // every other row
}

TEST_F(PlanBuilderTest, oddOutputsAreCopied) { // an input, a view of it, a constant, and one value twice
  const plan::PlanT &p = plan(R"(
    func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<6xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
      %c = nn.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>} : tensor<2xf32>
      %0 = nn.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %1 = nn.reshape %x {shape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
      return %x, %1, %c, %0, %0 : tensor<2x3xf32>, tensor<6xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2x3xf32>
    })");
  ASSERT_EQ(p.outputs.size(), 5u);
  for (uint32_t output : p.outputs)
    EXPECT_EQ(p.values[output]->storage, plan::Storage::Output);
  EXPECT_EQ(p.blocks[0]->instructions.size(), 5u); // relu, four copies
  EXPECT_EQ(reference(p, 1).op, "reshape");
}

/// An input that is returned keeps its name as an output; an inner node with the same name gets another one.
TEST_F(PlanBuilderTest, portsKeepTheirNames) {
  const plan::PlanT &p = plan(R"(
    func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> (tensor<2xf32> {nn.name = "y"}, tensor<2xf32> {nn.name = "x"}, tensor<2xf32> {nn.name = "z"}) {
      %0 = nn.relu %x : (tensor<2xf32>) -> tensor<2xf32> loc("z")
      %1 = nn.relu %0 : (tensor<2xf32>) -> tensor<2xf32> loc("x")
      %2 = nn.relu %1 : (tensor<2xf32>) -> tensor<2xf32>
      return %2, %x, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
    })");
  EXPECT_EQ(p.values[p.inputs[0]]->name, "x");
  ASSERT_EQ(p.outputs.size(), 3u);
  EXPECT_EQ(p.values[p.outputs[0]]->name, "y");
  EXPECT_EQ(p.values[p.outputs[1]]->name, "x");
  EXPECT_EQ(p.values[p.outputs[2]]->name, "z");
  EXPECT_EQ(p.values[reference(p, 0).outputs[0]]->name, "z:1");
  EXPECT_EQ(p.values[reference(p, 1).outputs[0]]->name, "x:1");
}

/// Values without elements have a place, but no instruction.
TEST_F(PlanBuilderTest, nothingIsNoInstruction) {
  const plan::PlanT &p = plan(R"(
    func.func @main(%x: tensor<?x0xf32> {nn.name = "x", nn.dims = ["N", "0"]}) -> (tensor<?x0xf32> {nn.name = "y"}) {
      %0 = nn.relu %x : (tensor<?x0xf32>) -> tensor<?x0xf32>
      %1 = nn.softmax %0 {axis = 0 : i64} : (tensor<?x0xf32>) -> tensor<?x0xf32>
      return %1 : tensor<?x0xf32>
    })");
  EXPECT_TRUE(p.blocks[0]->instructions.empty());
  EXPECT_EQ(p.values[p.outputs[0]]->dims, (std::vector<std::string>{"N", "0"}));
  EXPECT_TRUE(built.references.empty());
}

TEST_F(PlanBuilderTest, constantsAreStoredOnceAndSplatsWrittenOut) {
  const plan::PlanT &p = plan(R"(
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = nn.constant {value = dense<2.0> : tensor<4xf32>} : tensor<4xf32>
      %b = nn.constant {value = dense<2.0> : tensor<4xf32>} : tensor<4xf32>
      %dead = nn.constant {value = dense<3.0> : tensor<4096xf32>} : tensor<4096xf32>
      %0 = nn.add %x, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %1 = nn.add %0, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    })");
  EXPECT_EQ(constants.bytes(), 16u);
  EXPECT_EQ(reference(p, 0).inputs[1], reference(p, 1).inputs[1]);
}

TEST_F(PlanBuilderTest, aKernelNobodyCanCompileIsNamed) {
  EXPECT_THROW(plan(R"(
    func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {nn.family = "nonsense"} {
      return %x : tensor<4xf32>
    }
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = call @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    })"),
               Error);
}

TEST(ScheduleBook, findsByKernelThenNodeAndReportsUnusedLines) {
  ScheduleBook book("# prior with a smaller tile\nconv1_relu1: direct/1 px=6\nfc:0: gemm/2 mr=4\n\n", "s.txt");
  EXPECT_EQ(book.scheduleOf("conv1_relu1"), readSchedule("direct/1 px=6"));
  EXPECT_EQ(book.scheduleOf("other"), std::nullopt);
  book.use("conv1_relu1", {});
  EXPECT_THROW(book.requireAllUsed(), Error) << "finding a line does not use it";
  book.use("other", {"fc:0"});
  book.requireAllUsed();
  EXPECT_THROW(ScheduleBook("conv1 direct", "s.txt"), Error);
  EXPECT_THROW(ScheduleBook("a: direct/1\na: direct/1", "s.txt"), Error);
}

TEST(ScheduleBook, holdsChoicesAboveKernels) {
  ScheduleBook book("c: layout/1 in=row out=blocked\nr: fuse/1 with=17\nr: map/2 interleave=2\n", "s.txt");
  GraphChoice conv = book.graphChoice({"c"}), relu = book.graphChoice({"x", "r"});
  EXPECT_EQ(conv.blockedInput, false);
  EXPECT_EQ(conv.blockedOutput, true);
  EXPECT_EQ(conv.kernelOf, std::nullopt);
  EXPECT_EQ(relu.kernelOf, "17"); // a node's name, digits or not
  EXPECT_EQ(relu.blockedInput, std::nullopt);
  EXPECT_THROW(book.requireAllUsed(), Error);
  EXPECT_EQ(book.scheduleOf("r"), readSchedule("map/2 interleave=2"));
  book.use("r", {});
  book.requireAllUsed();
  for (const char *wrong : {"c: layout/1", "c: layout/1 in=nchw", "c: layout/1 in=row px=3", "c: layout/2 in=row",
                            "c: fuse/1", "c: fuse/1 into=d", "c: fuse/1 with=d\nc: fuse/1 with=e"})
    EXPECT_THROW(ScheduleBook(wrong, "s.txt"), Error) << wrong;
}

TEST(KernelLibrary, declinesIsAPureQuestion) {
  auto context = makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {nn.family = \"elementwise\", other = 7} {\n"
      "  %0 = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n",
      context.get());
  ASSERT_TRUE(module);
  mlir::func::FuncOp kernel = *module->getOps<mlir::func::FuncOp>().begin();
  ScheduleBook book("k: map/2 interleave=2\n", "s.txt");
  Target target = Target::parse("x86-64-v3");
  KernelLibrary library(target, {}, book);
  std::string before = kernelIdentity(kernel);
  EXPECT_EQ(library.declines(kernel), "");
  EXPECT_FALSE(library.staysWhole(kernel, {kernel, kernel}).whole);
  EXPECT_EQ(kernelIdentity(kernel), before);
  EXPECT_EQ(library.size(), 0) << "a question makes no kernel of the program";
  EXPECT_THROW(book.requireAllUsed(), Error) << "a question uses no line";
  EXPECT_EQ(library.compiled(kernel).schedule.str(), "map/2 interleave=2");
  book.requireAllUsed();
}

class GraphScheduleTest : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();

  /// The complete schedule after compiling with `given`.
  std::string schedule(const std::string &given) {
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(R"(
      func.func @main(%x: tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32> {
        %w = nn.constant {value = dense<0.5> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
        %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32> loc("c1")
        %1 = nn.relu %0 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32> loc("r1")
        %2 = nn.conv %1, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32> loc("c2")
        %3 = nn.tanh %2 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32> loc("t2")
        return %3 : tensor<1x16x8x8xf32>
      })",
                                                                                       context.get());
    EXPECT_TRUE(module);
    CompileOptions options;
    options.schedule.text = given;
    return emitLevel(*module, options, Level::schedule);
  }
  static bool has(const std::string &text, const std::string &line) {
    return ("\n" + text).find("\n" + line) != std::string::npos;
  }
};

TEST_F(GraphScheduleTest, whatIsPrintedIsTakenBack) {
  std::string chosen = schedule("");
  EXPECT_TRUE(has(chosen, "r1: fuse/1 with=c1\n")) << chosen;
  EXPECT_TRUE(has(chosen, "t2: fuse/1 with=c2\n")) << chosen;
  EXPECT_TRUE(has(chosen, "c2: layout/1 ")) << chosen;
  // Without the comments after lines: origins differ, because a given schedule comes from a line of a file.
  auto withoutOrigins = [](const std::string &text) { return std::regex_replace(text, std::regex("  # [^\n]*"), ""); };
  EXPECT_EQ(withoutOrigins(schedule(chosen)), withoutOrigins(chosen));
}

TEST_F(GraphScheduleTest, choicesAreFollowed) {
  std::string alone = schedule("r1: fuse/1 with=r1");
  EXPECT_TRUE(has(alone, "r1: fuse/1 with=r1\n")) << alone;
  EXPECT_TRUE(has(alone, "r1: map/2 ")) << alone;
  for (std::string layouts : {"in=row out=blocked", "in=blocked out=row", "in=blocked out=blocked", "in=row out=row"}) {
    std::string text = schedule("c1: layout/1 " + layouts);
    EXPECT_TRUE(has(text, "c1: layout/1 " + layouts + "\n")) << text;
  }
}

TEST_F(GraphScheduleTest, whatCannotBeFollowedIsAnError) {
  EXPECT_THROW(schedule("t2: fuse/1 with=c1"), Error); // another kernel's result lies between
  EXPECT_THROW(schedule("r1: fuse/1 with=nowhere"), Error);
  EXPECT_THROW(schedule("nowhere: layout/1 in=row"), Error);
  EXPECT_THROW(schedule("r1: layout/1 in=row out=blocked"), Error); // element-wise: one layout
}

} // namespace
} // namespace lathe
