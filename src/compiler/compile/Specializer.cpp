#include "compile/Specializer.h"

#include "ir/Main.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace lathe {

PackageBytes::PackageBytes(std::span<const char> bytes) : count(bytes.size()) {
  constexpr size_t alignment = package::constantAlignment;
  memory = static_cast<char *>(std::aligned_alloc(alignment, (count + alignment - 1) / alignment * alignment));
  if (!memory)
    throw std::bad_alloc();
  std::memcpy(memory, bytes.data(), count);
}

PackageBytes::~PackageBytes() { std::free(memory); }

Specializer::Specializer(std::unique_ptr<mlir::MLIRContext> context, mlir::OwningOpRef<mlir::ModuleOp> module,
                         CompileOptions options, size_t most)
    : context(std::move(context)), module(std::move(module)), options(std::move(options)), most(most) {
  require(most >= 1, "a specializer keeps 0 packages, expected at least 1");
  requireValid(this->options.extents, mainFunction(*this->module));
}

Specializer::~Specializer() = default;

std::shared_ptr<const PackageBytes> Specializer::compiled(const Extents &extents) {
  std::lock_guard one(compiling);
  ExtentOptions asked = options.extents;
  asked.variants = {extents};
  mlir::func::FuncOp main = mainFunction(*module);
  requireValid(asked, main);
  mlir::OwningOpRef<mlir::ModuleOp> copy(llvm::cast<mlir::ModuleOp>((*module)->clone()));
  specialize(mainFunction(*copy), extents);
  CompileOptions own = options;
  own.extents.variants.clear();
  for (const auto &[symbol, extent] : extents) { // a symbol with a value has no range
    std::erase_if(own.extents.ranges, [&](const ExtentRange &range) { return range.symbol == symbol; });
    own.extents.typical.erase(symbol);
  }
  std::vector<char> bytes;
  compileToBytes(*copy, own, bytes);
  return std::make_shared<PackageBytes>(bytes);
}

std::shared_ptr<const PackageBytes> Specializer::package(const Extents &extents) {
  std::unique_lock lock(mutex);
  auto find = [&] {
    return std::find_if(entries.begin(), entries.end(), [&](const Entry &entry) { return entry.extents == extents; });
  };
  while (true) {
    auto found = find();
    if (found == entries.end())
      break;
    if (found->bytes) {
      entries.splice(entries.begin(), entries, found);
      return entries.front().bytes;
    }
    done.wait(lock); // another thread compiles it
  }
  entries.push_front({extents, nullptr});
  lock.unlock();
  std::shared_ptr<const PackageBytes> bytes;
  try {
    bytes = compiled(extents);
  } catch (...) {
    lock.lock();
    entries.erase(find());
    done.notify_all();
    throw;
  }
  lock.lock();
  ++count;
  find()->bytes = bytes;
  // Entries that are being compiled stay, because threads wait for them.
  auto ready = [](const Entry &entry) { return entry.bytes != nullptr; };
  for (size_t full = static_cast<size_t>(std::count_if(entries.begin(), entries.end(), ready)); full > most; --full)
    entries.erase(std::next(std::find_if(entries.rbegin(), entries.rend(), ready)).base());
  done.notify_all();
  return bytes;
}

size_t Specializer::compilations() const {
  std::lock_guard lock(mutex);
  return count;
}

size_t Specializer::kept() const {
  std::lock_guard lock(mutex);
  return entries.size();
}

} // namespace lathe
