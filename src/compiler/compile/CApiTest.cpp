// The compiler's C interface: options of this header and of older headers, and the effect of each precision.
#include "codegen/space/ContractionFormat.h"
#include "codegen/space/SpaceSize.h"
#include "compile/KernelTasks.h"
#include "ir/Context.h"
#include "lathe/compiler.h"
#include "lathe/runtime.h"
#include "schedule/Algorithms.h"
#include "support/archive/RecordArchive.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>

namespace {

// Programs built against version 1 have these offsets, with 0 as the fourth number.
static_assert(offsetof(lathe_compile_options, precision) == sizeof(size_t) + sizeof(char *) + 3 * sizeof(int32_t));
// Up to version 3 the structure ended before this field.
constexpr size_t sizeOfVersion3 = offsetof(lathe_compile_options, requantize_rounding);
static_assert(sizeOfVersion3 == sizeof(size_t) * 3 + sizeof(char *) * 2 + 4 * sizeof(int32_t));
// Version 5 named a reserved field of version 4, whose structure had this size.
constexpr size_t sizeOfVersion5 = offsetof(lathe_compile_options, options);
static_assert(sizeOfVersion5 == sizeOfVersion3 + 2 * sizeof(int32_t) + sizeof(char *));

struct CompilerCApi : testing::Test {
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "lathe_compiler_c_api";
  std::string model = (folder / "product.mlir").string(), package = (folder / "product.lathe").string();

