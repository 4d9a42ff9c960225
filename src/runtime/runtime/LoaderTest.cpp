#include "package/Hash.h"
#include "package/Package.h"
#include "runtime/Context.h"
#include "runtime/Cpu.h"
#include "runtime/testing/TestPlan.h"
#include "support/ErrorTesting.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>
#include <unistd.h>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;
using package::CpuFeature;
using package::featureBit;
using package::Header;
using package::Section;
using package::SectionKind;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

unsigned testSeed() {
  if (const char *given = std::getenv("LATHE_TEST_SEED"))
    return static_cast<unsigned>(std::stoul(given));
  return std::random_device()();
}

/// A plan with every kind of value and instruction.
TestPlan everything() {
  TestPlan p;
  uint32_t x = p.input("x", {"N", "8"}), flag = p.input("flag", {}, ElementType::boolean);
  uint32_t c = p.constant<float>("c", {"N", "8"}, std::vector<float>(64, 2.0f));
  p.plan().values[c]->dims = {"8", "8"};
  uint32_t t = p.temporary("t", {"N", "8"}), flat = p.alias("flat", {"N*8"}, t);
  uint32_t kept = p.dynamic("kept", {"?0"}), late = p.temporary("late", {"?0"});
  uint32_t out = p.output("out", {"N", "8"}), sum = p.output("sum", {"?0"});
  uint32_t trips = p.constant<int64_t>("trips", {}, {2});
  uint32_t i = p.temporary("i", {}, ElementType::i64), go = p.temporary("go", {}, ElementType::boolean);
  uint32_t carried = p.temporary("carried", {"N", "8"}), doubled = p.temporary("doubled", {"N", "8"});
  uint32_t result = p.temporary("result", {"N", "8"});
  p.add(x, c, t, "min(N*8, 64)");
  p.reference("nonnegative", {int32_t(flat)}, {kept});
  p.half(kept, late, "?0");
  p.add(kept, late, sum, "?0");
  plan::LoopT loop;
  loop.trip_count = int32_t(trips);
  loop.body = 3;
  loop.body_inputs = {i, go, carried};
  loop.body_outputs = {go, doubled};
  loop.initial = {t};
  loop.results = {result};
  p.instruction(loop);
  plan::IfT branch;
  branch.condition = flag;
  branch.then_block = 1;
  branch.else_block = 2;
  p.instruction(branch);
  p.add(t, result, out, "N*8", 1);
  p.half(result, out, "N*8", 2);
  p.add(carried, carried, doubled, "N*8", 3);
  auto range = std::make_unique<plan::RangeT>();
  range->symbol = "N";
  range->max = 8;
  p.plan().ranges.push_back(std::move(range));
  return p;
}

void runEverything(const std::shared_ptr<const Model> &model) {
  Context context(model, {.threads = 2});
  Tensor x(ElementType::f32, {2, 8});
  std::fill_n(x.as<float>(), 16, 1.0f);
  context.setInput(0, x);
  context.setInput(1, Tensor::of<bool>({}, {true}));
  context.run();
  EXPECT_EQ(context.output(0).tensor().as<float>()[15], 3.0f + 12.0f);
  EXPECT_EQ(context.output(1).tensor().as<float>()[15], 4.5f);
}

