// The reference operators for the runtime: liblathe_references.so, or linked into a program.
#include "ops/Reference.h"
#include "ops/Registry.h"
#include "runtime/References.h"
#include "support/Error.h"

namespace lathe::runtime {
namespace {

class Operator : public ReferenceOperator {
public:
  Operator(const ReferenceEntry &entry, std::unique_ptr<Attrs> attrs) : entry(entry), attrs(std::move(attrs)) {}
  void run(std::span<const Value *const> inputs, std::span<Value> outputs, const ParallelFor &parallel) const override {
    ReferenceCall call{inputs, outputs, {}, parallel};
    entry.run(*attrs, call);
  }

private:
  const ReferenceEntry &entry;
  std::unique_ptr<Attrs> attrs;
};

class Provider : public ReferenceProvider {
public:
  std::unique_ptr<ReferenceOperator> prepare(std::string_view op, std::span<const uint8_t> bytes) const override {
    const ReferenceEntry *entry = findReference(op);
    const OpRecord *record = findOp(op);
    require(entry && record, "no such operator");
    std::unique_ptr<Attrs> attrs = record->makeAttrs();
    if (!bytes.empty()) // empty: all have default values
      decodeAttrs(std::vector<uint8_t>(bytes.begin(), bytes.end()), *attrs);
    return std::make_unique<Operator>(*entry, std::move(attrs));
  }
};

const Provider provider;

} // namespace

} // namespace lathe::runtime

/// The runtime looks this function up after loading the library; returns null for a runtime of another version.
extern "C" __attribute__((visibility("default"))) const lathe::runtime::ReferenceProvider *
lathe_reference_provider(uint32_t abi) {
  return abi == lathe::runtime::referenceAbi ? &lathe::runtime::provider : nullptr;
}
