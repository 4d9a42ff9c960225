#include "lab/problems/ConvProblem.h"
#include "lab/problems/ProblemList.h"
#include "lab/problems/TextRanges.h"
#include "support/Error.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace lathe;
using namespace lathe::lab;

template <class Work> static std::string messageOf(Work work) {
  try {
    work();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}
static std::string messageOfConv(const std::string &text) {
  return messageOf([&] { parseProblem("conv2d", text); });
}
static std::string messageOfText(const std::string &text) {
  return messageOf([&] { Problem::parse(text); });
}
static ConvProblem conv(const std::string &text) { return convOf(parseProblem("conv2d", text)).value(); }

TEST(Problem, textAndJsonBothWays) {
  for (const char *text :
       {"conv x=1x64x56x56 w=64x64x3x3:const b=64:const strides=1,1 dilations=1,1 pads=1,1,1,1 +relu",
        "matmul a=12x64x256 b=12x256x64", "gemm a=1x2048 b=1000x2048:const c=1000:const trans_b=true",
        "softmax x=128x1000", "concat inputs=1x8x4 inputs=1x16x4 axis=1",
        "gather x=30522x768:const indices=1x128:i64:0..30522", "log x=8x8:1..2", "clip x=4x4 min=0.0 max=6.0",
        "transpose x=1x64x56x56 perm=0,2,3,1", "relu x=3 +sigmoid +tanh",
        "concat inputs=2x3 inputs=2x1 axis=1 +mul +relu", "resize x=1x64x28x28:bf16 mode=linear sizes=1,64,56,56",
        "relu x=scalar"}) {
    Problem problem = Problem::parse(text);
    EXPECT_EQ(problem.str(), text);
    EXPECT_EQ(problemFromJson(toJson(problem)).str(), text);
    EXPECT_EQ(problemFromJson(nlohmann::json::parse(toJson(problem).dump())).str(), text);
  }
  // One order and no defaults, so that equal problems have equal texts.
  EXPECT_EQ(Problem::parse("gemm trans_b=true alpha=1.0 b=1000x2048 trans_a=false a=1x2048").str(),
            "gemm a=1x2048 b=1000x2048 trans_b=true");
}

TEST(Problem, epiloguesOfTwoOperands) {
  Problem p =
      Problem::parse("conv x=1x4x5x5:bf16 w=8x4x1x1:bf16:const strides=1,1 dilations=1,1 pads=0,0,0,0 +relu +add");
  auto inputs = p.inputs();
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[2]->name, "epilogue.1");
  EXPECT_EQ(inputs[2]->dims, p.results()[0].dims);
  EXPECT_EQ(inputs[2]->type, ElementType::bf16);
  EXPECT_FALSE(inputs[2]->constant);
  EXPECT_DOUBLE_EQ(p.bytes(), 2.0 * (4 * 25 + 32 + 2 * 8 * 25));
  EXPECT_DOUBLE_EQ(p.constantBytes(), 2.0 * 32);
  EXPECT_EQ(p.kind(), "1x1"); // for any epilogue
  // benchdnn's names of the epilogue.
  EXPECT_EQ(Problem::parse("relu x=3 +sum +binary_mul").str(), "relu x=3 +add +mul");
  // A variadic operand, and a missing operand.
  inputs = Problem::parse("concat inputs=2x3 inputs=2x1 axis=1 +add").inputs();
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[1]->name, "inputs.1");
  EXPECT_EQ(inputs[2]->name, "epilogue.0");
  SyntaxOptions residual;
  setEpilogue(residual, "bias+sum+relu");
  EXPECT_EQ(parseProblem("fc", "ic4oc3", residual).str(), "gemm a=1x4 b=3x4:const c=3:const trans_b=true +add +relu");
  setEpilogue(residual, "none");
  EXPECT_EQ(parseProblem("fc", "ic4oc3", residual).str(), "gemm a=1x4 b=3x4:const trans_b=true");
  EXPECT_NE(messageOf([&] { setEpilogue(residual, "bias++relu"); }).find("bias++relu"), std::string::npos);
}

