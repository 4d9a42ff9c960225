// Schedules as users write them, over every algorithm of the table.
#include "schedule/Algorithms.h"
#include "support/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace lathe {
namespace {

using testing::HasSubstr;

/// The error for `text`; "" if it is a schedule.
std::string errorOf(const std::string &text) {
  try {
    readSchedule(text);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

std::string with(const Algorithm &algorithm, const std::string &rest) { return algorithm.str() + " " + rest; }

/// A legal value of the parameter.
std::string legal(const Parameter &parameter) {
  switch (parameter.kind) {
  case Parameter::Kind::number:
    return std::to_string(parameter.least);
  case Parameter::Kind::word:
    return parameter.words.front();
  default:
    return "conv1";
  }
}

TEST(Schedule, TextComesBack) {
  for (const char *text : {"softmax/2 grain=4000 interleave=2", "direct/1 px=14 outer=channels type=i16", "move/1",
                           "layout/1 in=row out=blocked", "fuse/1 with=conv1"})
    EXPECT_EQ(readSchedule(text).str(), text);
}

TEST(Schedule, ATextIsCanonical) {
  EXPECT_EQ(canonicalSchedule("direct/1 type=f32 px=14 oc=1  outer=rows kc=0"), "direct/1 px=14");
  EXPECT_EQ(canonicalSchedule("direct/1 width=28 px=14"),
            "direct/1 px=14 width=28"); // the default depends on the problem
  for (const Algorithm &algorithm : algorithms()) {
    Schedule schedule = emptySchedule(algorithm.name);
    for (const Parameter &parameter : algorithm.parameters)
      if (parameter.hasDefault() && parameter.kind == Parameter::Kind::number)
        schedule.numbers[parameter.name] = *parameter.defaultNumber;
      else if (parameter.hasDefault())
        schedule.words[parameter.name] = parameter.words.front();
    EXPECT_EQ(schedule.str(), algorithm.str());
  }
  // Texts that this version does not declare stay unchanged.
  for (const char *text :
       {"autotvm/0.2 index=1 tile=-1,3", "direct/99 type=f32", "direct/1 px=0 type=f32", "", "nonsense"})
    EXPECT_EQ(canonicalSchedule(text), text);
}

TEST(Schedule, MalformedTextIsAnError) {
  for (const char *text : {"", " ", "direct", "direct/", "/1", "direct/x", "direct/0", "direct/-1", "direct/1x",
                           "direct/99999999999999999999", "direct/4294967297", "direct/1 px", "direct/1 =3",
                           "direct/1 px=", "direct/1 px =3"})
    EXPECT_NE(errorOf(text), "") << text;
}

TEST(Schedule, NamesOfNodesKeepTheirText) {
  for (const char *name : {"7", "007", "-0", "99999999999999999999999", "conv1", "a=b"}) {
    Schedule schedule = readSchedule(std::string("fuse/1 with=") + name);
    EXPECT_EQ(schedule.str(), std::string("fuse/1 with=") + name);
  }
}

TEST(Schedule, UnknownAlgorithmsListThoseThatExist) {
  std::string error = errorOf("sofmax/1 grain=1");
  EXPECT_THAT(error, HasSubstr("there is no algorithm 'sofmax'"));
  EXPECT_THAT(error, HasSubstr("did you mean 'softmax'?"));
  for (const Algorithm &algorithm : algorithms())
    EXPECT_THAT(error, HasSubstr(algorithm.str()));
  EXPECT_THAT(errorOf("direct/2 px=7"), HasSubstr("version 2 of direct is unknown, expected direct/1"));
}

TEST(Schedule, TheMessageNamesWhatWasMisspelt) {
  EXPECT_EQ(errorOf("softmax/2 grian=1"), "schedule 'softmax/2 grian=1': softmax/2 has no parameter 'grian'; it has "
                                          "grain and interleave (did you mean 'grain'?)");
  EXPECT_EQ(errorOf("gemm/2 mr=abc"), "schedule 'gemm/2 mr=abc': got mr=abc, expected a whole number from 1 to 64");
  EXPECT_EQ(errorOf("direct/1 outer=depth"),
            "schedule 'direct/1 outer=depth': got outer=depth, expected rows or channels");
  EXPECT_EQ(errorOf("softmax/2 interleave=3"),
            "schedule 'softmax/2 interleave=3': got interleave=3, expected 1, 2 or 4");
  EXPECT_EQ(errorOf("gemm/2 packb=2"), "schedule 'gemm/2 packb=2': got packb=2, expected 0 or 1");
  EXPECT_EQ(errorOf("gemm/2 mr=4 mr=6"), "schedule 'gemm/2 mr=4 mr=6': mr is given twice, expected once");
  EXPECT_THAT(errorOf("softmax/2 gr\033[2Jain=1"), HasSubstr("\\x1b")) << "no terminal takes it as a command";
}

TEST(Schedule, FormerNamesAreTold) {
  EXPECT_EQ(errorOf("gemm/1 rows=4 kc=64"),
            "schedule 'gemm/1 kc=64 rows=4': gemm/1 is gemm/2 now, where rows is called mr");
  EXPECT_EQ(errorOf("winograd/1 m=4"),
            "schedule 'winograd/1 m=4': winograd/1 is winograd/2 now, where px is called mr, "
            "blocks is called mc and points is called pointsplit");
  for (const Algorithm &algorithm : algorithms())
    for (const FormerVersion &former : algorithm.former)
      for (const auto &[old, name] : former.renamed) {
        EXPECT_EQ(algorithm.find(old), nullptr) << algorithm.str() << " " << old;
        EXPECT_NE(algorithm.find(name), nullptr) << algorithm.str() << " " << name;
        EXPECT_THAT(errorOf(fmt::format("{}/{} {}=1", algorithm.name, former.version, old)),
                    HasSubstr(fmt::format("is {} now, where {} is called {}", algorithm.str(), old, name)));
      }
}

TEST(Schedule, AWordHasOneMeaning) {
  std::map<std::string, const Parameter *> first;
  for (const Algorithm &algorithm : algorithms())
    for (const Parameter &parameter : algorithm.parameters) {
      const Parameter *known = first.try_emplace(parameter.name, &parameter).first->second;
      EXPECT_STREQ(parameter.meaning, known->meaning) << algorithm.str() << " " << parameter.name;
      EXPECT_EQ(parameter.kind, known->kind) << algorithm.str() << " " << parameter.name;
    }
  std::map<std::string, std::string> names; // and each meaning has one name
  for (const auto &[name, parameter] : first)
    EXPECT_EQ(names.try_emplace(parameter->meaning, name).first->second, name);
}

TEST(Schedule, NothingPassesInAnyAlgorithm) {
  for (const Algorithm &algorithm : algorithms()) {
    for (const Parameter &parameter : algorithm.parameters) {
      std::string name = parameter.name, value = legal(parameter);
      SCOPED_TRACE(algorithm.str() + " " + name);
      EXPECT_EQ(errorOf(with(algorithm, name + "=" + value)), "");
      EXPECT_THAT(errorOf(with(algorithm, name + "x=" + value)),
                  HasSubstr(algorithm.str() + " has no parameter '" + name + "x'"));
      EXPECT_THAT(errorOf(with(algorithm, name + "x=abc")), HasSubstr("has no parameter"));
      EXPECT_THAT(errorOf(with(algorithm, name + "=" + value + " " + name + "=" + value)), HasSubstr("given twice"));
      if (parameter.kind == Parameter::Kind::name)
        continue;
      for (const char *bad : {"abc", "14x", "99999999999999999999999", "-99999999999999999999999", "1.5", "0x10", "1e3",
                              "--1", "+1", "-9223372036854775808"})
        EXPECT_THAT(errorOf(with(algorithm, name + "=" + bad)), HasSubstr("expected " + parameter.values())) << bad;
      if (parameter.kind != Parameter::Kind::number)
        continue;
      EXPECT_EQ(errorOf(with(algorithm, fmt::format("{}={}", name, parameter.most))), "");
      EXPECT_NE(errorOf(with(algorithm, fmt::format("{}={}", name, parameter.least - 1))), "");
      EXPECT_NE(errorOf(with(algorithm, fmt::format("{}={}", name, parameter.most + 1))), "");
    }
    EXPECT_THAT(errorOf(with(algorithm, "colour=7")), HasSubstr("has no parameter 'colour'"));
  }
}

TEST(Schedule, CodeReadsOnlyWhatIsDeclared) {
  Schedule schedule = readSchedule("direct/1 px=14");
  EXPECT_EQ(schedule.number("px"), 14);
  EXPECT_EQ(schedule.number("unroll"), 8) << "the declared default";
  EXPECT_EQ(schedule.word("outer"), "rows");
  EXPECT_EQ(schedule.number("rows", 56), 56);
  EXPECT_THROW(schedule.number("grain"), std::logic_error);
  EXPECT_THROW(schedule.number("rows"), std::logic_error) << "its default depends on the problem";
  EXPECT_THROW(schedule.number("px", 1), std::logic_error) << "a default stands in the table alone";
  EXPECT_THROW(schedule.word("px"), std::logic_error);
  EXPECT_THROW(Schedule().number("px"), std::logic_error);
}

TEST(Schedule, TheTableIsSound) {
  std::set<std::string> seen;
  for (const Algorithm &algorithm : algorithms()) {
    EXPECT_TRUE(seen.insert(algorithm.str()).second) << algorithm.str();
    std::set<std::string> names, constraints;
    for (const Constraint &constraint : algorithm.constraints)
      EXPECT_TRUE(constraints.insert(constraint.id).second) << algorithm.str() << " " << constraint.id;
    EXPECT_THROW(algorithm.constraint("colour"), std::logic_error);
    for (const Parameter &parameter : algorithm.parameters) {
      EXPECT_TRUE(names.insert(parameter.name).second) << algorithm.str() << " " << parameter.name;
      EXPECT_FALSE(std::string(parameter.meaning).empty());
      if (parameter.kind == Parameter::Kind::number && parameter.hasDefault()) {
        EXPECT_EQ(errorOf(fmt::format("{} {}={}", algorithm.str(), parameter.name, *parameter.defaultNumber)), "");
      }
    }
  }
}

TEST(Schedule, HelpNamesEverything) {
  std::string all = schedulesHelp();
  for (const Algorithm &algorithm : algorithms()) {
    EXPECT_THAT(all, HasSubstr("  " + algorithm.str() + " "));
    EXPECT_EQ(schedulesHelp(algorithm.name), schedulesHelp(algorithm.str()));
    for (const Parameter &parameter : algorithm.parameters)
      EXPECT_THAT(schedulesHelp(algorithm.name), HasSubstr(parameter.description()));
    for (const Constraint &constraint : algorithm.constraints)
      EXPECT_THAT(schedulesHelp(algorithm.name), HasSubstr(constraint.text));
  }
  EXPECT_THROW(schedulesHelp("gem"), Error);
}

TEST(Schedule, ThePageIsCurrent) {
  std::ifstream file(LATHE_SOURCE_DIR "/docs/generated/schedules.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), schedulesPage()) << "ninja schedules-page writes docs/generated/schedules.md";
}

} // namespace
} // namespace lathe