class LoaderTest : public ::testing::Test {
protected:
  std::string path =
      (std::filesystem::temp_directory_path() / ("lathe-loader-" + std::to_string(::getpid()) + ".lathe"));
  void SetUp() override { useTestReferences(); }
  void TearDown() override { std::filesystem::remove(path); }
  void write(const std::vector<char> &bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::string loadError(const std::vector<char> &bytes, const LoadOptions &options = {}) {
    return errorOf([&] { Model::fromBytes(bytes, "m.lathe", {}, options); });
  }
};

std::vector<Section> sections(const std::vector<char> &bytes) {
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::vector<Section> result(header.sectionCount);
  std::memcpy(result.data(), bytes.data() + sizeof header, result.size() * sizeof(Section));
  return result;
}

/// Gives altered bytes a correct hash, so that later checks are reached.
void rehash(std::vector<char> &bytes) {
  std::vector<Section> table = sections(bytes);
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  package::Hasher hasher;
  package::hashTables(hasher, header, table);
  for (SectionKind kind : {SectionKind::plan, SectionKind::code})
    for (const Section &section : table)
      if (section.kind == kind)
        hasher.update(bytes.data() + section.offset, section.bytes);
  uint64_t hash = hasher.digest();
  std::memcpy(bytes.data() + offsetof(Header, hash), &hash, sizeof hash);
}

TEST_F(LoaderTest, fromFileAndFromMemory) {
  std::vector<char> bytes = everything().bytes();
  write(bytes);
  runEverything(Model::load(path));
  runEverything(Model::load(path, {.checkConstants = true}));
  runEverything(Model::fromBytes(bytes, "m.lathe")); // copied
  auto aligned =
      std::shared_ptr<char>(static_cast<char *>(std::aligned_alloc(64, (bytes.size() + 63) / 64 * 64)), std::free);
  std::memcpy(aligned.get(), bytes.data(), bytes.size());
  auto model = Model::fromBytes({aligned.get(), bytes.size()}, "m.lathe", aligned);
  EXPECT_EQ(model->constants(), aligned.get() + sections(bytes)[1].offset); // in place
  std::weak_ptr<char> watch = aligned;
  aligned.reset();
  EXPECT_FALSE(watch.expired());
  runEverything(model);
  model.reset();
  EXPECT_TRUE(watch.expired());
}

TEST_F(LoaderTest, namesWhatItIs) {
  TestPlan p = everything();
  p.program.options = "-O3";
  auto model = Model::fromBytes(p.bytes(0, "x86_64 znver5"), "m.lathe");
  EXPECT_EQ(model->target(), "x86_64 znver5");
  EXPECT_EQ(model->producer(), "test");
  EXPECT_EQ(model->source(), "test.onnx");
  EXPECT_EQ(model->options(), "-O3");
  EXPECT_EQ(model->inputs()[0].name, "x");
  EXPECT_EQ(str(model->inputs()[0].dims), "Nx8");
  EXPECT_EQ(model->findOutput("sum"), 1u);
  EXPECT_EQ(model->findInput("nothing"), std::nullopt);
}

TEST_F(LoaderTest, constantsAreReadOnlyPages) {
  write(everything().bytes());
  auto model = Model::load(path);
  EXPECT_DEATH(*const_cast<volatile char *>(model->constants()) = 1, "");
}

TEST_F(LoaderTest, codeIsNeverWritable) {
  auto model = Model::fromBytes(everything().bytes(), "m.lathe");
  auto *code = reinterpret_cast<volatile char *>(reinterpret_cast<uintptr_t>(model->kernel(0)));
  EXPECT_DEATH(*code = 1, "");
  // No page of the process is both.
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    EXPECT_THAT(line, ::testing::Not(HasSubstr("rwx"))) << line;
}

TEST_F(LoaderTest, checksTheCpuFirst) {
  uint64_t bits = featureBit(CpuFeature::avx2) | featureBit(CpuFeature::avx512bf16);
  std::vector<char> bytes = everything().bytes(bits, "x86_64 znver5");
  LoadOptions older{.cpuFeatures = featureBit(CpuFeature::avx2)};
  EXPECT_EQ(loadError(bytes, older), "m.lathe: compiled for x86_64 znver5 and needs avx512bf16, which this CPU lacks");
  EXPECT_EQ(loadError(bytes, {.cpuFeatures = bits}), "no error");
  EXPECT_EQ(loadError(everything().bytes(uint64_t(1) << 63, "future"), {.cpuFeatures = bits}),
            "m.lathe: compiled for future and needs features unknown to this runtime, which this CPU lacks");
#ifdef __x86_64__
  EXPECT_TRUE(cpuFeatures() & featureBit(CpuFeature::x86_64));
  EXPECT_EQ(bool(cpuFeatures() & featureBit(CpuFeature::avx2)), bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(bool(cpuFeatures() & featureBit(CpuFeature::avx512f)), bool(__builtin_cpu_supports("avx512f")));
  EXPECT_EQ(bool(cpuFeatures() & featureBit(CpuFeature::avx512bf16)), bool(__builtin_cpu_supports("avx512bf16")));
  EXPECT_EQ(bool(cpuFeatures() & featureBit(CpuFeature::avx512vnni)), bool(__builtin_cpu_supports("avx512vnni")));
#endif
}

TEST_F(LoaderTest, choosesTheBestCodeSection) {
  TestPlan p = everything();
  std::vector<package::CodeSection> code(3, testCode());
  code[0].features = featureBit(CpuFeature::avx2) | featureBit(CpuFeature::avx512f);
  code[0].target = "best";
  code[1].features = featureBit(CpuFeature::avx2);
  code[1].target = "good";
  code[2].target = "plain";
  std::vector<char> bytes = package::packageBytes(p.program, p.constants, code);
  auto target = [&](uint64_t have) { return Model::fromBytes(bytes, "m.lathe", {}, {.cpuFeatures = have})->target(); };
  EXPECT_EQ(target(code[0].features), "best");
  EXPECT_EQ(target(code[1].features), "good");
  EXPECT_EQ(target(0), "plain");
}

TEST_F(LoaderTest, namesWhatIsWrongWithAFile) {
  EXPECT_EQ(errorOf([] { Model::load("/nowhere.lathe"); }), "/nowhere.lathe: cannot open: No such file or directory");
  EXPECT_EQ(errorOf([] { Model::load("/tmp"); }), "/tmp: expected a package, got a directory");
  EXPECT_EQ(errorOf([] { Model::load("/dev/null"); }), "/dev/null: expected a package, got no regular file");
  EXPECT_EQ(loadError({}), "m.lathe: expected a package (model.lathe), got another kind of file");
  EXPECT_EQ(loadError(std::vector<char>(1000, 'x')),
            "m.lathe: expected a package (model.lathe), got another kind of file");
  std::vector<char> good = everything().bytes();
  std::vector<char> bytes(good.begin(), good.begin() + 32);
  EXPECT_EQ(loadError(bytes), "m.lathe: truncated: 32 bytes, expected at least 64");
  bytes.assign(good.begin(), good.end() - 1);
  EXPECT_THAT(loadError(bytes), StartsWith("m.lathe: truncated: "));
  bytes = good;
  bytes.push_back(0);
  EXPECT_THAT(loadError(bytes), StartsWith("m.lathe: altered: "));
  bytes = good;
  bytes[offsetof(Header, formatVersion)] = 99;
  EXPECT_EQ(loadError(bytes), fmt::format("m.lathe: package format 99, expected {} to {}: compile the model again",
                                          package::oldestFormat, package::formatVersion));
  bytes[offsetof(Header, formatVersion)] = 7;
  EXPECT_THAT(loadError(bytes), StartsWith("m.lathe: package format 7, expected 8 to "));
  bytes = good;
  bytes[offsetof(Header, kernelAbi)] = 9;
  EXPECT_EQ(loadError(bytes), "m.lathe: kernel ABI 9, expected 2: compile the model again");
  bytes = good;
  bytes.back() ^= 1; // code
  EXPECT_THAT(loadError(bytes), StartsWith("m.lathe: altered: the hash of header, plan and code is "));
  bytes = good;
  bytes[sections(good)[1].offset] ^= 1; // constants: unless they are trusted
  EXPECT_EQ(loadError(bytes, {.checkConstants = false}), "no error");
  EXPECT_THAT(loadError(bytes), StartsWith("m.lathe: altered: the hash of the constants is "));
  bytes = good;
  bytes[sections(good)[1].offset - 1] = 1;
  EXPECT_EQ(loadError(bytes), fmt::format("m.lathe: altered: byte {} lies between sections and is not zero",
                                          sections(good)[1].offset - 1));
}

TEST_F(LoaderTest, everyAlteredByteIsFound) {
  const std::vector<char> good = everything().bytes();
  std::vector<Section> table = sections(good);
  size_t tableEnd = sizeof(Header) + table.size() * sizeof(Section);
  std::vector<char> bytes = good;
  for (size_t at = 0; at < good.size(); ++at) {
    bytes[at] ^= static_cast<char>(1 << at % 8);
    EXPECT_NE(loadError(bytes), "no error") << "byte " << at << " of " << good.size();
    bytes[at] = good[at];
  }
  for (size_t length = 0; length < good.size(); length += length < tableEnd ? 1 : 97)
    EXPECT_NE(loadError({good.begin(), good.begin() + static_cast<ptrdiff_t>(length)}), "no error") << length;
}

/// In memory, for one test.
class Remembered : public CheckedFiles {
public:
  bool has(const FileIdentity &file, uint64_t content) override {
    ++asked;
    return std::find(known.begin(), known.end(), std::pair(file, content)) != known.end();
  }
  void add(const FileIdentity &file, uint64_t content) override { known.emplace_back(file, content); }
  std::vector<std::pair<FileIdentity, uint64_t>> known;
  int asked = 0;
};

TEST_F(LoaderTest, aFileIsCheckedUntilItIsRemembered) {
  std::vector<char> bytes = everything().bytes();
  Remembered files;
  LoadOptions options{.checkedFiles = &files};
  write(bytes);
  Model::load(path, options);
  EXPECT_EQ(files.asked, 1);
  EXPECT_TRUE(files.known.empty()) << "a file this young could still change without a sign";
  std::this_thread::sleep_for(std::chrono::milliseconds(2200));
  auto intact = Model::load(path, options);
  ASSERT_EQ(files.known.size(), 1u);
  EXPECT_EQ(files.known[0].second, intact->contentHash());
  EXPECT_EQ(files.known[0].first.bytes, bytes.size());
  Model::load(path, options);
  EXPECT_EQ(files.known.size(), 1u);

  // Changed in place, with the old time of its last modification: the time of the change tells.
  auto modified = std::filesystem::last_write_time(path);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(sections(bytes)[1].offset)).put('\x7f');
  file.close();
  std::filesystem::last_write_time(path, modified);
  EXPECT_THAT(errorOf([&] { Model::load(path, options); }), HasSubstr("altered: the hash of the constants is "));
  EXPECT_EQ(files.known.size(), 1u);
}

TEST_F(LoaderTest, theContentHashIsOfCheckedContent) {
  std::vector<char> bytes = everything().bytes();
  auto content = Model::fromBytes(bytes, "m.lathe")->contentHash();
  EXPECT_TRUE(content.has_value());
  EXPECT_EQ(Model::fromBytes(bytes, "m.lathe", {}, {.checkConstants = false})->contentHash(), std::nullopt);
  TestPlan other = everything();
  other.constant<float>("more", {"1"}, {7.0f});
  EXPECT_NE(Model::fromBytes(other.bytes(), "m.lathe")->contentHash(), content);
  EXPECT_EQ(errorOf([&] { Model::load("/nowhere.lathe", {.name = "net.onnx"}); }),
            "net.onnx: cannot open: No such file or directory");
}

/// Section tables and plans that are nonsense although their hash fits: an Error or a model, never a crash. Models that
/// load are bound but not run: their code is as wrong as their plan.
TEST_F(LoaderTest, survivesNonsenseBehindAFittingHash) {
  const std::vector<char> good = everything().bytes();
  std::vector<Section> table = sections(good);
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int loaded = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<char> bytes = good;
    bool inTable = round % 4 == 0;
    size_t begin = inTable ? sizeof(Header) : table[0].offset;
    size_t length = inTable ? table.size() * sizeof(Section) : table[0].bytes;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      char &byte = bytes[begin + random() % length];
      byte = static_cast<char>(random() % 2 ? random() : byte + static_cast<int>(random() % 5) - 2);
    }
    bool readable = true;
    for (const Section &section : sections(bytes))
      readable &= section.offset <= bytes.size() && section.bytes <= bytes.size() - section.offset;
    if (readable)
      rehash(bytes);
    try {
      auto model = Model::fromBytes(bytes, "m.lathe");
      ++loaded;
      Context context(model);
      for (size_t i = 0; i < model->inputs().size(); ++i) {
        std::vector<int64_t> dims;
        for (const Dim &dim : model->inputs()[i].dims)
          dims.push_back(dim.constantOr(4));
        int64_t elements = 1;
        for (int64_t dim : dims)
          elements = dim < 0 || dim > 1000 ? 1 << 30 : elements * dim;
        if (model->inputs()[i].tensor() && bitWidth(model->inputs()[i].type) > 0 && elements < 1 << 20)
          context.setInput(i, Tensor(model->inputs()[i].type, dims));
      }
      for (size_t i = 0; i < model->outputs().size(); ++i)
        context.outputDims(i);
    } catch (const Error &error) {
      EXPECT_THAT(error.what(), StartsWith("m.lathe: "));
    } catch (const std::bad_alloc &) {
      ADD_FAILURE() << "bad_alloc in round " << round;
    }
  }
  EXPECT_GT(loaded, 100); // the test reaches the code after the checks
}