TEST(ProblemSyntax, integersOfEightBits) {
  SyntaxOptions bytes;
  setTypes(bytes, "int8");
  setEpilogue(bytes, "none");
  Problem p = parseProblem("conv2d", "mb2g2ic4ih6oc6kh3ph1sh2", bytes);
  EXPECT_EQ(p.str(), "conv_integer x=2x4x6x6:u8:0..256 w=6x2x3x3:i8:const:-128..128 strides=2,2 dilations=1,1 "
                     "pads=1,1,0,0 group=2");
  EXPECT_EQ(p.kind(), "strided");
  EXPECT_EQ(p.results().at(0).type, ElementType::i32);
  EXPECT_DOUBLE_EQ(p.flops(), 2.0 * 2 * 6 * 2 * 8 * 8); // three taps; the first position of an axis reads only two
  EXPECT_DOUBLE_EQ(p.bytes(), 2 * 4 * 36 + 6 * 2 * 9 + 4.0 * 2 * 6 * 9);
  EXPECT_EQ(parseProblem("depthwise", "ic8ih6kh3ph1", bytes).kind(), "depthwise");
  EXPECT_EQ(parseProblem("gemm", "m3n4k5", bytes).str(), "matmul_integer a=3x5:u8:0..256 b=5x4:i8:-128..128");
  EXPECT_EQ(parseProblem("fc", "mb2ic3ih2oc5", bytes).str(),
            "matmul_integer a=2x12:u8:0..256 b=12x5:i8:const:-128..128");
  setTypes(bytes, "s8:u8:s32");
  EXPECT_EQ(parseProblem("matmul", "2x3x4:4x5", bytes).str(), "matmul_integer a=2x3x4:i8:-128..128 b=4x5:u8:0..256");
  setEpilogue(bytes, "relu");
  EXPECT_EQ(parseProblem("conv1d", "ic1iw4oc1", bytes).epilogue, std::vector<std::string>{"relu"});
  for (auto [text, type] : {std::pair{"i8", ElementType::i8}, {"u8", ElementType::u8}, {"int8", ElementType::u8}}) {
    setTypes(bytes, text);
    EXPECT_EQ(bytes.type, type);
    EXPECT_EQ(bytes.weights, ElementType::i8);
  }
  setTypes(bytes, "bf16");
  EXPECT_FALSE(bytes.bytes());
  for (auto [text, wanted] : {std::pair{"i32", "expected a floating-point type"},
                              {"u8:s8", "three types"},
                              {"u8:s8:f32", "sums of s32"},
                              {"u8:f32:s32", "sums of s32"},
                              {"f32:f32:f32", "expected a floating-point type"},
                              {"int4:", "not an element type"}})
    EXPECT_NE(messageOf([&, text = text] { setTypes(bytes, text); }).find(wanted), std::string::npos) << text;
  setTypes(bytes, "int8");
  EXPECT_NE(messageOf([&] { parseProblem("gemm", "m3n4k5ta1", bytes); }).find("transposed"), std::string::npos);
  EXPECT_NE(messageOf([&] { parseProblem("softmax", "3x4", bytes); }).find("convolutions and products"),
            std::string::npos);
}

TEST(Problem, figures) {
  Problem p = Problem::parse("matmul a=12x64x256 b=12x256x32");
  EXPECT_EQ(p.results().at(0).dims, (std::vector<int64_t>{12, 64, 32}));
  EXPECT_DOUBLE_EQ(p.flops(), 2.0 * 12 * 64 * 256 * 32);
  EXPECT_DOUBLE_EQ(p.bytes(), 4.0 * 12 * (64 * 256 + 256 * 32 + 64 * 32));
  EXPECT_DOUBLE_EQ(Problem::parse("transpose x=2x3:bf16 perm=1,0").bytes(), 24);
  EXPECT_EQ(p.kind(), "matmul");
}

