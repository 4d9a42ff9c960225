// Compiles a model for given extents when a caller first asks for these extents, and keeps the packages.
#pragma once

#include "compile/Compile.h"

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>

namespace lathe {

/// The bytes of a package, aligned so that the runtime uses constants in place.
class PackageBytes {
public:
  explicit PackageBytes(std::span<const char> bytes);
  PackageBytes(const PackageBytes &) = delete;
  PackageBytes &operator=(const PackageBytes &) = delete;
  ~PackageBytes();
  const char *data() const { return memory; }
  size_t size() const { return count; }

private:
  char *memory;
  size_t count;
};

/// A cache of a limited number of packages of one model, shared by threads. Compiles only on request. Threads that ask
/// for the same extents wait for one compilation; different extents are compiled one after the other.
class Specializer {
public:
  /// Takes the module and its context; keeps at most `most` packages, the most recently used ones. Throws Error if
  /// `most` is 0 or an option does not fit the model.
  Specializer(std::unique_ptr<mlir::MLIRContext> context, mlir::OwningOpRef<mlir::ModuleOp> module,
              CompileOptions options, size_t most);
  ~Specializer();

  /// Returns the package for these values of symbols; missing symbols stay open. Throws Error if the model cannot have
  /// the extents; the next call then tries again.
  std::shared_ptr<const PackageBytes> package(const Extents &extents);

  /// Number of compilations that this object has made.
  size_t compilations() const;
  /// Number of packages that the cache holds now.
  size_t kept() const;

private:
  struct Entry {
    Extents extents;
    std::shared_ptr<const PackageBytes> bytes; // the package; null while it is compiled
  };
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  CompileOptions options;
  size_t most, count = 0;
  mutable std::mutex mutex;
  std::mutex compiling; // held during a compilation, because MLIR's context serves one at a time
  std::condition_variable done;
  std::list<Entry> entries; // cached packages, the most recently used one first

  std::shared_ptr<const PackageBytes> compiled(const Extents &extents);
};

} // namespace lathe
