// A loaded package: immutable, shared by any number of contexts and threads.
#pragma once

#include "package/KernelAbi.h"
#include "support/Dim.h"
#include "support/ElementType.h"
#include "support/Error.h"
#include "support/Quantization.h"
#include "support/ValueKind.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lathe::runtime {

struct Program;
struct Plan;

/// Identifies a version of a file: differs for another file, and for the same file after a change. Times are in
/// nanoseconds since 1970.
struct FileIdentity {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t modified = 0, changed = 0;
  bool operator==(const FileIdentity &) const = default;
};

/// A memory of files whose constants were checked, so that only the first load of a file reads all of it. Whoever can
/// write to this memory can make a damaged file pass, so it must be as protected as the packages.
class CheckedFiles {
public:
  virtual ~CheckedFiles() = default;
  /// Returns true if the constants of `file` were checked before, when the hash of the package was `content`
  /// (Model::contentHash()).
  virtual bool has(const FileIdentity &file, uint64_t content) = 0;
  /// Adds a file whose constants were checked. Called only for files that have been unchanged for two seconds, so that
  /// a later change is visible in the file times.
  virtual void add(const FileIdentity &file, uint64_t content) = 0;
};

struct LoadOptions {
  bool checkConstants = true; // verify the hash of the constants, which reads the whole file
  /// Bits of package::CpuFeature that count instead of the features of this CPU (for tests).
  std::optional<uint64_t> cpuFeatures = {};
  /// Files whose constants need no check (null: none). The loader adds a file that passes the check, and uses the
  /// object only during the call.
  CheckedFiles *checkedFiles = nullptr;
  std::string name = {}; // name of the file in messages; "": its path
};

/// An input or output of the model.
struct Port {
  std::string name;
  ElementType type = ElementType::invalid;
  Dims dims;                          // extents; may be symbolic: "N"
  ValueKind kind = ValueKind::tensor; // for sequences and optionals, `type` is the element type of their tensors
  std::optional<Quantization> quantization = {}; // for integers that represent real numbers: scale and zero point
  bool tensor() const { return kind == ValueKind::tensor; }
};

class Model {
public:
  /// Loads a package file: checks header, sizes, CPU features and the hashes of plan, code and
  /// constants, then maps the constants and the code. Throws Error with the name of the file. The
  /// file must not be modified in place while the model lives. A package is native code: loading
  /// one means trusting it.
  static std::shared_ptr<const Model> load(const std::string &path, const LoadOptions &options = {});
  /// Loads a package from memory. The constants are used in place if `bytes` is aligned to 64 bytes
  /// and `keepAlive` is given (the model holds it); otherwise they are copied. Messages call the
  /// file `name`.
  static std::shared_ptr<const Model> fromBytes(std::span<const char> bytes, const std::string &name,
                                                std::shared_ptr<const void> keepAlive = {},
                                                const LoadOptions &options = {});
  ~Model();
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;

  std::span<const Port> inputs() const;
  std::span<const Port> outputs() const;
  /// Index of the input or output with this name; empty if there is none.
  std::optional<size_t> findInput(const std::string &name) const;
  std::optional<size_t> findOutput(const std::string &name) const;

  const std::string &file() const;     // path of the package given to load, or LoadOptions::name
  const std::string &target() const;   // target of the machine code in use, "x86_64 znver5"; empty without code
  const std::string &producer() const; // compiler that wrote the package: "lathe 0.2.0"
  const std::string &source() const;   // file name of the source model
  const std::string &options() const;  // compilation options as text
  /// Facts of the machine for which the package was compiled, as JSON; "" in older packages.
  const std::string &machine() const;
  int plannedThreads() const; // number of threads for which schedules were chosen; 0 in older packages
  /// Hash of the whole content of the package; empty if the constants were not checked, because their bytes may then
  /// differ from the stored hash.
  std::optional<uint64_t> contentHash() const;
  uint64_t constantBytes() const;
  uint64_t codeBytes() const;

  const Program &program() const;
  const char *constants() const;
  /// The machine code of kernel `number` of the package; kernels are counted over all plans in order.
  LatheKernel kernel(uint32_t number) const;

private:
  Model();
  struct State;
  std::unique_ptr<State> state;
};

} // namespace lathe::runtime