TEST(Problem, wrongTextsSayWhatIsWrong) {
  for (auto [text, wanted] : {std::pair{"", "no operator"},
                              {"convolve x=1", "unknown operator 'convolve'"},
                              {"relu", "needs operand 'x'"},
                              {"relu x=1x?", "is not a list of extents"},
                              {"relu x=3 x=3", "given twice"},
                              {"relu x=3 y=3", "no attribute 'y'"},
                              {"relu x=3:f99", "'f99' is neither an element type"},
                              {"relu x=3:2..1", "is not a range of values"},
                              {"relu x=3 fast", "neither NAME=VALUE"},
                              {"relu x=3 +conv", "'+conv' is no element-wise operator"},
                              {"relu x=3 +div", "'+div' is no element-wise operator of one operand"},
                              {"is_nan x=3 +add", "'+add' has no meaning for bool"},
                              {"relu x=3:string", "cannot be generated"},
                              {"relu x=99999x99999", "too large"},
                              {"softmax x=3 axis=one", "expected a number"},
                              {"softmax x=3 axis=7", "softmax"},
                              {"conv x=1x64x56x56 w=64x32x3x3 strides=1,1 dilations=1,1 pads=0,0,0,0", "conv_c"}})
    EXPECT_NE(messageOfText(text).find(wanted), std::string::npos) << text << ": " << messageOfText(text);
}

TEST(ProblemSyntax, everyKindsExampleIsUnderstoodBothWays) {
  for (const ProblemSyntax &syntax : problemSyntaxes()) {
    Problem problem = parseProblem(syntax.kind, syntax.form);
    EXPECT_EQ(Problem::parse(problem.str()).str(), problem.str()) << syntax.kind;
    EXPECT_EQ(findSyntax(syntax.kind), &syntax);
    for (const char *alias : syntax.aliases)
      EXPECT_EQ(findSyntax(alias), &syntax);
  }
  EXPECT_EQ(parseProblem("gemm", "64x256:256x128").str(), parseProblem("gemm", "m64n128k256").str());
  EXPECT_EQ(parseProblem("gemm", "m64n128k256ta1").str(), "gemm a=256x64 b=256x128 trans_a=true");
  EXPECT_EQ(parseProblem("pool", "ic64ih112kh3sh2ph1").results().at(0).dims, (std::vector<int64_t>{1, 64, 56, 56}));
  EXPECT_EQ(parseProblem("fc", "mb2ic512ih7oc4096").operand("b")->dims, (std::vector<int64_t>{4096, 25088}));
  EXPECT_EQ(parseProblem("reduction", "1x64x7x7:1x64x1x1:mean").str(), "reduce_mean x=1x64x7x7 axes=2,3");
  EXPECT_EQ(parseProblem("eltwise", "1x64x56x56:1x64x1x1:add").str(), "add a=1x64x56x56 b=1x64x1x1");
  EXPECT_EQ(parseProblem("conv3d", "ic16id8ih14oc16kd3pd1").results().at(0).dims,
            (std::vector<int64_t>{1, 16, 8, 14, 14}));
  EXPECT_EQ(parseProblem("conv1d", "ic64iw100oc64kw3pw1").results().at(0).dims, (std::vector<int64_t>{1, 64, 100}));
  EXPECT_EQ(parseProblem("depthwise", "ic64ih56kh3ph1").kind(), "depthwise");
  EXPECT_EQ(parseProblem("softmax", "softmax x=3x4 axis=0").str(), "softmax x=3x4 axis=0");
  EXPECT_EQ(parseProblem("relu", "x=3x4").str(), "relu x=3x4");
  SyntaxOptions bare{ElementType::bf16, false, {}};
  EXPECT_EQ(parseProblem("fc", "ic4oc3", bare).str(), "gemm a=1x4:bf16 b=3x4:bf16:const trans_b=true");
  for (auto [kind, text, wanted] : {std::tuple{"gemm", "64x256:255x128", "inner extents 256 and 255"},
                                    {"pool", "ic64ih112kh3:median", "'median' is no pooling"},
                                    {"lstm", "l3t5dhc64", "expected one layer"},
                                    {"eltwise", "3x4:conv", "no element-wise operator"},
                                    {"reduction", "3x4:3x2", "from 4 to 2"},
                                    {"depthwise", "ic64oc64g2ih56", "not depthwise"},
                                    {"nonsense", "1", "neither a kind of problem"}}) {
    auto said = messageOf([&, kind = kind, text = text] { parseProblem(kind, text); });
    EXPECT_NE(said.find(wanted), std::string::npos) << kind << " " << text << ": " << said;
  }
}

