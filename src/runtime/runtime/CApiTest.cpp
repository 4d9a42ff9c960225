#include "lathe/runtime.h"
#include "runtime/Context.h"
#include "runtime/testing/TestPlan.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace lathe::runtime;
using namespace lathe::runtime::testing;

namespace {

class CApiTest : public ::testing::Test {
protected:
  std::vector<char> bytes;
  lathe_model *model = nullptr;
  lathe_context *context = nullptr;

  void SetUp() override {
    useTestReferences();
    TestPlan p;
    uint32_t x = p.input("x", {"N", "4"}), t = p.temporary("t", {"N", "4"});
    p.half(x, t, "N*4");
    p.add(t, x, p.output("out", {"N", "4"}), "N*4");
    bytes = p.bytes();
    ASSERT_EQ(lathe_model_load_memory(bytes.data(), bytes.size(), nullptr, &model), LATHE_OK) << lathe_last_error();
    ASSERT_EQ(lathe_context_create(model, nullptr, &context), LATHE_OK);
  }
  void TearDown() override {
    lathe_context_free(context);
    lathe_model_free(model);
  }
};

struct Matrix {
  int64_t dims[2];
  std::vector<float> values;
  lathe_tensor tensor;
  explicit Matrix(int64_t rows, float value = 0)
      : dims{rows, 4}, values(static_cast<size_t>(rows) * 4, value),
        tensor{sizeof(lathe_tensor), LATHE_F32, LATHE_HOST, 2, dims, values.data(), values.size() * 4} {}
};

/// Real numbers to integers of every width and back, by tensor and by channel.
TEST(CApiQuantization, numbersBothWays) {
  const float scales[] = {0.5f, 2};
  const int64_t zeros[] = {3, -1}, dims[] = {2, 2};
  lathe_quantization how = {sizeof how, 2, scales, zeros, 1};
  float real[] = {0.25f, -3, 1e9f, NAN}, back[4] = {};
  int16_t integers[4] = {};
  lathe_tensor from = {sizeof from, LATHE_F32, LATHE_HOST, 2, dims, real, sizeof real},
               to = {sizeof to, LATHE_I16, LATHE_HOST, 2, dims, integers, sizeof integers},
               again = {sizeof again, LATHE_F32, LATHE_HOST, 2, dims, back, sizeof back};
  ASSERT_EQ(lathe_quantize(&how, &from, &to), LATHE_OK) << lathe_last_error();
  EXPECT_EQ((std::vector<int16_t>(integers, integers + 4)), (std::vector<int16_t>{4, -3, 32767, -1}));
  ASSERT_EQ(lathe_dequantize(&how, &to, &again), LATHE_OK) << lathe_last_error();
  EXPECT_EQ((std::vector<float>(back, back + 4)), (std::vector<float>{0.5f, -4, 16382, 0}));
  how.count = 1;
  uint8_t bytes[4] = {};
  to = {sizeof to, LATHE_U8, LATHE_HOST, 2, dims, bytes, sizeof bytes};
  ASSERT_EQ(lathe_quantize(&how, &from, &to), LATHE_OK) << lathe_last_error();
  EXPECT_EQ((std::vector<uint8_t>(bytes, bytes + 4)), (std::vector<uint8_t>{4, 0, 255, 3}));
  how.count = 2;
  how.axis = 2;
  EXPECT_EQ(lathe_quantize(&how, &from, &to), LATHE_FAILED);
  EXPECT_STREQ(lathe_last_error(), "the tensor is 2x2, expected 2 channels along axis 2");
  how.count = 0;
  EXPECT_EQ(lathe_quantize(&how, &from, &to), LATHE_INVALID_ARGUMENT);
  how = {sizeof how, 1, scales, zeros, 0};
  EXPECT_EQ(lathe_quantize(&how, &to, &to), LATHE_FAILED);
  EXPECT_STREQ(lathe_last_error(), "the real numbers are u8, expected f32");
}

/// Another thread ends a long loop; a run after it gives right outputs.
TEST(CApiCancel, endsARun) {
  useTestReferences();
  std::vector<char> bytes = counting().bytes();
  lathe_model *model = nullptr;
  lathe_context *context = nullptr;
  ASSERT_EQ(lathe_model_load_memory(bytes.data(), bytes.size(), nullptr, &model), LATHE_OK) << lathe_last_error();
  ASSERT_EQ(lathe_context_create(model, nullptr, &context), LATHE_OK);
  int64_t trips = INT64_MAX, two = 2;
  float x[] = {0, 1};
  lathe_tensor count{sizeof count, LATHE_I64, LATHE_HOST, 0, nullptr, &trips, 8},
      numbers{sizeof numbers, LATHE_F32, LATHE_HOST, 1, &two, x, sizeof x}, out{};
  out.struct_size = sizeof out;
  ASSERT_EQ(lathe_context_set_input(context, 0, &count), LATHE_OK) << lathe_last_error();
  ASSERT_EQ(lathe_context_set_input(context, 1, &numbers), LATHE_OK) << lathe_last_error();
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    lathe_context_cancel(context);
  });
  EXPECT_EQ(lathe_context_run(context), LATHE_CANCELLED);
  EXPECT_STREQ(lathe_last_error(), "package in memory: the run was cancelled");
  other.join();
  EXPECT_EQ(lathe_context_output(context, 0, &out), LATHE_FAILED);
  trips = 6;
  EXPECT_EQ(lathe_context_run(context), LATHE_OK) << lathe_last_error();
  EXPECT_EQ(lathe_context_output(context, 0, &out), LATHE_OK) << lathe_last_error();
  EXPECT_EQ(static_cast<const float *>(out.data)[1], 3.5f);
  // A request before a run ends that run alone.
  lathe_context_cancel(context);
  EXPECT_EQ(lathe_context_run_profiled(context), LATHE_CANCELLED);
  EXPECT_EQ(lathe_context_profile_rows(context, nullptr), 0u);
  EXPECT_EQ(lathe_context_run(context), LATHE_OK);
  lathe_context_cancel(context);
  lathe_context_reset_cancel(context);
  EXPECT_EQ(lathe_context_run(context), LATHE_OK);
  // A function may decide.
  int answer = 0;
  auto check = [](void *data) { return *static_cast<int *>(data); };
  ASSERT_EQ(lathe_context_set_cancel_check(context, check, &answer), LATHE_OK);
  lathe_context_cancel(context);
  EXPECT_EQ(lathe_context_run(context), LATHE_OK);
  answer = 1;
  lathe_context_cancel(context);
  EXPECT_EQ(lathe_context_run(context), LATHE_CANCELLED);
  EXPECT_EQ(lathe_context_set_cancel_check(nullptr, check, &answer), LATHE_INVALID_ARGUMENT);
  lathe_context_cancel(nullptr);
  lathe_context_reset_cancel(nullptr);
  lathe_context_free(context);
  lathe_model_free(model);
}

