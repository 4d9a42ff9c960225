// Damaged files of other programs are read, or give an error of one line, and nothing else.
#include "lab/foreign/ForeignTesting.h"

#include <random>

using namespace lathe;
using namespace lathe::lab;

namespace {

constexpr const char *benchdnn =
    "onednn_verbose,info,oneDNN v3.1.1 (commit 64f6)\n"
    "Output template: perf,%engine%,%impl%,%name%,%prb%,%Gops%,%Gfreq%,%-time%,%-Gflops%,%0time%,%0Gflops%\n"
    "perf,cpu,jit,,--mode=P --conv --dir=FWD_I --attr-post-ops=sum+relu ic64ih56oc64kh3ph1n\"a\",0.2,0,0.5,4,0.6,3\n"
    "perf,gpu,ref,,--softmax --axis=1 --stag=abx 128x1000,0.2,0,0.5,4,0.6,3\n";
constexpr const char *profile =
    R"([{"cat":"Session","dur":22,"ts":8,"ph":"X","name":"model_loading_uri","args":{}},
{"cat":"Node","dur":3,"name":"r_kernel_time","args":{"op_name":"Relu","provider":"CPU","node_index":"3",
"input_type_shape":[{"float":[1,8,4,4]}],"output_type_shape":[{"float":[1,8,4,4]}]}},
{"cat":"Session","dur":5,"name":"model_run","args":{}}]
)";
constexpr const char *benchmark =
    R"({"context":{"date":"2026-11-22T01:31:04+01:00","host_name":"anvil","num_cpus":8,"mhz_per_cpu":2400,
"caches":[{"type":"Data","level":1,"size":32768,"num_sharing":2}],"library_version":"v1.7.1"},
"benchmarks":[{"name":"a/1","run_name":"a","run_type":"iteration","threads":1,"real_time":1.5e2,"cpu_time":1,
"time_unit":"us","CYCLES":9,"x":1.5},{"name":"a_mean","run_type":"aggregate","aggregate_name":"mean","real_time":1}]}
)";
constexpr const char *log =
    R"({"input":["llvm","conv2d.x86",[["TENSOR",[1,3,2,2],"float32"],[2,2]],{}],"config":{"index":1,"code_hash":null,)"
    R"("entity":[["t","sp",[-1,3]]]},"result":[[0.004],0,0.5,1676344759.5],"version":0.2,"tvm_version":"0.10.0"}
)";

class ForeignHostileTest : public ForeignFolder {
protected:
  /// True if the file can be read. Its reader has checked every record.
  bool reads(const std::string &text) {
    std::string path = write("x", text);
    std::vector<std::string> notes;
    size_t records = 0;
    try {
      importSource(path)([&](const store::Record &) { ++records; }, notes);
      EXPECT_GT(records, 0u);
      return true;
    } catch (const Error &error) {
      std::string said = error.what();
      EXPECT_EQ(said.find('\n'), said.npos) << said;
      EXPECT_LT(said.size(), 2000u) << said;
      EXPECT_TRUE(said.starts_with(path)) << said;
      return false;
    }
  }
};

TEST_F(ForeignHostileTest, filesThatAreCut) {
  for (const char *whole : {benchdnn, profile, benchmark}) {
    std::string text = whole;
    EXPECT_TRUE(reads(text));
    for (size_t size = 0; size < text.size(); ++size)
      reads(text.substr(0, size));
  }
}

TEST_F(ForeignHostileTest, filesThatAreDamaged) {
  const std::vector<std::string> pieces = {"[",     "]",
                                           "{",     "}",
                                           "\"",    ",",
                                           ":",     "-",
                                           "1e308", "99999999999999999999",
                                           "null",  "%",
                                           "\n",    std::string(1, '\0'),
                                           "\xff",  "\xc3",
                                           "x",     "0x",
                                           "ic",    "="};
  size_t read = 0, refused = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random{seed};
    for (std::string text : {std::string(benchdnn), std::string(profile), std::string(benchmark), std::string(log)}) {
      for (size_t changes = 1 + random() % 3; changes; --changes) {
        size_t at = random() % text.size(), length = random() % 6;
        const std::string &piece = pieces[random() % pieces.size()];
        text.replace(at, std::min(length, text.size() - at), random() % 3 ? piece : "");
      }
      ++(reads(text) ? read : refused);
    }
  }
  EXPECT_GT(read, 50u);
  EXPECT_GT(refused, 100u);
}

} // namespace