TEST(ProblemSyntax, ranges) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(expandRanges("ic64"), Texts{"ic64"});
  EXPECT_EQ(expandRanges("ic{16,32}ih{1..3}"),
            (Texts{"ic16ih1", "ic16ih2", "ic16ih3", "ic32ih1", "ic32ih2", "ic32ih3"}));
  EXPECT_EQ(expandRanges("{16..64*2}"), (Texts{"16", "32", "64"}));
  EXPECT_EQ(expandRanges("{16..50..16}x"), (Texts{"16x", "32x", "48x"}));
  for (auto [text, wanted] : {std::pair{"{1,2", "not closed"},
                              {"{1..x}", "not a number"},
                              {"{5..1}", "empty"},
                              {"{1..9..0}", "never ends"},
                              {"{1..9*1}", "never ends"},
                              {"{1..1000}{1..1000}", "more than 100000"}})
    EXPECT_NE(messageOf([&, text = text] { expandRanges(text); }).find(wanted), std::string::npos) << text;
}

TEST(ConvProblem, ofBenchdnnsText) {
  Problem problem = parseProblem("conv2d", "g1mb2_ic3ih224oc64oh112kh7sh2ph3n\"conv1\"");
  ConvProblem p = convOf(problem).value();
  EXPECT_EQ(p.batch, 2);
  EXPECT_EQ(p.inWidth, 224);
  EXPECT_EQ(p.kernelWidth, 7);
  EXPECT_EQ(p.outHeight, 112);
  EXPECT_EQ(p.padBottom, 2); // the last window ends before the third padded row
  EXPECT_EQ(p.kind(), "strided");
  EXPECT_TRUE(p.bias && p.relu);
  EXPECT_DOUBLE_EQ(problem.flops(), 2.0 * 2 * 64 * 3 * 778 * 778); // 6 of 784 taps per axis are in padding
  EXPECT_EQ(shortText(problem), "mb2ic3ih224oc64oh112kh7sh2ph3");
  for (const char *text : {"ic64ih56oc64oh56kh3ph1", "g32ic32ih112oc32oh112kh3ph1", "ic16ih17iw30oc8oh17ow32kh1kw7pw4",
                           "ic8ih20oc8oh16kh3dh1"})
    EXPECT_EQ(shortText(parseProblem("conv2d", text)), text);
  EXPECT_FALSE(convOf(Problem::parse("relu x=3")));
  EXPECT_FALSE(convOf(parseProblem("conv1d", "ic64iw100oc64kw3pw1")));
}

TEST(ConvProblem, kinds) {
  EXPECT_EQ(conv("ic64ih56oc64kh3ph1").kind(), "3x3");
  EXPECT_EQ(conv("ic64ih56oc64kh1").kind(), "1x1");
  EXPECT_EQ(conv("g64ic64ih56oc64kh3ph1sh2").kind(), "depthwise");
  EXPECT_EQ(conv("ic64ih56oc64kh1sh2").kind(), "strided");
  EXPECT_EQ(conv("g2ic64ih56oc64kh3ph1").kind(), "other");
  EXPECT_EQ(conv("ic64ih56oc64kh3ph2dh1").kind(), "other");
  EXPECT_EQ(conv("ic64ih56oc64kh1kw7ph0pw3").kind(), "other");
}

