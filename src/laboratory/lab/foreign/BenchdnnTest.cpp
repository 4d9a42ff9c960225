// Hand-written lines in the format of benchdnn's documentation.
#include "lab/foreign/BenchdnnProblem.h"
#include "lab/foreign/ForeignTesting.h"
#include "lab/problems/ProblemSyntax.h"

using namespace lathe;
using namespace lathe::lab;
using store::PointStatus;
using testing::HasSubstr;

namespace {

class BenchdnnTest : public ForeignFolder {
protected:
  static constexpr const char *head =
      "Output template: perf,%engine%,%impl%,%name%,%prb%,%Gops%,%Gfreq%,%-time%,%-Gflops%,%0time%,%0Gflops%\n";
  /// A line of the default template.
  static std::string perf(const std::string &problem, double least = 0.5, double average = 0.625) {
    return fmt::format("perf,cpu,jit:avx512_core,,{},0.231211,0,{},462.4,{},369.9\n", problem, least, average);
  }
};

TEST_F(BenchdnnTest, problemsBecomeOurs) {
  auto equal = [](const std::string &text, const std::string &kind, const std::string &ours,
                  const SyntaxOptions &syntax) {
    EXPECT_EQ(benchdnnProblem(text).problem.text, parseProblem(kind, ours, syntax).str()) << text;
  };
  SyntaxOptions plain, bias, bytes;
  plain.bias = bytes.bias = false;
  plain.epilogue = bias.epilogue = bytes.epilogue = {};
  setTypes(bytes, "u8:s8:s32");
  equal("--mode=P --conv mb1ic64ih56oc64oh56kh3ph1n\"res2:conv1\"", "conv", "ic64ih56oc64kh3ph1", bias);
  equal("--conv --dir=FWD_I --stag=acdb ic64ih56oc64kh3ph1", "conv", "ic64ih56oc64kh3ph1", plain);
  equal("--conv --dir=FWD_I --dt=u8:s8:s32 ic64ih56oc64kh3ph1", "conv", "ic64ih56oc64kh3ph1", bytes);
  equal("--matmul --dt=f32:f32:f32 64x256:256x128_n\"fc\"", "matmul", "64x256:256x128", plain);
  equal("--pool --alg=avg_np ic64ih112kh3sh2ph1", "pool", "ic64ih112kh3sh2ph1:avg", plain);
  equal("--softmax --axis=1 128x1000", "softmax", "128x1000:axis1", plain);
  equal("--eltwise --alg=tanh 1x64x56x56", "eltwise", "1x64x56x56:tanh", plain);
  plain.epilogue = {"add", "relu"};
  equal("--conv --dir=FWD_I --attr-post-ops=sum+relu ic64ih56oc64kh3ph1", "conv", "ic64ih56oc64kh3ph1", plain);
  EXPECT_EQ(benchdnnProblem("--conv --dir=FWD_I --stag=acdb --dtag=any ic8ih7oc8kh1").layout, "stag=acdb dtag=any");
  EXPECT_EQ(benchdnnProblem("--matmul --dt=bf16 64x256:256x128").type, "bf16");
}

TEST_F(BenchdnnTest, operationsAreThoseOfBenchdnn) { // 0.0131072 Gops
  Problem problem = Problem::parse(benchdnnProblem("--conv mb1ic64ih14oc64oh14kh3ph1").problem.text);
  EXPECT_DOUBLE_EQ(problem.flops(), 2.0 * 64 * 64 * 40 * 40);
}

TEST_F(BenchdnnTest, otherProblemsKeepTheirText) {
  for (auto &[text, op, kept] :
       {std::tuple("--mode=P --bnorm --dir=FWD_D ic64ih56", "bnorm", "--bnorm --dir=FWD_D ic64ih56"),
        {"--conv --dir=BWD_W ic8ih7oc8kh1", "conv", "--conv --dir=BWD_W ic8ih7oc8kh1"},
        {"--conv --attr-post-ops=relu:0.1 ic8ih7oc8kh1", "conv", "--conv --attr-post-ops=relu:0.1 ic8ih7oc8kh1"},
        {"--conv --attr-fpmath=bf16 ic8ih7oc8kh1", "conv", "--conv --attr-fpmath=bf16 ic8ih7oc8kh1"},
        {"--reorder --sdt=f32 --ddt=s8 2x3", "reorder", "--reorder --sdt=f32 --ddt=s8 2x3"},
        {"--conv nonsense", "conv", "--conv nonsense"},
        {"2x3", "benchdnn", "2x3"}}) {
    BenchdnnProblem problem = benchdnnProblem(text);
    EXPECT_EQ(problem.problem.op, op);
    EXPECT_EQ(problem.problem.text, kept);
  }
}

TEST_F(BenchdnnTest, linesArePoints) {
  std::string log = "onednn_verbose,info,oneDNN v3.1.1 (commit 64f6bcbcbab628e96f33a62c3e975f8535a7bde4)\n"
                    "onednn_verbose,info,cpu,isa:Intel AVX-512 with AVX512_VNNI\n" +
                    std::string(head) + perf("--mode=P --conv --dir=FWD_I ic64ih56oc64kh3ph1") + "run: noise\n" +
                    perf("--mode=P --conv --dir=FWD_I ic64ih56oc64kh3ph1", 0.25, 0.75) +
                    perf("--mode=P --concat --sdt=f32 1x2:1x3") + "tests:3 passed:3 failed:0\ntotal: 2.2s\n";
  store::ImportCounts counts = import(write("b.log", log));
  EXPECT_EQ(counts.points.added, 2u);
  EXPECT_EQ(counts.samples, 3u);
  auto points = store.points();
  ASSERT_EQ(points.size(), 2u);
  const store::Point &conv = points[points[0].problem.op == "conv" ? 0 : 1];
  EXPECT_EQ(conv.status, PointStatus::notVerified);
  EXPECT_EQ(conv.provider, "benchdnn");
  EXPECT_EQ(conv.variant, "jit:avx512_core");
  EXPECT_EQ(conv.providerVersion, "3.1.1");
  ASSERT_EQ(conv.rounds.size(), 2u);
  EXPECT_EQ(conv.rounds[0][0].wallNs, 625000); // the average
  EXPECT_EQ(conv.figures.at("least_ms"), 0.25);
  EXPECT_EQ(conv.setting.extra.at("threads"), "not stated");
  store::Platform platform = store.platform(store.experiments()[0].experiment.platform);
  EXPECT_EQ(platform.cpu, "unknown (benchdnn), Intel AVX-512 with AVX512_VNNI");
  EXPECT_EQ(platform.libraries.at("onednn"), "3.1.1");
  EXPECT_EQ(store.experiments()[0].experiment.kind, store::ExperimentKind::imported);
  counts = import(file("b.log"));
  EXPECT_EQ(counts.points.added + counts.points.replaced + counts.experiments.added, 0u);
}

TEST_F(BenchdnnTest, timesThatNoProcessorReachesSaySo) {
  const std::string problem = "--mode=P --conv --dir=FWD_I ic64ih56oc64kh3ph1";
  import(write("b.log", head + perf(problem, 1e-6, 1e-6)));
  EXPECT_EQ(store.points().at(0).status, PointStatus::notVerified);
  EXPECT_THAT(store.points().at(0).reason, HasSubstr("benchdnn; no algorithm takes 1e-09 s"));
  import(write("c.log", head + perf(problem)));
  EXPECT_THAT(store.points().at(1).reason, testing::Not(HasSubstr("no algorithm")));
}

TEST_F(BenchdnnTest, otherTemplates) {
  import(write("b.log", "Output template: mine,%prb%,%-time%,%ctime%,end\nperf,ignored\n"
                        "mine,--sum --scales=1,2 2x3,0.002,1.5,end\n"));
  auto points = store.points();
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].problem.text, "--sum --scales=1,2 2x3"); // commas belong to the problem
  EXPECT_EQ(points[0].rounds[0][0].wallNs, 2000);
  EXPECT_EQ(points[0].setting.extra.at("time"), "minimum");
  EXPECT_EQ(points[0].prepareSeconds, 0.0015);
  EXPECT_THAT(refused("Output template: perf,%prb%,%Gops%\n"), HasSubstr("has no %-time% or %0time%"));
  EXPECT_THAT(refused("Output template: %prb%,%-time%\n"), HasSubstr("begins with a value"));
  EXPECT_THAT(refused("Output template: perf,%prb%,%M-time%\n"), HasSubstr("scaled time"));
}

