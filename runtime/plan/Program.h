// The plan as the executor sees it: decoded from the package's flatbuffer (package/plan.fbs), checked once, immutable.
#pragma once

#include "runtime/References.h"
#include "support/Dim.h"
#include "support/ElementType.h"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace lathe::runtime {

/// Index of an extent in Plan::extents: equal texts are parsed and evaluated once.
using Extent = uint32_t;

enum class Storage : uint8_t { input, output, constant, temporary, alias, dynamic };
enum class ValueKind : uint8_t { tensor, sequence, optional };

struct ValueInfo {
  std::string name;
  ValueKind kind = ValueKind::tensor;
  ElementType type = ElementType::invalid;
  std::vector<Extent> dims;
  int blockAxis = -1; // -1: row-major
  int64_t block = 0;
  Storage storage = Storage::temporary;
  uint64_t offset = 0;   // constants
  Extent bytes = 0;      // physical
  uint32_t root = 0;     // the value whose bytes these are; itself unless an alias
  Extent rootOffset = 0; // bytes into the root where these begin
  bool known = true;     // extents follow from the inputs' alone
};

struct KernelInfo {
  std::string name, family;
  std::vector<std::string> nodes;
  std::string shapes, schedule;
  Extent flops = 0, bytes = 0;
};

struct CallKernel {
  uint32_t kernel = 0;
  std::vector<uint32_t> buffers;
  std::vector<Extent> dims;
  Extent units = 0, scratchBytes = 0;
  Extent images = 0; // runs of units that each touch one image only; 1: not known
  Extent stages = 0; // runs of units, each of which waits for the one before; 1: none waits
};
struct CallReference {
  std::string op;
  std::vector<int32_t> inputs;
  std::vector<uint32_t> outputs;
  std::vector<std::string> nodes;
  std::unique_ptr<ReferenceOperator> reference;
};
struct ComputeShape {
  uint32_t from = 0;
  std::vector<std::string> symbols;
};
struct Release {
  uint32_t value = 0;
};
struct If {
  uint32_t condition = 0, thenBlock = 0, elseBlock = 0;
};
struct Loop {
  int32_t tripCount = -1, condition = -1;
  uint32_t body = 0;
  std::vector<uint32_t> bodyInputs, bodyOutputs, initial, results;
};

struct Instruction {
  uint32_t id = 0;   // number in depth-first order from the entry block
  uint32_t last = 0; // highest id inside: its own unless it has blocks
  bool known = true; // everything it touches has extents that follow from the inputs' alone
  std::variant<CallKernel, CallReference, ComputeShape, Release, If, Loop> operation;
};
struct Block {
  std::vector<Instruction> instructions;
};

struct Range {
  std::string symbol;
  int64_t min = 1, max = 0;
};

/// Instructions during which a value's bytes are needed, both ends included; `first > last`: never.
struct LiveRange {
  uint32_t first = UINT32_MAX, last = 0;
};

struct Plan {
  std::vector<Dim> extents;
  std::vector<ValueInfo> values;
  std::vector<uint32_t> inputs, outputs;
  std::vector<KernelInfo> kernels;
  uint32_t firstKernel = 0; // number of kernels[0] in the package's code
  std::vector<Block> blocks;
  std::vector<Range> ranges;
  std::vector<LiveRange> live;                   // by value; roots only
  std::vector<uint32_t> firstUse;                // by value, aliases apart: id of the first instruction that names it
  std::vector<const Instruction *> instructions; // by id
  std::vector<bool> outermost;                   // by id: in the entry block
  std::unordered_map<std::string, uint32_t> byName; // values
  bool usesReferences = false;
};

struct Program {
  std::string producer, model, options;
  std::vector<Plan> plans;
  uint32_t kernelCount = 0;
};

/// The name when `dim` is nothing but one symbol; empty otherwise.
std::string loneSymbol(const Dim &dim);

/// Decodes and checks a plan section. `constantBytes` bounds constants. Throws Error that starts with `file`.
/// References are looked up here, so that a package that needs them fails when it is loaded, not when it runs.
Program decodeProgram(std::span<const char> section, uint64_t constantBytes, const std::string &file);

} // namespace lathe::runtime