/// state' = state / 2 + x, through the C interface.
TEST(CApiStates, passOutputsOn) {
  useTestReferences();
  TestPlan p;
  uint32_t x = p.input("x", {"N", "4"}), state = p.input("state", {"N", "4"}), half = p.temporary("half", {"N", "4"});
  uint32_t next = p.output("next", {"N", "4"});
  p.plan().outputs = {next};
  p.half(state, half, "N*4");
  p.add(half, x, next, "N*4");
  std::vector<char> bytes = p.bytes();
  lathe_model *model = nullptr;
  lathe_context *context = nullptr;
  ASSERT_EQ(lathe_model_load_memory(bytes.data(), bytes.size(), nullptr, &model), LATHE_OK) << lathe_last_error();
  ASSERT_EQ(lathe_context_create(model, nullptr, &context), LATHE_OK);
  EXPECT_EQ(lathe_context_keep_state(context, 2, 0, 0), LATHE_INVALID_ARGUMENT);
  EXPECT_EQ(lathe_context_keep_state_by_name(context, "state", "absent", 0), LATHE_INVALID_ARGUMENT);
  EXPECT_EQ(lathe_context_keep_state_by_name(context, "state", "next", 16), LATHE_FAILED);
  EXPECT_NE(std::string(lathe_last_error()).find("does not let it grow in place"), std::string::npos);
  ASSERT_EQ(lathe_context_keep_state_by_name(context, "state", "next", 0), LATHE_OK) << lathe_last_error();
  int64_t dims[2] = {2, 4};
  std::vector<float> ones(8, 1);
  lathe_tensor tensor{sizeof(lathe_tensor), LATHE_F32, LATHE_HOST, 2, dims, ones.data(), ones.size() * 4};
  ASSERT_EQ(lathe_context_set_input(context, 0, &tensor), LATHE_OK);
  auto run = [&] {
    lathe_tensor out{};
    out.struct_size = sizeof out;
    EXPECT_EQ(lathe_context_run(context), LATHE_OK) << lathe_last_error();
    EXPECT_EQ(lathe_context_output(context, 0, &out), LATHE_OK) << lathe_last_error();
    return static_cast<const float *>(out.data)[7];
  };
  for (float expected : {1.f, 1.5f, 1.75f})
    EXPECT_EQ(run(), expected);
  ASSERT_EQ(lathe_context_reset_states(context), LATHE_OK);
  EXPECT_EQ(run(), 1.f);
  lathe_memory_use use{};
  use.struct_size = sizeof use;
  ASSERT_EQ(lathe_context_memory(context, &use), LATHE_OK);
  EXPECT_EQ(use.state_bytes, 32u);
  use.struct_size = offsetof(lathe_memory_use, state_bytes); // of a program built against version 2
  EXPECT_EQ(lathe_context_memory(context, &use), LATHE_OK);
  lathe_context_free(context);
  lathe_model_free(model);
}

