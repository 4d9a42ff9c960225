#include "serve/Addresses.h"

#include "serve/Access.h"

#include <gmock/gmock.h>

using namespace lathe::serve;
using testing::ElementsAre;

static const std::vector<InterfaceAddress> machine = {
    {"127.0.0.1"}, {"::1", true}, {"192.168.1.20"}, {"fe80::1", true}, {"fd00::5", true}, {"10.0.0.3"}, {"10.0.0.3"}};

TEST(Addresses, ofAServerThatListensEverywhere) {
  EXPECT_THAT(openAddresses("0.0.0.0", machine), ElementsAre("192.168.1.20", "10.0.0.3", "127.0.0.1"));
  EXPECT_THAT(openAddresses("::", machine), ElementsAre("fd00::5", "::1"));
}

TEST(Addresses, ofOneAddress) {
  for (const char *host : {"192.168.1.20", "fd00::5", "host.example"})
    EXPECT_THAT(openAddresses(host, machine), ElementsAre(host));
}

TEST(Addresses, ofAMachineWithoutANetwork) {
  EXPECT_THAT(openAddresses("0.0.0.0", {}), ElementsAre("127.0.0.1"));
  EXPECT_THAT(openAddresses("::", {{"fe80::1", true}, {"127.0.0.1"}}), ElementsAre("::1"));
}

TEST(Addresses, ofThisMachineAreNumbers) {
  std::vector<InterfaceAddress> here = interfaceAddresses();
  ASSERT_FALSE(here.empty());
  for (const InterfaceAddress &address : here) {
    EXPECT_TRUE(isNumericAddress(address.text)) << address.text;
    EXPECT_EQ(address.version6, address.text.find(':') != std::string::npos) << address.text;
  }
}