TEST_F(LoaderTest, malformedPlansAreNamed) {
  auto error = [&](const std::function<void(TestPlan &)> &change) {
    TestPlan p = everything();
    change(p);
    return loadError(p.bytes());
  };
  auto call = [](TestPlan &p) -> plan::CallKernelT & {
    return *p.plan().blocks[0]->instructions[0]->operation.AsCallKernel();
  };
  EXPECT_EQ(error([&](TestPlan &p) { call(p).kernel = 7; }), "m.lathe: malformed plan: kernel 7 of 7 is called");
  EXPECT_EQ(error([&](TestPlan &p) { call(p).call_seconds = -1; }),
            "m.lathe: malformed plan: a run of kernel 'add' takes -1 seconds");
  EXPECT_EQ(error([&](TestPlan &p) { call(p).images_seconds = NAN; }),
            "m.lathe: malformed plan: a run of kernel 'add' takes nan seconds");
  auto costs = [&](double bytes, double cyclesPerByte, double callCycles) {
    return error([&](TestPlan &p) { p.imageCosts({{bytes, cyclesPerByte}, {0, 0.1}}, callCycles); });
  };
  EXPECT_EQ(costs(-1, 0.1, 0), "m.lathe: malformed plan: memory level 0 holds -1 bytes at 0.1 cycles a byte");
  EXPECT_EQ(costs(1024, NAN, 0), "m.lathe: malformed plan: memory level 0 holds 1024 bytes at nan cycles a byte");
  EXPECT_EQ(costs(1024, 0, INFINITY), "m.lathe: malformed plan: the start of a kernel takes inf cycles");
  EXPECT_EQ(error([&](TestPlan &p) { call(p).buffers[1] = 99; }),
            "m.lathe: malformed plan: a kernel call names value 99 of 15");
  EXPECT_EQ(error([&](TestPlan &p) { call(p).units = "N*"; }),
            "m.lathe: malformed plan: extent 'N*': expected a number or a symbol at position 2");
  EXPECT_EQ(error([&](TestPlan &p) { p.plan().values[2]->offset = 1 << 20; }),
            "m.lathe: malformed plan: constant 'c' lies at byte 1048576 of 264 constant bytes");
  EXPECT_EQ(error([&](TestPlan &p) { p.plan().values[4]->alias_of = 4; }),
            "m.lathe: malformed plan: value 'flat' is an alias of itself or of nothing");
  // 't' has N*32 bytes, 'c' 256, 'kept' those a reference gives it.
  auto offset = [&](const std::string &text, int of, const char *dims = "4") {
    return error([&](TestPlan &p) {
      p.plan().values[4]->alias_of = of;
      p.plan().values[4]->dims = {dims};
      p.plan().values[4]->alias_offset = text;
    });
  };
  EXPECT_EQ(offset("192", 2), "no error");
  EXPECT_EQ(offset("256", 2),
            "m.lathe: malformed plan: value 'flat' has 16 bytes and lies at byte 256 of the 256 of 'c'");
  EXPECT_EQ(offset("192", 2, "17"),
            "m.lathe: malformed plan: value 'flat' has 68 bytes and lies at byte 192 of the 256 of 'c'");
  EXPECT_EQ(offset("32", 2), "m.lathe: malformed plan: value 'flat' lies at byte 32 of 'c', expected a multiple of 64");
  EXPECT_EQ(offset("-64", 3),
            "m.lathe: malformed plan: value 'flat' lies at byte -64 of 't', expected a multiple of 64");
  EXPECT_EQ(offset("64", 5), "m.lathe: malformed plan: value 'flat' lies inside 'kept', which has no bytes of its own");
  EXPECT_EQ(offset("64*", 3), "m.lathe: malformed plan: extent '64*': expected a number or a symbol at position 3");
  EXPECT_EQ(offset("N*64", 3, "N*8"), "no error"); // refused when N is bound
  auto enter = [](size_t from, uint32_t block) {
    return [=](TestPlan &p) {
      plan::IfT branch;
      branch.condition = 1;
      branch.then_block = branch.else_block = block;
      p.instruction(branch, from);
    };
  };
  EXPECT_EQ(error(enter(1, 1)), "m.lathe: malformed plan: block 1 is entered from two places or from itself");
  EXPECT_EQ(error(enter(0, 3)), "m.lathe: malformed plan: block 3 is entered from two places or from itself");
  EXPECT_EQ(error(enter(0, 0)), "m.lathe: malformed plan: block 0 of 4 is entered");
  EXPECT_EQ(error([&](TestPlan &p) { p.plan().values[0]->type = 200; }),
            "m.lathe: malformed plan: value 'x': element type 200");
  EXPECT_EQ(error([&](TestPlan &p) { p.plan().inputs.pop_back(); }),
            "m.lathe: malformed plan: value 'flag' is stored among the inputs and listed 0 times");
  // Code for fewer kernels than the plan has cannot be written; it can be read.
  TestPlan p = everything();
  std::vector<char> bytes = p.bytes();
  uint32_t kernels = 4;
  std::memcpy(bytes.data() + sections(bytes)[2].offset, &kernels, sizeof kernels);
  rehash(bytes);
  EXPECT_EQ(loadError(bytes), "m.lathe: malformed: 7 kernels and code for 4");
}

} // namespace