  void SetUp() override {
    std::filesystem::create_directories(folder);
    std::ofstream(model) << "func.func @main(%a: tensor<16x4xf32> {nn.name = \"a\"}, %b: tensor<4x16xf32> {nn.name = "
                            "\"b\"}) -> (tensor<16x16xf32> {nn.name = \"c\"}) {\n  %0 = nn.matmul %a, %b : "
                            "(tensor<16x4xf32>, tensor<4x16xf32>) -> tensor<16x16xf32>\n  return %0 : "
                            "tensor<16x16xf32>\n}\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// The options that the package at `package` says it was compiled with.
  std::string compiledWith() {
    lathe_model *loaded = nullptr;
    if (lathe_model_load(package.c_str(), nullptr, &loaded) != LATHE_OK)
      return lathe_last_error();
    lathe_model_info info = {};
    info.struct_size = sizeof info;
    std::string options =
        lathe_model_get_info(loaded, &info) == LATHE_OK ? std::string(info.options) : lathe_last_error();
    lathe_model_free(loaded);
    return options;
  }
};

TEST_F(CompilerCApi, versionOfTheHeader) {
  EXPECT_EQ(lathe_compiler_api_version(), uint32_t(LATHE_COMPILER_API_VERSION));
}

TEST_F(CompilerCApi, defaultsAreFp32) {
  lathe_compile_options options;
  lathe_compile_options_init(&options);
  EXPECT_EQ(options.precision, LATHE_PRECISION_FP32);
  for (const lathe_compile_options *given : {(const lathe_compile_options *)nullptr, &std::as_const(options)}) {
    ASSERT_EQ(lathe_compile_file(model.c_str(), package.c_str(), given), LATHE_OK) << lathe_compiler_last_error();
    EXPECT_THAT(compiledWith(), testing::HasSubstr("--precision fp32"));
  }
}

TEST_F(CompilerCApi, precisionReachesThePackage) {
  lathe_compile_options options;
  lathe_compile_options_init(&options);
  options.precision = LATHE_PRECISION_BF16;
  options.target = "znver4"; // compiled, not run
  ASSERT_EQ(lathe_compile_file(model.c_str(), package.c_str(), &options), LATHE_OK) << lathe_compiler_last_error();
  // Processors without these instructions refuse to load it: its bytes have the options as text.
  std::ifstream file(package, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(bytes.find("--precision bf16"), std::string::npos);
  EXPECT_EQ(bytes.find("--precision fp32"), std::string::npos);
  options.target = "x86-64-v3";
  EXPECT_EQ(lathe_compile_file(model.c_str(), package.c_str(), &options), LATHE_FAILED);
  EXPECT_THAT(lathe_compiler_last_error(), testing::HasSubstr("avx512bf16"));
}

TEST_F(CompilerCApi, layoutReachesThePackage) {
  lathe_compile_options options;
  lathe_compile_options_init(&options);
  EXPECT_EQ(options.layout, LATHE_LAYOUT_AUTO);
  auto made = [&](lathe_layout layout) {
    options.layout = layout;
    bool done = lathe_compile_file(model.c_str(), package.c_str(), &options) == LATHE_OK;
    return done ? compiledWith() : lathe_compiler_last_error();
  };
  EXPECT_THAT(made(LATHE_LAYOUT_AUTO), testing::Not(testing::HasSubstr("layout")));
  EXPECT_THAT(made(LATHE_LAYOUT_NCHW), testing::HasSubstr("--layout nchw"));
  EXPECT_THAT(made(LATHE_LAYOUT_NHWC), testing::HasSubstr("--layout nhwc"));
  EXPECT_THAT(made(LATHE_LAYOUT_BLOCKED), testing::HasSubstr("--layout blocked"));
  for (int32_t wrong : {-1, 4}) {
    options.layout = wrong;
    EXPECT_EQ(lathe_compile_file(model.c_str(), package.c_str(), &options), LATHE_INVALID_ARGUMENT);
    EXPECT_THAT(lathe_compiler_last_error(), testing::HasSubstr("layout is " + std::to_string(wrong) +
                                                                ", expected 0 (auto), 1 (nchw), 2 (nhwc) or"));
  }
}

/// Options without a member of the structure; OptionsTest tests the list itself.
TEST_F(CompilerCApi, furtherOptionsByName) {
  lathe_compile_options options;
  lathe_compile_options_init(&options);
  std::vector<const char *> texts{"memory=small", "exact-math", "level=2", "target=x86-64-v3"};
  auto made = [&] {
    options.options = texts.data();
    options.option_count = texts.size();
    bool done = lathe_compile_file(model.c_str(), package.c_str(), &options) == LATHE_OK;
    return done ? compiledWith() : lathe_compiler_last_error();
  };
  EXPECT_THAT(made(), testing::AllOf(testing::HasSubstr("--memory small"), testing::HasSubstr("--exact-math"),
                                     testing::HasSubstr("-O2"), testing::HasSubstr("x86-64-v3")));
  for (auto [text, said] : {std::pair("memory=huge", "memory is 'huge', expected any, small"),
                            std::pair("colour=red", "there is no option 'colour', expected target"),
                            std::pair("specialize=N", "--specialize"), std::pair("machine=none", "machine"),
                            std::pair("custom=Scale", "custom=CLASS=FILE")}) {
    texts = {text};
    EXPECT_THAT(made(), testing::HasSubstr(said)) << text;
  }
  texts = {nullptr};
  EXPECT_THAT(made(), testing::HasSubstr("option 0 is null"));
}

/// An archive with one record of a schedule that is not the default one, for the only kernel of the model.
TEST_F(CompilerCApi, recordsOfAnArchive) {
  lathe_compile_options options;
  lathe_compile_options_init(&options);
  auto schedules = [&] { // texts of the package's strings
    std::ifstream file(package, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  ASSERT_EQ(lathe_compile_file(model.c_str(), package.c_str(), &options), LATHE_OK) << lathe_compiler_last_error();
  std::string before = schedules(), other;

  auto context = lathe::makeContext();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(model, context.get());
  std::vector<lathe::KernelTask> tasks = lathe::kernelTasks(*module, {});
  ASSERT_EQ(tasks.size(), 1u);
  const lathe::KernelFacts &facts = *tasks[0].facts;
  for (const lathe::Algorithm &algorithm : lathe::algorithms())
    if (algorithm.family == facts.family)
      visitSpace(facts, algorithm, facts.knobs(algorithm), {},
                 [&](const lathe::Schedule &schedule, const lathe::Legality &legality) {
                   if (legality && allows(facts.precision, schedule) && before.find(schedule.str()) == before.npos)
                     other = schedule.str();
                   return !!legality;
                 });
  ASSERT_NE(other, "");

  std::string archive = (folder / "records.jsonl").string(), text = "records=" + archive;
  auto write = [&](const std::string &verdict, bool damaged) {
    nlohmann::json record = {
        {"task", tasks[0].task}, {"schedule", other}, {"verdict", verdict}, {"measured", "2026-11-29T00:00:00Z"}};
    std::string line = nlohmann::json{{"tuning", record}}.dump() + "\n";
    nlohmann::json first = {{"format", 2}, {"tuning", 1}, {"xxh3_128", lathe::contentKey(line)}};
    std::ofstream(archive) << nlohmann::json{{lathe::archiveKey, first}}.dump() << "\n" << line.substr(damaged);
  };
  std::vector<const char *> texts{text.c_str()};
  options.options = texts.data();
  options.option_count = texts.size();
  auto made = [&] {
    bool done = lathe_compile_file(model.c_str(), package.c_str(), &options) == LATHE_OK;
    return done ? schedules() : lathe_compiler_last_error();
  };
  write("faster", false);
  EXPECT_THAT(made(), testing::AllOf(testing::HasSubstr(other), testing::HasSubstr("the record of 2026-11-29 in")));
  write("open", false); // nobody has compared it with the default schedule
  EXPECT_EQ(made().find(other), std::string::npos);
  write("faster", true);
  EXPECT_THAT(made(), testing::HasSubstr("records.jsonl: is damaged"));
  std::filesystem::remove(archive);
  EXPECT_THAT(made(), testing::HasSubstr("records.jsonl: cannot open"));
}

TEST_F(CompilerCApi, mistakesInOptionsAreSaid) {
  lathe_compile_options options;
  lathe_compile_options_init(&options);
  options.precision = 2;
  EXPECT_EQ(lathe_compile_file(model.c_str(), package.c_str(), &options), LATHE_INVALID_ARGUMENT);
  EXPECT_THAT(lathe_compiler_last_error(), testing::HasSubstr("precision is 2, expected 0 (fp32) or 1 (bf16)"));
  lathe_compile_options_init(&options);
  options.struct_size -= 1;
  EXPECT_EQ(lathe_compile_file(model.c_str(), package.c_str(), &options), LATHE_INVALID_ARGUMENT);
  EXPECT_THAT(lathe_compiler_last_error(), testing::HasSubstr("struct_size"));
  EXPECT_FALSE(std::filesystem::exists(package));
}

/// Members that a program of version 3 does not have are not read.
TEST_F(CompilerCApi, optionsOfOlderVersions) {
  lathe_compile_options options;
  lathe_compile_options_init(&options);
  options.struct_size = sizeOfVersion3;
  options.requantize_rounding = 77;
  options.layout = 77;
  options.signature = "beyond the structure";
  EXPECT_EQ(lathe_compile_file(model.c_str(), package.c_str(), &options), LATHE_OK) << lathe_compiler_last_error();
  options.struct_size = sizeof options;
  EXPECT_EQ(lathe_compile_file(model.c_str(), package.c_str(), &options), LATHE_INVALID_ARGUMENT);
  EXPECT_THAT(lathe_compiler_last_error(),
              testing::HasSubstr("requantize_rounding is 77, expected 0 (reference) or 1"));
  options.layout = LATHE_LAYOUT_AUTO;
  options.requantize_rounding = LATHE_REQUANTIZE_REFERENCE;
  options.signature = nullptr;
  options.struct_size = sizeOfVersion5;
  options.option_count = 77;
  EXPECT_EQ(lathe_compile_file(model.c_str(), package.c_str(), &options), LATHE_OK) << lathe_compiler_last_error();
  options.option_count = 0;
  options.signature = "beyond the structure";
  options.struct_size = sizeof options;
  options.requantize_rounding = LATHE_REQUANTIZE_OPTIMISED;
  EXPECT_EQ(lathe_compile_file(model.c_str(), package.c_str(), &options), LATHE_FAILED);
  EXPECT_THAT(lathe_compiler_last_error(), testing::HasSubstr("is no TFLite file"));
  options.requantize_rounding = LATHE_REQUANTIZE_REFERENCE;
  EXPECT_EQ(lathe_compile_file(model.c_str(), package.c_str(), &options), LATHE_FAILED);
  EXPECT_THAT(lathe_compiler_last_error(), testing::HasSubstr("textual IR has no signatures"));
  options.struct_size = sizeof options + 8;
  options.signature = nullptr;
  EXPECT_EQ(lathe_compile_file(model.c_str(), package.c_str(), &options), LATHE_INVALID_ARGUMENT);
}

/// Quantisations go from the model to the ports of its package.
TEST_F(CompilerCApi, quantisationOfPorts) {
  auto compileWith = [&](const std::string &how) {
    std::ofstream(model)
        << "func.func @main(%x: tensor<1x2xi8> {nn.name = \"x\"}) -> (tensor<1x2xi8> {nn.name = \"y\", "
           "nn.quantization = \""
        << how
        << "\"}) {\n  %0 = nn.max %x, %x : (tensor<1x2xi8>, tensor<1x2xi8>) -> tensor<1x2xi8>\n  return "
           "%0 : tensor<1x2xi8>\n}\n";
    return lathe_compile_file(model.c_str(), package.c_str(), nullptr);
  };
  ASSERT_EQ(compileWith("0.5 * (q - 3), 0.25 * (q - -7) along axis 1"), LATHE_OK) << lathe_compiler_last_error();
  lathe_model *loaded = nullptr;
  ASSERT_EQ(lathe_model_load(package.c_str(), nullptr, &loaded), LATHE_OK) << lathe_last_error();
  lathe_quantization how = {};
  how.struct_size = sizeof how;
  ASSERT_EQ(lathe_model_input_quantization(loaded, 0, &how), LATHE_OK);
  EXPECT_EQ(how.count, 0u);
  ASSERT_EQ(lathe_model_output_quantization(loaded, 0, &how), LATHE_OK);
  ASSERT_EQ(how.count, 2u);
  EXPECT_EQ(how.scales[1], 0.25f);
  EXPECT_EQ(how.zero_points[0], 3);
  EXPECT_EQ(how.zero_points[1], -7);
  EXPECT_EQ(how.axis, 1);
  EXPECT_EQ(lathe_model_output_quantization(loaded, 1, &how), LATHE_INVALID_ARGUMENT);
  lathe_model_free(loaded);
  for (const char *wrong : {"0.5", "0.5 * (q - 3), 0.25 * (q - 0) along axis 0"}) {
    EXPECT_EQ(compileWith(wrong), LATHE_FAILED) << wrong;
    EXPECT_THAT(lathe_compiler_last_error(), testing::HasSubstr("'y': nn.quantization"));
  }
}

/// A model of any batch, specialised on request; the package outlives its specializer.
TEST_F(CompilerCApi, packagesAreMadeOnFirstUse) {
  std::string open = (folder / "open.mlir").string();
  std::ofstream(open) << "func.func @main(%x: tensor<?x4xf32> {nn.name = \"x\", nn.dims = [\"N\", \"4\"]}) -> "
                         "(tensor<?x4xf32> {nn.name = \"y\"}) {\n  %0 = nn.relu %x : (tensor<?x4xf32>) -> "
                         "tensor<?x4xf32>\n  return %0 : tensor<?x4xf32>\n}\n";
  lathe_specializer *specializer = nullptr;
  ASSERT_EQ(lathe_specializer_create(open.c_str(), nullptr, 2, &specializer), LATHE_OK) << lathe_compiler_last_error();
  lathe_specialized *one = nullptr, *again = nullptr, *wrong = nullptr;
  ASSERT_EQ(lathe_specializer_package(specializer, "N=8", &one), LATHE_OK) << lathe_compiler_last_error();
  ASSERT_EQ(lathe_specializer_package(specializer, "N=8", &again), LATHE_OK);
  size_t bytes = 0;
  EXPECT_EQ(lathe_specialized_data(one, &bytes), lathe_specialized_data(again, nullptr));
  EXPECT_EQ(lathe_specializer_package(specializer, "M=8", &wrong), LATHE_FAILED);
  EXPECT_THAT(lathe_compiler_last_error(), testing::HasSubstr("unknown symbol"));
  EXPECT_EQ(lathe_specializer_package(specializer, "eight", &wrong), LATHE_FAILED);
  EXPECT_EQ(lathe_specializer_package(specializer, "N=8", nullptr), LATHE_INVALID_ARGUMENT);
  lathe_specialized_free(again);
  lathe_specializer_free(specializer);
  lathe_model *loaded = nullptr;
  ASSERT_EQ(lathe_model_load_memory(lathe_specialized_data(one, &bytes), bytes, nullptr, &loaded), LATHE_OK)
      << lathe_last_error();
  lathe_port port = {};
  port.struct_size = sizeof port;
  ASSERT_EQ(lathe_model_input(loaded, 0, &port), LATHE_OK);
  EXPECT_EQ(port.dims[0], 8);
  lathe_model_free(loaded);
  lathe_specialized_free(one);
  lathe_specialized_free(nullptr);
  lathe_specializer_free(nullptr);
}

} // namespace
