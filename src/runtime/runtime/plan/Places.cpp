#include "runtime/plan/Places.h"

#include "package/Dependences.h"
#include "package/DeviceKind.h"
#include "support/Error.h"

namespace lathe::runtime {
namespace {

uint32_t sizeOf(const auto *list) { return list ? list->size() : 0; }
std::string text(const flatbuffers::String *string) { return string ? string->str() : std::string(); }

/// Instruction `position` of its block, with its waits.
void checkInstruction(const plan::Plan &plan, const plan::Instruction &entry, uint32_t position) {
  require(entry.place() >= -1 && entry.place() < int64_t(sizeOf(plan.places())),
          "an instruction runs on place {} of {}", entry.place(), sizeOf(plan.places()));
  int64_t before = -1;
  for (uint32_t i = 0; i < sizeOf(entry.waits()); before = entry.waits()->Get(i++))
    require(entry.waits()->Get(i) > before && entry.waits()->Get(i) < position,
            "instruction {} waits for instruction {}", position, entry.waits()->Get(i));
  auto *call = entry.operation_as_CallKernel();
  if (!call || call->kernel() >= sizeOf(plan.kernels()))
    return;
  const plan::Kernel &kernel = *plan.kernels()->Get(call->kernel());
  uint32_t at = entry.place() < 0 ? 0 : plan.places()->Get(static_cast<uint32_t>(entry.place()))->device();
  require(at == kernel.device(), "kernel '{}' of device {} is called on device {}", text(kernel.name()),
          kernel.device(), at);
}

} // namespace

void checkDevices(const plan::Program &program, const std::string &file) {
  for (uint32_t i = 0; i < sizeOf(program.devices()); ++i) {
    std::string kind = text(program.devices()->Get(i)->kind());
    require(deviceKind(kind).has_value(), "{}: it needs a device of kind '{}', this runtime has: {}", file, kind,
            name(DeviceKind::host));
    require(i == 0, "{}: malformed plan: device {} is the host, expected only device 0", file, i);
  }
}

void checkPlaces(const plan::Program &program, const plan::Plan &plan) {
  uint32_t devices = std::max(sizeOf(program.devices()), 1u);
  auto device = [&](uint32_t index, const char *what, const std::string &which) {
    require(index < devices, "{}{} is on device {} of {}", what, which, index, devices);
  };
  for (uint32_t i = 0; i < sizeOf(plan.values()); ++i)
    device(plan.values()->Get(i)->memory(), "value ", "'" + text(plan.values()->Get(i)->name()) + "'");
  for (uint32_t i = 0; i < sizeOf(plan.kernels()); ++i)
    device(plan.kernels()->Get(i)->device(), "kernel ", "'" + text(plan.kernels()->Get(i)->name()) + "'");
  for (uint32_t i = 0; i < sizeOf(plan.places()); ++i) {
    const plan::Place &place = *plan.places()->Get(i);
    device(place.device(), "place ", std::to_string(i));
    require(place.slots() >= 1 && int64_t(place.first_slot()) + place.slots() <= program.threads(),
            "a place of {} slots from slot {} on, compiled for {} threads", place.slots(), place.first_slot(),
            program.threads());
  }
  for (uint32_t b = 0; b < sizeOf(plan.blocks()); ++b) {
    auto *instructions = plan.blocks()->Get(b)->instructions();
    for (uint32_t i = 0; i < sizeOf(instructions); ++i) {
      checkInstruction(plan, *instructions->Get(i), i);
      require(b == 0 || (instructions->Get(i)->place() < 0 && sizeOf(instructions->Get(i)->waits()) == 0),
              "instruction {} of body {} has a place, expected only in the entry block", i, b);
    }
  }
}

void checkOrder(const plan::Plan &source, const Plan &plan) {
  if (plan.phases.empty())
    return;
  std::vector<std::vector<uint32_t>> needed = package::dependences(source);
  const std::vector<Instruction> &entry = plan.blocks[0].instructions;
  for (size_t i = 0; i < needed.size(); ++i)
    for (uint32_t other : needed[i])
      require(plan.precedes(entry[other].id, entry[i].id),
              "instruction {} uses what instruction {} computes and does not wait for it", i, other);
}

} // namespace lathe::runtime
