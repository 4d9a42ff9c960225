// Bisection over changes: what it keeps, and how many judgements it needs.
#include "tune/GainingChanges.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

namespace lathe::tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A whole whose speed is the sum of the values of its changes.
struct Whole {
  std::vector<double> gains;
  size_t judgements = 0, limit = 1000;

  std::vector<size_t> kept() {
    return gainingChanges(gains.size(), [&](const std::vector<size_t> &base, const std::vector<size_t> &added) {
      std::set<size_t> all(base.begin(), base.end());
      double gain = 0;
      for (size_t i : added) {
        EXPECT_TRUE(all.insert(i).second) << "change " << i << " is judged on top of itself";
        gain += gains[i];
      }
      return judgements++ < limit ? std::optional(gain > 0) : std::nullopt;
    });
  }
};

TEST(GainingChanges, OneBadChangeIsDropped) {
  for (size_t count : {2, 3, 8, 13, 64})
    for (size_t bad = 0; bad < count; ++bad) {
      Whole whole{std::vector<double>(count, 1)};
      whole.gains[bad] = -1000;
      std::vector<size_t> kept = whole.kept();
      EXPECT_EQ(kept.size(), count - 1);
      EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
      EXPECT_EQ(std::count(kept.begin(), kept.end(), bad), 0);
      EXPECT_LE(whole.judgements, usualJudgements(count));
    }
}

TEST(GainingChanges, SeveralBadChangesAreDropped) {
  EXPECT_THAT((Whole{{1, -50, 1, 1, -50, 1}}.kept()), ElementsAre(0, 2, 3, 5));
  EXPECT_THAT((Whole{{-1, -1, -1}}.kept()), IsEmpty());
  EXPECT_THAT((Whole{{-1}}.kept()), IsEmpty()); // not judged: it is known not to gain
  EXPECT_THAT((Whole{{}}.kept()), IsEmpty());
}

TEST(GainingChanges, WhatIsNotJudgedIsDropped) {
  Whole whole{{1, 1, 1, 1, 1, 1, 1, -1000}};
  whole.limit = 2; // the first half, and the second half
  EXPECT_THAT(whole.kept(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(whole.judgements, 3u);
  whole = {{1, -5}};
  whole.limit = 0;
  EXPECT_THAT(whole.kept(), IsEmpty());
}

} // namespace
} // namespace lathe::tune
