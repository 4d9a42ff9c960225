// Places, waits, devices and memory spaces of a plan: the checks when a package is loaded.
#include "package/DeviceKind.h"
#include "runtime/testing/ContextTesting.h"
#include "support/ErrorTesting.h"

#include <gmock/gmock.h>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

/// Two halves on a place each, compiled for four threads, and their sum on all slots.
class PlacesTest : public WithTestReferences {
protected:
  PlacesTest() {
    uint32_t x = p.input("x", {"4"}), y = p.input("y", {"4"});
    uint32_t a = p.temporary("a", {"4"}), b = p.temporary("b", {"4"}), out = p.output("out", {"4"});
    p.half(x, a, "4");
    p.half(y, b, "4");
    p.add(a, b, out, "4");
    p.program.threads = 4;
    addDevice("host");
    addPlace(0, 3);
    addPlace(3, 1);
    at(0).place = 0;
    at(1).place = 1;
  }
  void addDevice(const std::string &kind) {
    p.program.devices.push_back(std::make_unique<plan::DeviceT>());
    p.program.devices.back()->kind = kind;
  }
  void addPlace(uint32_t first, uint32_t slots, uint32_t device = 0) {
    auto place = std::make_unique<plan::PlaceT>();
    place->first_slot = first;
    place->slots = slots;
    place->device = device;
    p.plan().places.push_back(std::move(place));
  }
  plan::InstructionT &at(size_t position) { return *p.plan().blocks[0]->instructions[position]; }
  std::string error() {
    return errorOf([&] { p.model(); });
  }

  TestPlan p;
};

TEST_F(PlacesTest, aPlanWithPlacesRunsInItsOrder) {
  at(2).waits = {0, 1};
  for (int threads : {1, 2, 4, 5}) {
    Context context(p.model(), {.threads = threads});
    context.setInput(0, Tensor::of<float>({4}, {2, 4, 6, 8}));
    context.setInput(1, Tensor::of<float>({4}, {20, 40, 60, 80}));
    context.run();
    EXPECT_THAT(floats(context.output(0)), ElementsAre(11, 22, 33, 44)) << threads << " threads";
  }
}

TEST_F(PlacesTest, aDeviceThatTheRuntimeLacksIsNamed) {
  addDevice("opencl");
  EXPECT_EQ(error(), "test.lathe: it needs a device of kind 'opencl', this runtime has: host");
  p.program.devices.back()->kind = "host";
  EXPECT_EQ(error(), "test.lathe: malformed plan: device 1 is the host, expected only device 0");
}

TEST_F(PlacesTest, placesAreSlotsOfTheThreadsCompiledFor) {
  p.plan().places[1]->slots = 2;
  EXPECT_THAT(error(), HasSubstr("a place of 2 slots from slot 3 on, compiled for 4 threads"));
  p.plan().places[1]->slots = 0;
  EXPECT_THAT(error(), HasSubstr("a place of 0 slots from slot 3 on"));
  p.plan().places[1]->slots = 1;
  p.plan().places[1]->first_slot = UINT32_MAX;
  EXPECT_THAT(error(), HasSubstr("a place of 1 slots from slot 4294967295 on"));
  p.plan().places[1]->first_slot = 3;
  p.plan().places[1]->device = 1;
  EXPECT_THAT(error(), HasSubstr("place 1 is on device 1 of 1"));
}

TEST_F(PlacesTest, everyIndexIsChecked) {
  at(0).place = 2;
  EXPECT_THAT(error(), HasSubstr("an instruction runs on place 2 of 2"));
  at(0).place = -2;
  EXPECT_THAT(error(), HasSubstr("an instruction runs on place -2 of 2"));
  at(0).place = 0;
  p.plan().values[0]->memory = 1;
  EXPECT_THAT(error(), HasSubstr("value 'x' is on device 1 of 1"));
  p.plan().values[0]->memory = 0;
  p.plan().kernels[0]->device = 3;
  EXPECT_THAT(error(), HasSubstr("is on device 3 of 1"));
}

TEST_F(PlacesTest, waitsAreForInstructionsBefore) {
  for (std::vector<uint32_t> waits : std::vector<std::vector<uint32_t>>{{2}, {3}, {1, 0}, {1, 1}, {UINT32_MAX}}) {
    at(2).waits = waits;
    EXPECT_THAT(error(), HasSubstr(fmt::format("instruction 2 waits for instruction {}", waits.back())));
  }
}

TEST(DeviceKindTest, namesAreReadBack) {
  EXPECT_EQ(deviceKind(name(DeviceKind::host)), DeviceKind::host);
  EXPECT_EQ(deviceKind("Host"), std::nullopt);
}

} // namespace
