// A loaded package: immutable, shared by any number of contexts and threads.
#pragma once

#include "package/KernelAbi.h"
#include "support/Dim.h"
#include "support/ElementType.h"
#include "support/Error.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lathe::runtime {

struct Program;
struct Plan;

struct LoadOptions {
  bool checkConstants = false;              // also verify the constants' hash, which reads the whole file
  std::optional<uint64_t> cpuFeatures = {}; // instead of this CPU's (tests); bits of package::CpuFeature
};

/// An input or output of the model.
struct Port {
  std::string name;
  ElementType type = ElementType::invalid;
  Dims dims;          // symbolic where a dimension is free: "N"
  bool tensor = true; // else a sequence or an optional
};

class Model {
public:
  /// Opens a package file: header, sizes, hash of plan and code, CPU features, then maps the constants in place and the
  /// code read-execute. Throws Error naming the file. A package is native code: loading one means trusting it.
  static std::shared_ptr<const Model> load(const std::string &path, const LoadOptions &options = {});
  /// The same from memory. The constants are used in place when `bytes` is aligned to 64 and `keepAlive` is given (it
  /// is held as long as the model lives); otherwise they are copied. `name` stands for the file in messages.
  static std::shared_ptr<const Model> fromBytes(std::span<const char> bytes, const std::string &name,
                                                std::shared_ptr<const void> keepAlive = {},
                                                const LoadOptions &options = {});
  ~Model();
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;

  std::span<const Port> inputs() const;
  std::span<const Port> outputs() const;
  /// Position of the port called `name`; nothing when there is none.
  std::optional<size_t> findInput(const std::string &name) const;
  std::optional<size_t> findOutput(const std::string &name) const;

  const std::string &file() const;     // as given to load
  const std::string &target() const;   // of the code section in use, "x86_64 znver5"; empty without code
  const std::string &producer() const; // "lathe 0.1.0"
  const std::string &source() const;   // the source model's file name
  const std::string &options() const;  // it was compiled with
  uint64_t constantBytes() const;
  uint64_t codeBytes() const;

  const Program &program() const;
  const char *constants() const;
  /// Kernel `number` of the package: in order of plan, then of Plan::kernels.
  LatheKernel kernel(uint32_t number) const;

private:
  Model();
  struct State;
  std::unique_ptr<State> state;
};

} // namespace lathe::runtime