TEST(ConvProblem, wrongTextsSayWhatIsWrong) {
  EXPECT_NE(messageOfConv("ih56oc64").find("'ic' is missing"), std::string::npos);
  EXPECT_NE(messageOfConv("ic64oc64").find("'ih' is missing"), std::string::npos);
  EXPECT_NE(messageOfConv("ic64ih56oc64zz3").find("at 'zz"), std::string::npos);
  EXPECT_NE(messageOfConv("ic64ih56oc64kh").find("'kh' needs a number"), std::string::npos);
  EXPECT_NE(messageOfConv("ic64ic64ih56oc64").find("twice"), std::string::npos);
  EXPECT_NE(messageOfConv("ic64ih5oc64kh7").find("output 'oh' is 0"), std::string::npos);
  EXPECT_NE(messageOfConv("ic64ih56oc64oh99kh3ph1").find("does not follow"), std::string::npos);
  EXPECT_NE(messageOfConv("g3ic64ih56oc64").find("3 groups"), std::string::npos);
  EXPECT_NE(messageOfConv("ic64ih56oc64sh0").find("stride 'sh' is 0"), std::string::npos);
  EXPECT_NE(messageOfConv("ic999999999ih56oc64").find("too large"), std::string::npos);
  EXPECT_NE(messageOfConv("ic9999999ih9999999oc64").find("too large"), std::string::npos);
  EXPECT_NE(messageOfConv("ic64ih56oc64n\"open").find("not closed"), std::string::npos);
  EXPECT_EQ(messageOfConv("ic64ih56oc64"), "");
}

