// Builds small packages for tests of the runtime: hand-made plans with the kernels of
// testing/Kernels.c.
#pragma once

#include "package/KernelAbi.h"
#include "package/Writer.h"
#include "runtime/Model.h"
#include "runtime/References.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lathe::runtime::testing {

enum class TestKernel { add, half, rowsum, units, waves, table, relay };
inline constexpr size_t testKernels = 7;

/// Builds one plan. Values must be added before instructions. Extents are texts ("N", "4").
class TestPlan {
public:
  using Dims = std::vector<std::string>;
  TestPlan();

  uint32_t input(const std::string &name, const Dims &dims, ElementType type = ElementType::f32);
  uint32_t output(const std::string &name, const Dims &dims, ElementType type = ElementType::f32);
  uint32_t temporary(const std::string &name, const Dims &dims, ElementType type = ElementType::f32);
  uint32_t dynamic(const std::string &name, const Dims &dims, ElementType type = ElementType::f32);
  uint32_t alias(const std::string &name, const Dims &dims, uint32_t of, const std::string &offset = "");
  template <class T> uint32_t constant(const std::string &name, const Dims &dims, const std::vector<T> &values) {
    auto *raw = reinterpret_cast<const char *>(values.data());
    return constant(name, dims, elementTypeOf<T>(), std::vector<char>(raw, raw + values.size() * sizeof(T)));
  }
  uint32_t constant(const std::string &name, const Dims &dims, ElementType type, std::vector<char> bytes);

  /// These functions add calls of the kernels to block `block` of the plan.
  void add(uint32_t a, uint32_t b, uint32_t out, const std::string &elements, size_t block = 0);
  void half(uint32_t x, uint32_t out, const std::string &elements, size_t block = 0);
  void rowsum(uint32_t x, uint32_t out, const std::string &rows, const std::string &columns, size_t block = 0);
  void units(uint32_t out, const std::string &count, size_t block = 0);
  void waves(uint32_t out, const std::string &width, const std::string &stages, size_t block = 0);
  void table(uint32_t out, const std::string &count, size_t block = 0);
  /// Sets the costs of image loops: memory levels as (bytes, cycles per byte), and the cycles of a call.
  void imageCosts(const std::vector<std::pair<double, double>> &levels, double callCycles);
  /// Adds a call of `kernel`, a function of this process, to the plan.
  void relay(LatheKernel kernel, std::vector<uint32_t> buffers, const std::string &width, const std::string &units,
             const std::string &scratch = "0");
  void reference(const std::string &op, std::vector<int32_t> inputs, std::vector<uint32_t> outputs, size_t block = 0);
  template <class T> void instruction(T operation, size_t block = 0) {
    auto entry = std::make_unique<plan::InstructionT>();
    entry->operation.Set(std::move(operation));
    blockAt(block).instructions.push_back(std::move(entry));
  }

  /// Compiles the plan for `threads` slots. Instruction i of the entry block runs on slots [first, first + count) of
  /// places[i], with the waits that its operands need; {0, 0}: on all slots.
  void setPlaces(int threads, const std::vector<std::pair<uint32_t, uint32_t>> &places);

  plan::ProgramT program;
  plan::PlanT &plan() { return *program.plans.back(); }
  package::Constants constants;

  std::vector<char> bytes(uint64_t features = 0, const std::string &target = "test") const;
  std::shared_ptr<const Model> model(const std::string &name = "test.lathe") const;

private:
  uint32_t value(const std::string &name, const Dims &dims, ElementType type, plan::Storage storage);
  plan::BlockT &blockAt(size_t block);
  void call(TestKernel kernel, std::vector<uint32_t> buffers, std::vector<std::string> dims, const std::string &units,
            const std::string &scratch, size_t block);
};

/// Makes a plan with inputs "trips" (i64) and "x" (f32, 2): a loop adds 1 to x in each of `trips` iterations, and the
/// sum is halved after the loop. Instruction 0 is the loop, 1 the addition, 2 the division.
TestPlan counting();

/// Returns the code section with the kernels of testing/Kernels.c.
package::CodeSection testCode(size_t copies = 1);

/// Registers the reference functions of the tests: "negate" (floats), "nonnegative" (returns the elements >= 0;
/// data-dependent extents), "append" (concatenates two vectors), "increment" and "less" (i64 scalars), "upper"
/// (strings), "fail".
void useTestReferences();

} // namespace lathe::runtime::testing
