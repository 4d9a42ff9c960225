#include "tune/measure/runner/Trial.h"

#include "lab/judging/Difference.h"
#include "lab/providers/ColdCaches.h"
#include "package/Package.h"
#include "runtime/Cpu.h"
#include "runtime/MappedKernel.h"
#include "support/Base64.h"
#include "tune/measure/runner/InjectedFault.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

namespace lathe::tune {

using nlohmann::json;
using process::Failure;
using process::FailureKind;

/// Reads a whole file into a tensor.
static Tensor tensorFrom(const Files &files, const std::string &name, ElementType type, std::vector<int64_t> dims) {
  Tensor tensor(type, std::move(dims));
  int file = files.open(name, tensor.bytes());
  GuardedMemory bytes(file, size_t(tensor.bytes()), name);
  ::close(file);
  std::memcpy(tensor.data(), bytes.data(), bytes.bytes());
  return tensor;
}

static ElementType typeFrom(const json &name) {
  auto type = elementTypeFromName(name.get<std::string>());
  require(type.has_value(), "unknown element type {}", name.dump());
  return *type;
}

RunTask::RunTask(const json &message, const Files &files) {
  uint64_t missing = message.at("features").get<uint64_t>() & ~runtime::cpuFeatures();
  require(missing == 0, "this machine has no {}, which the target needs", package::featureNames(missing));
  message.at("threads").get_to(threads);
  message.at("run_seconds").get_to(runSeconds);
  message.at("run_bytes").get_to(runBytes);
  message.at("tolerance").at("relative").get_to(tolerance.relative);
  message.at("tolerance").at("maximum").get_to(tolerance.maximum);
  for (const json &entry : message.at("operands")) {
    Operand operand;
    entry.at("file").get_to(operand.file);
    entry.at("bytes").get_to(operand.bytes);
    entry.at("constant").get_to(operand.constant);
    operands.push_back(std::move(operand));
  }
  for (const json &entry : message.at("results")) {
    Result result{{typeFrom(entry.at("type")), entry.at("dims"), entry.at("block")}, {}, {}};
    result.expected = tensorFrom(files, entry.at("expected"), typeFrom(entry.at("expected_type")), entry.at("dims"));
    result.memory = GuardedMemory(size_t(result.form.bytes()), GuardedMemory::Sharing::withChildren);
    results.push_back(std::move(result));
  }
}

// ---- The candidate's process ---------------------------------------------------------------------------------------

/// A request to the process.
struct Trial::Order {
  double seconds = 0;
  int32_t least = 1, most = 1; // runs
};

struct Trial::Code {
  std::vector<char> bytes;
  uint64_t entry = 0;
  int64_t units = 0, stages = 1, scratchBytes = 0;
  int64_t images = 1;              // above 1: passes the images one after the other
  std::vector<int64_t> imageBytes; // bytes of one image by buffer, 0 for constants
  std::vector<int64_t> dims;
  std::vector<GuardedMemory> packed;
  std::vector<void *> buffers;                  // arguments of the kernel
  std::vector<std::span<const char>> constants; // constants that every run reads from memory
  int64_t mappedBytes = 0;                      // bytes of operands and results
  int threads = 1;
  Fault fault = Fault::none; // for tests
  std::span<char> result;    // a wrong candidate changes this result

  int serve(int orders, int answers) const;
};

namespace {

bool transferAll(ssize_t (*move)(int, void *, size_t), int file, void *data, size_t bytes) {
  auto *at = static_cast<char *>(data);
  while (bytes > 0) {
    ssize_t moved = move(file, at, bytes);
    if (moved < 0 && errno == EINTR)
      continue;
    if (moved <= 0)
      return false;
    at += moved;
    bytes -= size_t(moved);
  }
  return true;
}
bool readAll(int file, void *data, size_t bytes) { return transferAll(::read, file, data, bytes); }
bool writeAll(int file, const void *data, size_t bytes) {
  return transferAll([](int to, void *from, size_t count) { return ::write(to, from, count); }, file,
                     const_cast<void *>(data), bytes);
}

/// Scratch of all threads. Parts are equally far apart, because kernels get a base and a stride. An inaccessible page
/// follows each part.
struct Scratch {
  size_t stride = 0;
  GuardedMemory memory;