TEST(ProblemList, lists) {
  auto path =
      (std::filesystem::temp_directory_path() / ("lathe-problems-" + std::to_string(getpid()) + ".csv")).string();
  std::string head = "suite,name,batch,in_channels,in_height,in_width,out_channels,kernel_height,kernel_width,stride_"
                     "height,stride_width,pad_"
                     "height,pad_width,dilation_height,dilation_width,groups,count\n";
  std::ofstream(path) << head << "a/one,first,1,64,56,56,64,3,3,1,1,1,1,1,1,1,3\n"
                      << "a/two,second,1,64,56,56,64,3,3,1,1,1,1,1,1,1,2\r\n"
                      << "b/one,third,1,64,56,56,64,1,1,1,1,0,0,1,1,1,1\n";
  auto both = readProblems(path, {"a/*"});
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].name, "first");
  EXPECT_EQ(both[0].count, 5);
  EXPECT_EQ(both[0].suites, (std::vector<std::string>{"a/one", "a/two"}));
  EXPECT_EQ(readProblems(path, {"a/one", "b/one"}).size(), 2u);
  auto said = [&](const std::vector<std::string> &suites) -> std::string {
    try {
      readProblems(path, suites);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(said({"c"}).find("no suite 'c'; there are a/one, a/two, b/one"), std::string::npos) << said({"c"});
  std::ofstream(path) << head << "a/one,first,1,64,x,56,64,3,3,1,1,1,1,1,1,1,3\n";
  EXPECT_NE(said({"a/one"}).find(":2: in_height is 'x'"), std::string::npos) << said({"a/one"});
  std::ofstream(path) << "suite,name\n";
  EXPECT_NE(said({"a/one"}).find("no column 'count'"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_NE(said({"a/one"}).find("cannot be read"), std::string::npos);
}

TEST(ProblemList, severalListsWithRangesAndComments) {
  auto folder = std::filesystem::temp_directory_path() / ("lathe-lists-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::string first = folder / "first.csv", second = folder / "second.csv";
  std::ofstream(first) << "# where the figures come from\nsuite,name,count,kind,problem\n"
                       << "a,x,2,gemm,\"m{8,16}n4k32\"\n# a comment between lines\nb,y,1,conv2d,ic8ih7oc8kh1\n";
  std::ofstream(second) << "suite,name,count,kind,problem\na,z,9,gemm,m1n1k1\nc,z,1,gemm,m2n2k2\n";
  auto both = readProblems(std::vector{first, second}, {"a", "c"});
  ASSERT_EQ(both.size(), 3u); // a suite of the second list with a known name is ignored
  EXPECT_EQ(both[0].text, "m8n4k32");
  EXPECT_EQ(both[1].text, "m16n4k32");
  EXPECT_EQ(both[1].count, 2);
  EXPECT_EQ(both[2].suites, std::vector<std::string>{"c"});
  auto suites = suitesOf({first, second});
  ASSERT_EQ(suites.size(), 3u);
  EXPECT_EQ(suites[0].problems, 2u);
  EXPECT_EQ(suites[1].kinds, std::set<std::string>{"conv2d"});
  EXPECT_EQ(suites[2].path, second);
  std::ofstream(first) << "# comment\nsuite,name,count,kind,problem\na,x,1,conv2d,ic8\n";
  try {
    readProblems(first, {"a"});
    FAIL() << "a malformed problem was read";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("first.csv:3: "), std::string::npos) << error.what();
  }
  std::filesystem::remove_all(folder);
}

TEST(ProblemList, shippedLists) {
  std::map<std::string, size_t> counts;
  for (auto &suite : suitesOf(shippedLists()))
    counts[suite.name] = suite.problems;
  // The number of rows in DeepBench's tables.
  EXPECT_EQ(counts["deepbench/gemm-training"], 160u);
  EXPECT_EQ(counts["deepbench/gemm-inference-server"], 75u);
  EXPECT_EQ(counts["deepbench/gemm-inference-device"], 13u);
  EXPECT_EQ(counts["networks/vgg16"], 12u);
  EXPECT_GT(readProblems(shippedLists(), {"*"}).size(), 600u); // all of them are valid problems
  int64_t layers = 0; // of ResNet-50: 49 convolutions, 4 in downsampling, a fully connected layer
  for (auto &entry : readProblems(shippedLists(), {"networks/resnet50"}))
    layers += entry.count;
  EXPECT_EQ(layers, 54);
}

/// The tables that other projects publish, from the test data.
TEST(ProblemList, shippedListsAreThePublishedOnes) {
  std::string folder = LATHE_TEST_DATA "/problems/";
  if (!std::filesystem::exists(folder + "gemm.csv"))
    GTEST_SKIP() << "no test data: " << folder << "gemm.csv is absent";
  auto texts = [](const std::vector<ListedProblem> &list) {
    std::set<std::string> result;
    for (auto &entry : list)
      result.insert(entry.problem.str());
    return result;
  };
  for (const std::string suite :
       {"deepbench/gemm-training", "deepbench/gemm-inference-server", "deepbench/gemm-inference-device",
        "deepbench/conv-training", "deepbench/conv-inference-server"}) {
    std::string list = folder + (suite.find("gemm") != suite.npos ? "gemm.csv" : "conv2d.csv");
    EXPECT_EQ(texts(readProblems(shippedLists(), {suite})), texts(readProblems(list, {suite}))) << suite;
  }
}

TEST(ProblemList, sharedLists) {
  std::string path = LATHE_TEST_DATA "/problems/conv2d.csv";
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "no test data: " << path << " is absent";
  EXPECT_EQ(readProblems(path, {"benchdnn/resnet50"}).size(), 20u);
  for (auto &entry : readProblems(path, {"*"}))
    EXPECT_EQ(shortText(parseProblem("conv2d", entry.text)), entry.text);
  for (auto &entry : readProblems(LATHE_TEST_DATA "/problems/gemm.csv", {"*"}))
    EXPECT_EQ(entry.problem.op, "gemm") << entry.text;
}
