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

/// A file as the system tells it from others and from itself after a change. Times are in nanoseconds since 1970.
struct FileIdentity {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t modified = 0, changed = 0;
  bool operator==(const FileIdentity &) const = default;
};

/// Remembers files whose constants have their hash, so that only the first load of a file reads all of it. Whoever can
/// change the memory can pass off a damaged file: it must be as safe as the packages themselves.
class CheckedFiles {
public:
  virtual ~CheckedFiles() = default;
  /// `content`: Model::contentHash() of the file.
  virtual bool has(const FileIdentity &file, uint64_t content) = 0;
  /// Called for files that no one has changed for two seconds: a later change gives them other times.
  virtual void add(const FileIdentity &file, uint64_t content) = 0;
};

struct LoadOptions {
  bool checkConstants = true;               // verify the constants' hash, which reads the whole file
  std::optional<uint64_t> cpuFeatures = {}; // instead of this CPU's (tests); bits of package::CpuFeature
  CheckedFiles *checkedFiles = nullptr;     // files it has are not read again; used during the call only
  std::string name = {};                    // stands for the file in messages; "": its path
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
  /// Opens a package file: header, sizes, hashes of plan, code and constants, CPU features, then maps the constants in
  /// place and the code read-execute. Throws Error naming the file. A file must not be changed in place while a model
  /// made of it lives. A package is native code: loading one means trusting it.
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

  const std::string &file() const;     // as given to load, or LoadOptions::name
  const std::string &target() const;   // of the code section in use, "x86_64 znver5"; empty without code
  const std::string &producer() const; // "lathe 0.1.0"
  const std::string &source() const;   // the source model's file name
  const std::string &options() const;  // it was compiled with
  /// Hash of everything in the package; nothing where the constants were not checked, so that it may be another
  /// package than it says.
  std::optional<uint64_t> contentHash() const;
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