TEST_F(CApiTest, describesTheModel) {
  EXPECT_EQ(lathe_runtime_api_version(), uint32_t(LATHE_RUNTIME_API_VERSION));
  EXPECT_EQ(lathe_element_bits(LATHE_F16), 16u);
  EXPECT_EQ(lathe_element_bits(77), 0u);
  EXPECT_EQ(lathe_model_input_count(model), 1u);
  EXPECT_EQ(lathe_model_output_count(model), 1u);
  lathe_port port{};
  port.struct_size = sizeof port;
  ASSERT_EQ(lathe_model_input(model, 0, &port), LATHE_OK);
  EXPECT_STREQ(port.name, "x");
  EXPECT_EQ(port.element_type, LATHE_F32);
  EXPECT_EQ(port.rank, 2u);
  EXPECT_EQ(port.dims[0], -1);
  EXPECT_EQ(port.dims[1], 4);
  EXPECT_STREQ(port.dim_texts[0], "N");
  size_t index = 9;
  EXPECT_EQ(lathe_model_find_output(model, "out", &index), LATHE_OK);
  EXPECT_EQ(index, 0u);
  EXPECT_EQ(lathe_model_find_output(model, "nothing", &index), LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(lathe_last_error(), "package in memory: no output is called 'nothing'");
  lathe_model_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(lathe_model_get_info(model, &info), LATHE_OK);
  EXPECT_STREQ(info.source, "test.onnx");
  EXPECT_GT(info.code_bytes, 0u);
}

TEST_F(CApiTest, runsInTheCallersBuffers) {
  Matrix x(3, 2), out(3);
  ASSERT_EQ(lathe_context_set_input_by_name(context, "x", &x.tensor), LATHE_OK);
  int64_t dims[2];
  size_t rank = 0;
  ASSERT_EQ(lathe_context_output_dims(context, 0, dims, 2, &rank), LATHE_OK);
  EXPECT_EQ(rank, 2u);
  EXPECT_EQ(dims[0], 3);
  ASSERT_EQ(lathe_context_set_output(context, 0, &out.tensor), LATHE_OK);
  ASSERT_EQ(lathe_context_run(context), LATHE_OK) << lathe_last_error();
  EXPECT_EQ(out.values, std::vector<float>(12, 3.0f));
  ASSERT_EQ(lathe_context_set_output_by_name(context, "out", nullptr), LATHE_OK);
  x.values.assign(12, 4);
  ASSERT_EQ(lathe_context_run(context), LATHE_OK);
  EXPECT_EQ(out.values[0], 3.0f); // no longer bound
  lathe_tensor result{};
  result.struct_size = sizeof result;
  ASSERT_EQ(lathe_context_output(context, 0, &result), LATHE_OK);
  EXPECT_EQ(result.rank, 2u);
  EXPECT_EQ(result.dims[0], 3);
  EXPECT_EQ(result.bytes, 48u);
  EXPECT_EQ(static_cast<float *>(result.data)[11], 6.0f);
  lathe_memory_use use{};
  use.struct_size = sizeof use;
  ASSERT_EQ(lathe_context_memory(context, &use), LATHE_OK);
  EXPECT_EQ(use.output_bytes, 48u);
}

TEST_F(CApiTest, profilesAddUp) {
  Matrix x(3, 2);
  EXPECT_EQ(lathe_context_profile_rows(context, nullptr), 0u);
  ASSERT_EQ(lathe_context_set_input(context, 0, &x.tensor), LATHE_OK);
  ASSERT_EQ(lathe_context_run_profiled(context), LATHE_OK);
  uint64_t total = 0, sum = 0;
  ASSERT_EQ(lathe_context_profile_rows(context, &total), 3u);
  const char *names[] = {"half", "add", ""};
  for (size_t i = 0; i < 3; ++i) {
    lathe_profile_row row{};
    row.struct_size = sizeof row;
    ASSERT_EQ(lathe_context_profile_row(context, i, &row), LATHE_OK);
    EXPECT_STREQ(row.name, names[i]);
    sum += row.nanoseconds;
  }
  EXPECT_EQ(sum, total);
}

TEST_F(CApiTest, misuseIsAStatusNeverACrash) {
  Matrix x(3);
  lathe_tensor bad = x.tensor;
  EXPECT_EQ(lathe_context_run(context), LATHE_FAILED);
  EXPECT_STREQ(lathe_last_error(), "package in memory: input 'x' is not set");
  EXPECT_EQ(lathe_context_run(nullptr), LATHE_INVALID_ARGUMENT);
  EXPECT_EQ(lathe_context_set_input(context, 1, &x.tensor), LATHE_INVALID_ARGUMENT);
  EXPECT_EQ(lathe_context_set_input(context, 0, nullptr), LATHE_INVALID_ARGUMENT);
  bad.struct_size = 8;
  EXPECT_EQ(lathe_context_set_input(context, 0, &bad), LATHE_INVALID_ARGUMENT);
  bad = x.tensor;
  bad.memory_space = 1;
  EXPECT_EQ(lathe_context_set_input(context, 0, &bad), LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(lathe_last_error(), "tensor: memory space 1, expected 0 (host)");
  bad = x.tensor;
  bad.bytes = 47;
  EXPECT_EQ(lathe_context_set_input(context, 0, &bad), LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(lathe_last_error(), "tensor: 47 bytes given, f32 3x4 needs 48");
  bad = x.tensor;
  bad.element_type = LATHE_F64;
  bad.bytes *= 2;
  EXPECT_EQ(lathe_context_set_input(context, 0, &bad), LATHE_FAILED);
  EXPECT_STREQ(lathe_last_error(), "package in memory: input 'x': expected f32 Nx4, got f64 3x4");
  bad = x.tensor;
  bad.data = nullptr;
  EXPECT_EQ(lathe_context_set_input(context, 0, &bad), LATHE_INVALID_ARGUMENT);
  int64_t negative[] = {-3, 4}, huge[] = {int64_t(1) << 40, int64_t(1) << 40};
  bad = x.tensor;
  bad.dims = negative;
  EXPECT_EQ(lathe_context_set_input(context, 0, &bad), LATHE_INVALID_ARGUMENT);
  bad.dims = huge;
  EXPECT_EQ(lathe_context_set_input(context, 0, &bad), LATHE_INVALID_ARGUMENT);
  lathe_tensor out{};
  EXPECT_EQ(lathe_context_output(context, 0, &out), LATHE_FAILED);
  lathe_model *none = model;
  EXPECT_EQ(lathe_model_load("/nowhere.lathe", nullptr, &none), LATHE_FAILED);
  EXPECT_EQ(none, nullptr);
  lathe_context_options options{sizeof options, -1, 0, nullptr, 0, 0};
  lathe_context *other = nullptr;
  EXPECT_EQ(lathe_context_create(model, &options, &other), LATHE_INVALID_ARGUMENT);
  lathe_model_free(nullptr);
  lathe_context_free(nullptr);
}

TEST_F(CApiTest, contextsShareAPool) {
  lathe_pool_options few{sizeof few, 3, 0, nullptr};
  lathe_pool *pool = nullptr;
  ASSERT_EQ(lathe_pool_create(&few, &pool), LATHE_OK);
  lathe_context_options options{sizeof options, 2, 0, pool, 2, 0};
  lathe_context *none = nullptr;
  EXPECT_EQ(lathe_context_create(model, &options, &none), LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(lathe_last_error(), "options: 2 threads from slot 2 on, expected slots of the pool, which has 3");
  std::vector<lathe_context *> contexts;
  for (int32_t first : {0, 1, 1}) {
    options.first_slot = first;
    ASSERT_EQ(lathe_context_create(model, &options, &contexts.emplace_back()), LATHE_OK) << lathe_last_error();
  }
  options.struct_size = offsetof(lathe_context_options, pool); // of a program that knows no pools
  ASSERT_EQ(lathe_context_create(model, &options, &contexts.emplace_back()), LATHE_OK);
  lathe_pool_free(pool); // contexts keep its threads
  auto run = [&](lathe_context *own, float first) {
    float in[4] = {first, first + 1, first + 2, first + 3};
    int64_t dims[] = {1, 4};
    lathe_tensor tensor{sizeof tensor, LATHE_F32, 0, 2, dims, in, sizeof in}, out{};
    out.struct_size = sizeof out;
    for (int repeat = 0; repeat < 200; ++repeat) {
      ASSERT_EQ(lathe_context_set_input(own, 0, &tensor), LATHE_OK);
      ASSERT_EQ(lathe_context_run(own), LATHE_OK);
      ASSERT_EQ(lathe_context_output(own, 0, &out), LATHE_OK);
      for (int i = 0; i < 4; ++i)
        ASSERT_EQ(static_cast<const float *>(out.data)[i], in[i] * 1.5f);
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < contexts.size(); ++i)
    threads.emplace_back(run, contexts[i], float(100 * i));
  for (std::thread &thread : threads)
    thread.join();
  for (lathe_context *own : contexts)
    lathe_context_free(own);
  int32_t cpus[] = {0, 1 << 20};
  lathe_pool_options wrong{sizeof wrong, 2, 0, cpus};
  EXPECT_EQ(lathe_pool_create(&wrong, &pool), LATHE_FAILED);
  EXPECT_STREQ(lathe_last_error(), "a thread cannot be bound to CPU 1048576: the process may not use it");
  EXPECT_EQ(pool, nullptr);
}

TEST_F(CApiTest, aForkedChildIsToldThatThreadsAreMissing) {
  TestPlan p;
  uint32_t x = p.input("x", {"4"});
  p.half(x, p.output("out", {"4"}), "4");
  auto shared = p.model("m.lathe");
  auto own = std::make_unique<Context>(shared, ContextOptions{.threads = 2});
  own->setInput(0, lathe::Tensor::of<float>({4}, {1, 2, 3, 4}));
  own->run();
  pid_t child = ::fork();
  if (child == 0) {
    int result = 1;
    try {
      own->run();
    } catch (const lathe::Error &error) {
      result = std::string(error.what()).find("after fork()") == std::string::npos ? 2 : 0;
    }
    own.reset(); // does not wait for threads that are not there
    Context fresh(shared, {.threads = 2});
    fresh.setInput(0, lathe::Tensor::of<float>({4}, {1, 2, 3, 4}));
    fresh.run();
    ::_exit(result);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  own->run();
}

TEST_F(CApiTest, damagedConstantsAreFoundUnlessTheCheckIsSkipped) {
  TestPlan p;
  uint32_t x = p.input("x", {"4"});
  p.add(x, p.constant<float>("c", {"4"}, {1, 1234.5, 3, 4}), p.output("out", {"4"}), "4");
  std::vector<char> damaged = p.bytes();
  float weight = 1234.5; // not to be found in the plan
  auto found = std::search(damaged.begin(), damaged.end(), reinterpret_cast<char *>(&weight),
                           reinterpret_cast<char *>(&weight) + sizeof weight);
  ASSERT_NE(found, damaged.end());
  *found ^= 1;
  auto load = [&](const lathe_load_options *options) {
    lathe_model *loaded = nullptr;
    lathe_status status = lathe_model_load_memory(damaged.data(), damaged.size(), options, &loaded);
    lathe_model_free(loaded);
    return status;
  };
  EXPECT_EQ(load(nullptr), LATHE_FAILED);
  EXPECT_NE(std::string(lathe_last_error()).find("altered"), std::string::npos) << lathe_last_error();
  lathe_load_options options{sizeof options, 0, 0};
  EXPECT_EQ(load(&options), LATHE_FAILED);
  options.flags = LATHE_LOAD_SKIP_CONSTANTS;
  EXPECT_EQ(load(&options), LATHE_OK);
  options.flags = LATHE_LOAD_SKIP_CONSTANTS | LATHE_LOAD_CHECK_CONSTANTS;
  EXPECT_EQ(load(&options), LATHE_INVALID_ARGUMENT);
}

TEST_F(CApiTest, newerAndOlderStructuresWork) {
  struct { // a caller of a later version
    lathe_port port;
    uint64_t later;
  } newer{};
  newer.port.struct_size = sizeof newer;
  newer.later = 77;
  ASSERT_EQ(lathe_model_input(model, 0, &newer.port), LATHE_OK);
  EXPECT_EQ(newer.port.struct_size, sizeof newer);
  EXPECT_EQ(newer.later, 77u);
}

TEST_F(CApiTest, errorsBelongToTheirThread) {
  lathe_context_run(nullptr);
  std::string mine = lathe_last_error();
  std::thread([&] {
    EXPECT_STREQ(lathe_last_error(), "");
    lathe_model_input(model, 5, nullptr);
  }).join();
  EXPECT_EQ(lathe_last_error(), mine);
}

TEST_F(CApiTest, contextsOutliveTheModelHandle) {
  lathe_model_free(model);
  model = nullptr;
  Matrix x(2, 2);
  ASSERT_EQ(lathe_context_set_input(context, 0, &x.tensor), LATHE_OK);
  EXPECT_EQ(lathe_context_run(context), LATHE_OK);
}

} // namespace