  Scratch(size_t bytes, int parts) {
    auto page = size_t(::sysconf(_SC_PAGESIZE));
    size_t one = (bytes + 63) / 64 * 64;
    stride = parts > 1 ? (one + page - 1) / page * page + page : 0;
    memory = GuardedMemory(one + stride * size_t(parts - 1));
    memory.spoil();
    for (size_t part = 1; part < size_t(parts); ++part) // the last part ends at the end of a page, and so do all parts
      memory.forbid(memory.data() + stride * (part - 1) + one, page);
  }
};

} // namespace

/// Runs in the candidate's process until there are no more orders.
int Trial::Code::serve(int orders, int answers) const {
  using Clock = std::chrono::steady_clock;
  for (int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) // sanitizers would catch them
    ::signal(fault, SIG_DFL);
  runtime::MappedKernel kernel(bytes, entry);
  runtime::ThreadPool pool(threads);
  Scratch scratch(size_t(scratchBytes), stages > 1 ? 1 : threads);
  runtime::MappedKernel::Work work{buffers.data(), dims.data(), units, stages, scratch.memory.data(), scratch.stride};
  bool whole = true; // true in the first run, whose results are compared
  for (Order order; readAll(orders, &order, sizeof order);) {
    std::vector<double> samples;
    Clock::time_point begin = Clock::now();
    auto seconds = [](Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); };
    while (int32_t(samples.size()) < order.most &&
           (int32_t(samples.size()) < order.least || seconds(begin) < order.seconds)) {
      (void)lab::flushCaches(constants);
      // Wakes the workers: flushing takes longer than they wait before they sleep, which does not happen in a network.
      pool.run(pool.slots(), [](void *, int, int64_t, int64_t) {}, nullptr);
      Clock::time_point start = Clock::now();
      if (images > 1 && !whole)
        kernel.runImages(pool, work, images, imageBytes);
      else
        kernel.run(pool, work);
      whole = false;
      inject(fault, result);
      samples.push_back(seconds(start));
    }
    uint64_t count = samples.size();
    if (!writeAll(answers, &count, sizeof count) || !writeAll(answers, samples.data(), count * sizeof(double)))
      return 1;
  }
  return 0;
}

// ---- The parent's side ---------------------------------------------------------------------------------------------

Trial::Trial(RunTask &task, const Files &files, const json &candidate) : task(task), code(std::make_unique<Code>()) {
  code->bytes = fromBase64(candidate.at("code").get_ref<const std::string &>());
  candidate.at("entry").get_to(code->entry);
  candidate.at("units").get_to(code->units);
  candidate.at("stages").get_to(code->stages);
  candidate.at("scratch_bytes").get_to(code->scratchBytes);
  candidate.at("dims").get_to(code->dims);
  code->threads = task.threads;
  code->fault = injectedFault(candidate.value("schedule", ""));
  if (candidate.value("image_by_image", false))
    candidate.at("images").get_to(code->images);
  require(code->stages > 0 && code->images > 0 && code->entry < code->bytes.size(),
          "a candidate's code has {} bytes, its kernel is at {}", code->bytes.size(), code->entry);
  auto mapped = [&](const std::string &name, int64_t bytes) {
    int file = files.open(name, bytes);
    GuardedMemory memory(file, size_t(bytes), name);
    ::close(file);
    return memory;
  };
  const json &packings = candidate.at("packed"); // one entry per operand, null: unpacked
  for (size_t i = 0; i < task.operands.size(); ++i) {
    RunTask::Operand &operand = task.operands[i];
    GuardedMemory *memory = &operand.memory;
    if (const json &packed = packings.at(i); !packed.is_null()) {
      code->packed.push_back(mapped(packed.at("file"), packed.at("bytes")));
      memory = &code->packed.back();
    } else if (!memory->data() && operand.constant) {
      *memory = mapped(operand.file, operand.bytes);
    } else if (!memory->data()) {
      GuardedMemory from = mapped(operand.file, operand.bytes);
      *memory = GuardedMemory(size_t(operand.bytes));
      std::memcpy(memory->data(), from.data(), from.bytes());
      memory->makeReadOnly();
    }
    code->buffers.push_back(memory->data());
    code->mappedBytes += int64_t(memory->bytes());
    if (operand.constant)
      code->constants.emplace_back(memory->data(), memory->bytes());
    code->imageBytes.push_back(operand.constant ? 0 : operand.bytes / code->images);
  }
  for (RunTask::Result &result : task.results) {
    code->buffers.push_back(result.memory.data());
    code->mappedBytes += int64_t(result.memory.bytes());
    code->result = {result.memory.data(), result.memory.bytes()};
    code->imageBytes.push_back(result.form.bytes() / code->images);
  }
}

