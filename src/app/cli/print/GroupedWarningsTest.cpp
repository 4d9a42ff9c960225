#include "cli/print/GroupedWarnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace lathe::cli;

TEST(GroupedWarnings, saysEachOnce) {
  EXPECT_THAT(groupedWarnings({}), testing::IsEmpty());
  EXPECT_THAT(groupedWarnings({{"at a", {"it judges", "1.5 processors were busy"}},
                               {"at b", {"it judges", "times rose by 3 %"}},
                               {"at c", {"it judges", "0.75 processors were busy"}}}),
              testing::ElementsAre("3 of 3 parts: it judges", "2 of 3 parts, first at a: 1.5 processors were busy",
                                   "at b: times rose by 3 %"));
  EXPECT_THAT(groupedWarnings({{"at a", {}}, {"at b", {"it judges"}}, {"at c", {"it judges"}}}),
              testing::ElementsAre("2 of 3 parts, first at b: it judges"));
  EXPECT_THAT(groupedWarnings({{"at a", {"3 of lathe", "5 of lathe"}}, {"at b", {}}}),
              testing::ElementsAre("at a: 3 of lathe"))
      << "twice in a part";
}
