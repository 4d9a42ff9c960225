// All versions of the selection of boxes.
#include "import/tensorflow/GraphTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lathe::tensorflow {
namespace {

using testing::ElementsAre;
using G = TestGraph;

TEST(NonMaxSuppression, VersionsDifferInWhatTheyGive) {
  for (const char *op : {"NonMaxSuppressionV3", "NonMaxSuppressionV4"}) {
    G g;
    std::string scores = g.placeholder("x", {3});
    std::string boxes = g.constant<float>({3, 4}, {0, 0, 1, 1, 0, 0, 1, 0.9f, 5, 5, 6, 6});
    bool fourth = std::string(op).ends_with("4");
    std::string y = g.op(op, {boxes, scores, g.scalar(3), g.real(0.5f), g.real(0.1f)},
                         fourth ? std::vector<Attr>{truth("pad_to_max_output_size")} : std::vector<Attr>{}, "nms");
    g.op("Identity", {y}, {}, "indices");
    if (fourth)
      g.op("Identity", {"nms:1"}, {}, "valid");
    std::vector<Tensor> got = results(g.bytes(), {floats({3}, {0.5, 0.9, 0.2})});
    if (fourth) {
      EXPECT_THAT(numbersOf(got.at(0)), ElementsAre(1, 2, 0));
      EXPECT_THAT(numbersOf(got.at(1)), ElementsAre(2));
    } else {
      EXPECT_THAT(numbersOf(got.at(0)), ElementsAre(1, 2));
    }
  }
}

/// Two pictures, three boxes, two classes. Boxes 0 and 1 overlap.
std::vector<Tensor> combined(bool ownBoxes, int32_t ofClass, int32_t most, const std::vector<Attr> &attrs) {
  G g;
  std::string scores = g.placeholder("x", {2, 3, 2});
  std::vector<float> corners = {0, 0, 1, 1, 0, 0, 1, 0.9f, 5, 5, 6, 6}, all;
  for (int picture = 0; picture < 2; ++picture)
    for (size_t box = 0; box < 3; ++box)
      for (int kind = 0; kind < (ownBoxes ? 2 : 1); ++kind)
        for (size_t i = 0; i < 4; ++i)
          all.push_back(corners[4 * (kind ? 2 - box : box) + i]); // the other class has its boxes in reverse order
  std::string boxes = g.constant<float>({2, 3, ownBoxes ? 2 : 1, 4}, all);
  g.op("CombinedNonMaxSuppression", {boxes, scores, g.scalar(ofClass), g.scalar(most), g.real(0.5f), g.real(0.1f)},
       attrs, "nms");
  for (const char *result : {"nms", "nms:1", "nms:2", "nms:3"})
    g.op("Identity", {result});
  return results(g.bytes(), {floats({2, 3, 2}, {0.5, 0.05, 0.9, 0.3, 0.2, 0.4, 0.05, 0.05, 0.05, 0.05, 0.05, 0.6})});
}

TEST(NonMaxSuppression, OfAllClassesTogether) {
  std::vector<Tensor> got = combined(false, 3, 5, {truth("clip_boxes", false)});
  EXPECT_THAT(got.at(1).dims(), ElementsAre(2, 5));
  Numbers scores = numbersOf(got[1]), expected = {0.9, 0.4, 0.3, 0.2, 0, 0.6, 0, 0, 0, 0};
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_FLOAT_EQ(scores[i], static_cast<float>(expected[i])) << i;
  EXPECT_THAT(numbersOf(got.at(2)), ElementsAre(0, 1, 1, 0, 0, 1, 0, 0, 0, 0));
  EXPECT_THAT(numbersOf(got.at(3)), ElementsAre(4, 1));
  Numbers boxes = numbersOf(got.at(0));
  EXPECT_THAT(Numbers(boxes.begin() + 4, boxes.begin() + 8), ElementsAre(5, 5, 6, 6));
  EXPECT_THAT(Numbers(boxes.begin() + 16, boxes.begin() + 20), ElementsAre(0, 0, 0, 0));
}

TEST(NonMaxSuppression, OfClassesWithBoxesOfTheirOwn) {
  // Class 1 has its boxes in reverse order: its box 0 equals box 2 of class 0.
  std::vector<Tensor> got = combined(true, 1, 9, {truth("pad_per_class")});
  EXPECT_THAT(got.at(0).dims(), ElementsAre(2, 2, 4)); // one box of each class
  Numbers boxes = numbersOf(got[0]);
  EXPECT_THAT(Numbers(boxes.begin() + 4, boxes.begin() + 8), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(numbersOf(got.at(2)), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(numbersOf(got.at(3)), ElementsAre(2, 1));
}

/// The boxes that TensorFlow selects, with their scores. A box is considered again after its score was lowered.
std::vector<std::pair<size_t, double>> softlySelected(const std::vector<float> &boxes, std::vector<double> scores,
                                                      size_t most, double overlap, double least, double sigma) {
  auto share = [&](size_t a, size_t b) {
    auto side = [&](size_t axis) {
      return std::max(0.0, std::min<double>(boxes[4 * a + axis + 2], boxes[4 * b + axis + 2]) -
                               std::max<double>(boxes[4 * a + axis], boxes[4 * b + axis]));
    };
    auto area = [&](size_t box) {
      return double(boxes[4 * box + 2] - boxes[4 * box]) * double(boxes[4 * box + 3] - boxes[4 * box + 1]);
    };
    double both = side(0) * side(1);
    return both / (area(a) + area(b) - both);
  };
  std::vector<std::pair<size_t, double>> taken;
  std::vector<size_t> seen(scores.size(), 0); // number of selected boxes that have lowered each score
  std::vector<bool> waits(scores.size());
  for (size_t i = 0; i < scores.size(); ++i)
    waits[i] = scores[i] > least;
  while (taken.size() < most) {
    size_t best = scores.size();
    for (size_t i = 0; i < scores.size(); ++i)
      if (waits[i] && (best == scores.size() || scores[i] > scores[best]))
        best = i;
    if (best == scores.size())
      break;
    double before = scores[best];
    for (; seen[best] < taken.size(); ++seen[best]) {
      double ratio = share(best, taken[seen[best]].first);
      scores[best] *= ratio <= overlap ? std::exp(-0.5 / sigma * ratio * ratio) : 0;
    }
    waits[best] = scores[best] != before && scores[best] > least;
    if (scores[best] == before)
      taken.emplace_back(best, before);
  }
  return taken;
}

TEST(NonMaxSuppression, LowersScores) {
  constexpr size_t count = 12;
  std::vector<float> boxes;
  Numbers scores;
  for (size_t i = 0; i < count; ++i) { // three clusters of boxes
    float y = static_cast<float>(i % 3) * 4 + static_cast<float>(i * 7 % 5) * 0.3f,
          x = static_cast<float>(i * 5 % 7) * 0.2f;
    boxes.insert(boxes.end(), {y, x, y + 2, x + 1.5f + 0.1f * static_cast<float>(i)});
    scores.push_back(static_cast<double>(i * 37 % 23 + 2) / 32);
  }
  for (auto [overlap, least] : {std::pair(1.0f, 0.0f), {0.4f, 0.1f}, {1.0f, 0.25f}})
    for (bool pads : {false, true})
      for (int32_t most : {3, 20}) {
        auto want = softlySelected(boxes, scores, static_cast<size_t>(most), overlap, least, 0.3f);
        ASSERT_GE(want.size(), 3u);
        G g;
        std::string x = g.placeholder("x", {count});
        g.op("NonMaxSuppressionV5",
             {g.constant<float>({count, 4}, boxes), x, g.scalar(most), g.real(overlap), g.real(least), g.real(0.3f)},
             {truth("pad_to_max_output_size", pads)}, "nms");
        for (const char *result : {"nms", "nms:1", "nms:2"})
          g.op("Identity", {result});
        std::vector<Tensor> got = results(g.bytes(), {floats({count}, scores)});
        EXPECT_EQ(got.at(0).elements(), pads ? most : static_cast<int64_t>(want.size()));
        EXPECT_EQ(got.at(2).asInteger(0), static_cast<int64_t>(want.size()));
        for (size_t i = 0; i < static_cast<size_t>(got[0].elements()); ++i) {
          EXPECT_EQ(got[0].asInteger(int64_t(i)), i < want.size() ? int64_t(want[i].first) : 0) << i;
          EXPECT_NEAR(got[1].asDouble(int64_t(i)), i < want.size() ? want[i].second : 0, 1e-6) << i;
        }
      }
}

} // namespace
} // namespace lathe::tensorflow