Trial::~Trial() {
  if (orders >= 0)
    ::close(orders);
}

static TrialFailure ended(const Failure &failure) {
  std::string status = failure.kind == FailureKind::timedOut || failure.kind == FailureKind::cpuExceeded ? "timed_out"
                       : failure.kind == FailureKind::memoryExceeded ? "memory_exceeded"
                                                                     : "crashed";
  return {status, failure.message()};
}

std::optional<TrialFailure> Trial::check() {
  for (RunTask::Result &result : task.results)
    result.memory.spoil();
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "no socket for a candidate: {}",
          std::strerror(errno));
  orders = ends[0];
  process::Limits limits;
  limits.residentBytes = task.runBytes + code->mappedBytes + code->scratchBytes * task.threads;
  auto started = process::Child::fork(
      "the candidate",
      [&](int answers) {
        ::close(ends[0]);
        return code->serve(ends[1], answers);
      },
      limits);
  ::close(ends[1]);
  if (!started)
    fail("{}", started.failure().message());
  child = std::move(*started);
  std::vector<double> samples;
  if (auto failure = request({}, samples))
    return failure;
  firstSeconds = samples.front();
  return compare("");
}

std::optional<TrialFailure> Trial::time(double seconds, int least, int most, std::vector<double> &samples) {
  return request({seconds, least, most}, samples);
}

std::optional<TrialFailure> Trial::checkAgain() { return compare("in a later run, "); }

std::optional<TrialFailure> Trial::request(const Order &order, std::vector<double> &samples) {
  // If the process has ended, its answer tells how.
  (void)::send(orders, &order, sizeof order, MSG_NOSIGNAL);
  std::string &output = child->output;
  uint64_t count = 0;
  auto complete = [&] {
    if (output.size() < sizeof count)
      return false;
    std::memcpy(&count, output.data(), sizeof count);
    return count > uint64_t(order.most) || output.size() >= sizeof count + count * sizeof(double);
  };
  if (auto failure = child->pump(order.seconds + order.least * task.runSeconds, complete))
    return ended(*failure);
  std::vector<double> times(count > uint64_t(order.most) ? 0 : count);
  std::memcpy(times.data(), output.data() + sizeof count, times.size() * sizeof(double));
  output.erase(0, sizeof count + times.size() * sizeof(double));
  bool plausible = !times.empty();
  for (double time : times)
    plausible &= time > 0 && time < 1e6;
  if (!plausible || !output.empty())
    return ended(child->end(FailureKind::garbage, "answers no times"));
  samples.insert(samples.end(), times.begin(), times.end());
  return std::nullopt;
}

std::optional<TrialFailure> Trial::compare(const char *which) {
  checked.resize(task.results.size());
  for (size_t i = 0; i < task.results.size(); ++i) {
    const RunTask::Result &result = task.results[i];
    std::string_view bytes(result.memory.data(), result.memory.bytes());
    if (!result.memory.surroundingsIntact())
      return TrialFailure{"failed", fmt::format("{}result {}: the kernel writes outside of it", which, i)};
    if (!checked[i].empty() && bytes == checked[i])
      continue;
    lab::Difference difference = lab::difference(result.form.load(result.memory.data()), result.expected);
    if (!difference.within(task.tolerance))
      return TrialFailure{"failed", fmt::format("{}result {}: {}, expected at most {:.2e} and {:.2e}", which, i,
                                                difference.str(), task.tolerance.relative, task.tolerance.maximum)};
    checked[i] = bytes;
  }
  return std::nullopt;
}

} // namespace lathe::tune
