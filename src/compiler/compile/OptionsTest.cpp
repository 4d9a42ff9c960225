// Every option in every form: arguments, messages, texts of the C interface.
#include "compile/Options.h"
#include "support/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lathe {
namespace {

using testing::HasSubstr;

/// Sets an option to a value other than its default.
struct Another {
  std::string of(const CompileOption &option, int) { return std::to_string(option.most); }
  std::string of(const CompileOption &, const std::string &) { return "znver4"; }
  std::string of(const CompileOption &, const NamedText &) { return "a text\n"; }
  std::string of(const CompileOption &, const std::vector<std::string> &) { return "N=2"; }
  template <class T> std::string of(const CompileOption &option, T) {
    return option.words.empty() ? "true" : option.words.back();
  }
};

/// All options but one, set through their names.
CompileChoices others(const std::string &without) {
  CompileChoices choices;
  visitOptions(std::as_const(choices), [&](const CompileOption &option, const auto &field) {
    if (option.name != without)
      setOption(choices, option.name, Another().of(option, field));
  });
  return choices;
}

TEST(Options, EachHasAllForms) {
  int count = 0;
  const CompileChoices none;
  visitOptions(none, [&](const CompileOption &option, const auto &field) {
    ++count;
    CompileChoices choices;
    setOption(choices, option.name, Another().of(option, field));
    EXPECT_NE(nlohmann::json(choices).at(option.key()), nlohmann::json(CompileChoices()).at(option.key()));
    std::vector<std::string> arguments = argumentsOf(choices);
    EXPECT_EQ(std::count(arguments.begin(), arguments.end(), option.flag()), 1) << option.name;
    EXPECT_EQ(nlohmann::json(nlohmann::json(choices).get<CompileChoices>()), nlohmann::json(choices));
    EXPECT_GT(std::string(option.help).size(), 20u);
  });
  EXPECT_GE(count, 13);
}

TEST(Options, ArgumentsAreThoseOfEarlierVersions) { // which are parts of keys
  CompileChoices choices = others("references-only");
  choices.machine.name = "m.json";
  choices.schedule.name = "s.txt";
  choices.streams = "off"; // newer than the others
  EXPECT_EQ(
      testing::PrintToString(argumentsOf(choices)),
      testing::PrintToString(std::vector<std::string>{
          "--target", "znver4",       "--threads",    "1024",     "--machine", "m.json",         "-O",   "4",
          "--layout", "blocked",      "--exact-math", "--memory", "small",     "--precision",    "bf16", "--schedule",
          "s.txt",    "--specialize", "N=2",          "--range",  "N=2",       "--optimize-for", "N=2"}));
  choices.referencesOnly = true;
  EXPECT_EQ(
      testing::PrintToString(argumentsOf(choices)),
      testing::PrintToString(std::vector<std::string>{"--target", "znver4", "--threads", "1024", "--references-only",
                                                      "--specialize", "N=2", "--range", "N=2"}));
  EXPECT_EQ(testing::PrintToString(argumentsOf({})),
            testing::PrintToString(std::vector<std::string>{"--target", "native", "--threads", "1", "-O", "3"}));
}

TEST(Options, WhatIsWrongIsSaid) {
  auto said = [](std::string_view name, const std::string &value) -> std::string {
    CompileChoices choices;
    try {
      setOption(choices, name, value);
    } catch (const Error &error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(said("thread", "2"), HasSubstr("there is no option 'thread', expected target, threads, machine,"));
  EXPECT_EQ(said("threads", "0"), "threads is '0', expected a number from 1 to 1024");
  EXPECT_EQ(said("level", "3x"), "level is '3x', expected a number from 0 to 4");
  EXPECT_EQ(said("layout", "hwcn"), "layout is 'hwcn', expected auto, nchw, nhwc, blocked");
  EXPECT_EQ(said("exact-math", "maybe"), "exact-math is 'maybe', expected false, true");
  EXPECT_EQ(said("exact-math", ""), "accepted");
}

} // namespace
} // namespace lathe
