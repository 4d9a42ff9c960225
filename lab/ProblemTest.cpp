#include "lab/ConvProblem.h"

#include "support/Error.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace lathe;
using namespace lathe::lab;

static std::string messageOf(const std::string &text) {
  try {
    ConvProblem::parse(text);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(ConvProblem, textBothWays) {
  ConvProblem p = ConvProblem::parse("g1mb2_ic3ih224oc64oh112kh7sh2ph3n\"conv1\"");
  EXPECT_EQ(p.batch, 2);
  EXPECT_EQ(p.inWidth, 224);
  EXPECT_EQ(p.kernelWidth, 7);
  EXPECT_EQ(p.outHeight, 112);
  EXPECT_EQ(p.padBottom(), 2); // the last window ends before the third padded row
  EXPECT_EQ(p.kind(), "strided");
  EXPECT_DOUBLE_EQ(p.flops(), 2.0 * 2 * 64 * 112 * 112 * 3 * 49);
  EXPECT_EQ(p.str(), "mb2ic3ih224oc64oh112kh7sh2ph3");
  for (const char *text : {"ic64ih56oc64oh56kh3ph1", "g32ic32ih112oc32oh112kh3ph1", "ic16ih17iw30oc8oh17ow32kh1kw7pw4",
                           "ic8ih20oc8oh16kh3dh1"}) {
    EXPECT_EQ(ConvProblem::parse(text).str(), text);
    EXPECT_EQ(convProblemFromJson(toJson(ConvProblem::parse(text))).str(), text);
  }
}

TEST(ConvProblem, kinds) {
  EXPECT_EQ(ConvProblem::parse("ic64ih56oc64kh3ph1").kind(), "3x3");
  EXPECT_EQ(ConvProblem::parse("ic64ih56oc64kh1").kind(), "1x1");
  EXPECT_EQ(ConvProblem::parse("g64ic64ih56oc64kh3ph1sh2").kind(), "depthwise");
  EXPECT_EQ(ConvProblem::parse("ic64ih56oc64kh1sh2").kind(), "strided");
  EXPECT_EQ(ConvProblem::parse("g2ic64ih56oc64kh3ph1").kind(), "other");
  EXPECT_EQ(ConvProblem::parse("ic64ih56oc64kh3ph2dh1").kind(), "other");
  EXPECT_EQ(ConvProblem::parse("ic64ih56oc64kh1kw7ph0pw3").kind(), "other");
}

TEST(ConvProblem, wrongTextsSayWhatIsWrong) {
  EXPECT_NE(messageOf("ih56oc64").find("'ic' is missing"), std::string::npos);
  EXPECT_NE(messageOf("ic64oc64").find("'ih' is missing"), std::string::npos);
  EXPECT_NE(messageOf("ic64ih56oc64zz3").find("at 'zz"), std::string::npos);
  EXPECT_NE(messageOf("ic64ih56oc64kh").find("'kh' needs a number"), std::string::npos);
  EXPECT_NE(messageOf("ic64ic64ih56oc64").find("twice"), std::string::npos);
  EXPECT_NE(messageOf("ic64ih5oc64kh7").find("out_height is 0"), std::string::npos);
  EXPECT_NE(messageOf("ic64ih56oc64oh99kh3ph1").find("does not follow"), std::string::npos);
  EXPECT_NE(messageOf("g3ic64ih56oc64").find("3 groups"), std::string::npos);
  EXPECT_NE(messageOf("ic64ih56oc64sh0").find("stride is 0"), std::string::npos);
  EXPECT_NE(messageOf("ic999999999ih56oc64").find("in_channels"), std::string::npos);
  EXPECT_NE(messageOf("ic9999999ih9999999oc64").find("too large"), std::string::npos);
  EXPECT_NE(messageOf("ic64ih56oc64n\"open").find("not closed"), std::string::npos);
  EXPECT_EQ(messageOf("ic64ih56oc64"), "");
}

TEST(ConvProblem, lists) {
  auto path =
      (std::filesystem::temp_directory_path() / ("lathe-problems-" + std::to_string(getpid()) + ".csv")).string();
  std::string head = "suite,name,batch,in_channels,in_height,in_width,out_channels,kernel_height,kernel_width,stride_"
                     "height,stride_width,pad_"
                     "height,pad_width,dilation_height,dilation_width,groups,count\n";
  std::ofstream(path) << head << "a/one,first,1,64,56,56,64,3,3,1,1,1,1,1,1,1,3\n"
                      << "a/two,second,1,64,56,56,64,3,3,1,1,1,1,1,1,1,2\r\n"
                      << "b/one,third,1,64,56,56,64,1,1,1,1,0,0,1,1,1,1\n";
  auto both = readConvProblems(path, {"a/*"});
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].name, "first");
  EXPECT_EQ(both[0].count, 5);
  EXPECT_EQ(both[0].suites, (std::vector<std::string>{"a/one", "a/two"}));
  EXPECT_EQ(readConvProblems(path, {"a/one", "b/one"}).size(), 2u);
  auto said = [&](const std::vector<std::string> &suites) -> std::string {
    try {
      readConvProblems(path, suites);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(said({"c"}).find("no suite 'c'; there are a/one, a/two, b/one"), std::string::npos) << said({"c"});
  std::ofstream(path) << head << "a/one,first,1,64,x,56,64,3,3,1,1,1,1,1,1,1,3\n";
  EXPECT_NE(said({"a/one"}).find(":2: in_height is 'x'"), std::string::npos) << said({"a/one"});
  std::ofstream(path) << "suite,name\n";
  EXPECT_NE(said({"a/one"}).find("no column 'batch'"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_NE(said({"a/one"}).find("cannot be read"), std::string::npos);
}

TEST(ConvProblem, sharedList) {
  std::string path = LATHE_TEST_DATA "/problems/conv2d.csv";
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "no test data: " << path << " is absent";
  EXPECT_EQ(readConvProblems(path, {"benchdnn/resnet50"}).size(), 20u);
  for (auto &entry : readConvProblems(path, {"*"}))
    EXPECT_EQ(ConvProblem::parse(entry.problem.str()).str(), entry.problem.str());
}