TEST_F(BenchdnnTest, logsThatAreWritten) {
  std::string log = head + perf("--concat --sdt=f32 1x2:1x3") + "perf,cpu,jit,,--concat 1x2:1x3,0.23,0,0.5";
  store::ImportCounts counts = import(write("b.log", log));
  EXPECT_EQ(counts.points.added, 1u);
  ASSERT_EQ(counts.notes.size(), 1u);
  EXPECT_THAT(counts.notes[0], HasSubstr("b.log:3: the file ends in the middle of this line"));
  log = head + perf("--concat --sdt=f32 1x2:1x3") + perf("--concat --sdt=f32 1x2:1x4");
  counts = import(write("b.log", log));
  EXPECT_EQ(counts.experiments.added, 0u);
  EXPECT_EQ(counts.points.added, 1u);
}

TEST_F(BenchdnnTest, damageIsOneLine) {
  auto refusedLine = [&](const std::string &line) { return refused(head + perf("--concat 1x2:1x3") + line + "\n"); };
  EXPECT_THAT(refusedLine("perf,cpu,jit"), HasSubstr("refused.log:3: 3 values, expected 11"));
  EXPECT_THAT(refusedLine("perf,cpu,jit,,--sum 2x3,0,0,-0.5,0,0.5,0"), HasSubstr("'time' is -0.5, expected a time"));
  EXPECT_THAT(refusedLine("perf,cpu,jit,,--sum 2x3,0,0,nan,0,0.5,0"), HasSubstr("'time' is nan"));
  EXPECT_THAT(refusedLine("perf,cpu,jit,,--sum 2x3,0,0,1e300,0,0.5,0"), HasSubstr("'time' is 1e+300"));
  EXPECT_THAT(refusedLine("perf,cpu,jit,,--sum 2x3,0,0,x,0,0.5,0"), HasSubstr("%time% is 'x'"));
  EXPECT_THAT(refusedLine("perf,cpu,jit,, ,0,0,1,0,0.5,0"), HasSubstr("%prb% is empty"));
  EXPECT_THAT(refusedLine("perf,cpu,jit,,--sum " + std::string(70000, 'x') + ",0,0,1,0,0.5,0"),
              HasSubstr("%prb% has 70006 bytes"));
  EXPECT_THAT(refused(head), HasSubstr("has no measurement"));
  EXPECT_THAT(refused("something else\n"), HasSubstr("is not an archive of measurements"));
  EXPECT_THAT(refused("something else\n", "benchdnn"), HasSubstr("has no measurement"));
}

TEST_F(BenchdnnTest, serversAreNoFiles) {
  EXPECT_EQ(foreignFormatOf("postgresql://localhost/team"), "");
  EXPECT_EQ(errorOf([] { importSource("postgresql://ann:s3cret@localhost/team", "benchdnn"); }),
            "postgresql://ann@localhost/team: expected a file of benchdnn, got a server");
}

TEST_F(BenchdnnTest, textsAreHarmless) {
  import(write("b.log", std::string(head) + perf(std::string("--x <script>\x1b[2J\xff\0</script>", 31))));
  auto points = store.points();
  ASSERT_EQ(points.size(), 1u);
  EXPECT_THAT(points[0].problem.text, HasSubstr("<script>\\x1b[2J\\xff\\x00</script>")); // pages escape markup
}

} // namespace
