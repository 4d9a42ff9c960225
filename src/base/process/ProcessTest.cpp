#include "process/Run.h"
#include "process/Worker.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace lathe::process;
using nlohmann::json;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static std::string workerPath() { return LATHE_BINARY_DIR "/tests/misbehaving-worker"; }

static Worker startWorker(std::vector<std::string> arguments, const Limits &limits = {}) {
  Command command;
  command.argv = {workerPath()};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  auto worker = Worker::start(command, limits);
  if (!worker)
    throw std::runtime_error(worker.failure().message());
  return std::move(*worker);
}

/// The failure of a worker that misbehaves as `how` says, with a generous time limit.
static Failure failureOf(const std::string &how, const Limits &limits = {}, double seconds = 60) {
  Worker worker = startWorker({how}, limits);
  auto answer = worker.request({{"n", 1}}, seconds);
  EXPECT_FALSE(answer.ok()) << how << " answered";
  EXPECT_FALSE(worker.alive());
  // A dead worker returns the same failure again, at once.
  EXPECT_EQ(worker.request({{"n", 2}}, seconds).failure().kind, answer.failure().kind);
  EXPECT_EQ(worker.close(1).failure().kind, answer.failure().kind);
  return answer.failure();
}

static bool noChildrenLeft() {
  int status;
  return waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD;
}

class Process : public testing::Test {
protected:
  // A shell without job control starts its background jobs with SIGINT ignored, and children inherit that.
  void SetUp() override { ::signal(SIGINT, SIG_DFL); }
  void TearDown() override { EXPECT_TRUE(noChildrenLeft()) << "a zombie or a running child was left"; }
};

TEST_F(Process, answersManyMessages) {
  Worker worker = startWorker({"well"});
  for (int i = 0; i < 50; ++i) {
    auto answer = worker.request({{"n", i}}, 60);
    ASSERT_TRUE(answer.ok()) << answer.failure().message();
    EXPECT_EQ((*answer)["echo"]["n"], i);
    EXPECT_EQ((*answer)["pid"], worker.id());
  }
  EXPECT_GT(worker.usage().peakResidentBytes, 0);
  auto left = worker.close(60);
  ASSERT_TRUE(left.ok()) << left.failure().message();
  EXPECT_EQ(*left, 0);
}

TEST_F(Process, carriesMessagesLargerThanThePipe) {
  Worker worker = startWorker({"well"});
  std::string text(3 << 20, 'a');
  auto answer = worker.request({{"text", text}}, 60);
  ASSERT_TRUE(answer.ok()) << answer.failure().message();
  EXPECT_EQ((*answer)["echo"]["text"], text);
}

TEST_F(Process, passesEnvironmentAndDirectory) {
  Command command;
  command.argv = {"sh", "-c", "echo \"$LATHE_PROBE\" && pwd"};
  command.environment = {{"LATHE_PROBE", "it's \"here\""}};
  command.directory = "/tmp";
  auto finished = run(command);
  ASSERT_TRUE(finished.ok()) << finished.failure().message();
  EXPECT_EQ(finished->output, "it's \"here\"\n/tmp\n");
}

TEST_F(Process, runsThroughAPrefix) {
  Command command;
  command.argv = {workerPath(), "well", "two words"};
  command.prefix = {"nice", "-n", "1"};
  command.environment = {{"LATHE_PROBE", "x"}};
  auto worker = Worker::start(command);
  ASSERT_TRUE(worker.ok()) << worker.failure().message();
  auto answer = worker->request({{"n", 1}}, 60);
  ASSERT_TRUE(answer.ok()) << answer.failure().message();
  EXPECT_EQ((*answer)["variable"], "x");
  EXPECT_EQ((*answer)["second"], "two words");
}

TEST_F(Process, runsThroughAShellPrefix) { // as ssh does: one text, parsed by a shell at the other end
  Command command;
  command.argv = {workerPath(), "well", "it's $HOME; two words"};
  command.prefix = {"sh", "-c"};
  command.prefixIsShell = true;
  command.directory = "/tmp";
  command.environment = {{"LATHE_PROBE", "a b"}};
  auto worker = Worker::start(command);
  ASSERT_TRUE(worker.ok()) << worker.failure().message();
  auto answer = worker->request({{"n", 1}}, 60);
  ASSERT_TRUE(answer.ok()) << answer.failure().message();
  EXPECT_EQ((*answer)["variable"], "a b");
  EXPECT_EQ((*answer)["second"], "it's $HOME; two words");
}

TEST_F(Process, couldNotStart) {
  Command command;
  command.argv = {"/no/such/program"};
  auto worker = Worker::start(command);
  ASSERT_FALSE(worker.ok());
  EXPECT_EQ(worker.failure().kind, FailureKind::couldNotStart);
  EXPECT_NE(worker.failure().message().find("No such file"), std::string::npos) << worker.failure().message();
  command.argv = {"true"};
  command.directory = "/no/such/directory";
  EXPECT_EQ(run(command).failure().kind, FailureKind::couldNotStart);
  EXPECT_EQ(run(Command{}).failure().kind, FailureKind::couldNotStart);
}

TEST_F(Process, crash) {
  Failure failure = failureOf("crash");
  EXPECT_EQ(failure.kind, FailureKind::crashed);
  EXPECT_EQ(failure.signal, SIGSEGV);
  EXPECT_NE(failure.stderrTail.find("worker: crash"), std::string::npos);
  EXPECT_EQ(failureOf("abort").signal, SIGABRT);
}

TEST_F(Process, hang) {
  Failure failure = failureOf("hang", {}, 0.2);
  EXPECT_EQ(failure.kind, FailureKind::timedOut);
  EXPECT_DOUBLE_EQ(failure.seconds, 0.2);
}

TEST_F(Process, wallLimit) {
  Limits limits;
  limits.wallSeconds = 0.3;
  EXPECT_EQ(failureOf("hang", limits).kind, FailureKind::timedOut);
}

TEST_F(Process, cpuLimit) {
  Limits limits;
  limits.cpuSeconds = 1;
  EXPECT_EQ(failureOf("spin", limits).kind, FailureKind::cpuExceeded);
}

TEST_F(Process, earlyExit) {
  EXPECT_EQ(failureOf("leave").exitCode, 7);
  Failure failure = failureOf("leave-at-once");
  EXPECT_EQ(failure.kind, FailureKind::exited);
  EXPECT_EQ(failure.exitCode, 3);
  failure = failureOf("half");
  EXPECT_EQ(failure.kind, FailureKind::exited);
  EXPECT_NE(failure.detail.find("{\"answer\""), std::string::npos);
}

TEST_F(Process, descendantsHoldingThePipesAreEnded) {
  Failure failure = failureOf("orphan");
  EXPECT_EQ(failure.kind, FailureKind::exited);
  EXPECT_EQ(failure.exitCode, 5);
}

TEST_F(Process, garbage) {
  EXPECT_EQ(failureOf("garbage").kind, FailureKind::garbage);
  EXPECT_EQ(failureOf("number").kind, FailureKind::garbage);
  EXPECT_EQ(failureOf("endless").kind, FailureKind::garbage);
  EXPECT_EQ(failureOf("close-output").kind, FailureKind::garbage);
}

TEST_F(Process, residentMemory) {
  Limits limits;
  limits.residentBytes = 256 << 20;
  limits.addressSpaceBytes = int64_t(3) << 30; // a starved supervisor checks rarely: a second limit is needed
  Failure failure = failureOf("eat", limits);
  EXPECT_EQ(failure.kind, FailureKind::memoryExceeded);
  EXPECT_EQ(failure.bytes, limits.residentBytes);
}

TEST_F(Process, addressSpace) {
  Limits limits;
  limits.addressSpaceBytes = 256 << 20;
  EXPECT_EQ(failureOf("eat", limits).kind, FailureKind::memoryExceeded);
}

TEST_F(Process, deafWorkerTimesOut) {
  Worker worker = startWorker({"deaf"});
  ASSERT_FALSE(worker.send({{"n", 1}}, 60));                                // read; from here on it reads no more
  auto answer = worker.request({{"text", std::string(3 << 20, 'a')}}, 0.3); // more than the pipe holds
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().kind, FailureKind::timedOut);
}

TEST_F(Process, stderrIsDrainedAndItsTailKept) {
  Worker worker = startWorker({"stderr-flood"});
  auto answer = worker.request({{"n", 1}}, 60);
  ASSERT_TRUE(answer.ok()) << answer.failure().message();
  ASSERT_TRUE(worker.close(60).ok());
  EXPECT_NE(worker.stderrTail().find("line 19999"), std::string::npos);
  EXPECT_LE(worker.stderrTail().size(), 8192u);
}

TEST_F(Process, pauseStopsItsClock) {
  Worker worker = startWorker({"spin"});
  ASSERT_FALSE(worker.send({{"n", 1}}, 60));
  worker.pause();
  double before = worker.usage().cpuSeconds;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  double paused = worker.usage().cpuSeconds;
  EXPECT_LT(paused - before, 1e-3) << "the system may add up a moment later what ran until the stop";
  worker.resume();
  for (int i = 0; i < 6000 && worker.usage().cpuSeconds == paused; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GT(worker.usage().cpuSeconds, paused);
}

TEST_F(Process, aWorkerThatLeavesItsGroupIsStoppedAndEnded) {
  Worker worker = startWorker({"leave-group"});
  ASSERT_TRUE(worker.request({{"n", 1}}, 60).ok());
  EXPECT_FALSE(worker.pause().has_value());
  EXPECT_EQ(worker.request({{"n", 2}}, 0.3).failure().kind, FailureKind::timedOut); // ended and reaped
  EXPECT_FALSE(worker.alive());
}

TEST_F(Process, aWorkerThatMayNotBeSignalledIsGivenUp) {
  // A setuid program that has become another user: only that user may signal it, so this process becomes user `nobody`.
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can make a program of another user";
  auto program = std::filesystem::temp_directory_path() / ("lathe-setuid-" + std::to_string(getpid()));
  std::filesystem::copy_file(workerPath(), program);
  ASSERT_EQ(::chmod(program.c_str(), 04755), 0);
  auto said = runForked("test", [&]() -> std::string {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0)
      return "cannot become nobody";
    auto started =
        Worker::start({.argv = {program.string(), "other-user"}, .environment = {}, .directory = {}, .prefix = {}});
    if (!started)
      return started.failure().message();
    Worker worker = std::move(*started);
    worker.setSignalGrace(0.2);
    if (auto answer = worker.request({{"n", 1}}, 60); !answer)
      return "skip: " + answer.failure().message();
    auto failure = worker.pause();
    return (failure ? failure->message() : "stopped") + (worker.alive() ? "; alive" : "; given up");
  });
  std::filesystem::remove(program);
  ASSERT_TRUE(said.ok()) << said.failure().message();
  if (said->starts_with("skip: "))
    GTEST_SKIP() << "setuid programs have no effect here: " << *said;
  EXPECT_NE(said->find("cannot be stopped: Operation not permitted"), said->npos) << *said;
  EXPECT_NE(said->find("could not be ended and still runs: Operation not permitted"), said->npos) << *said;
  EXPECT_NE(said->find("; given up"), said->npos) << *said;
}

TEST_F(Process, aSupervisorThatIsKilledLeavesNothingBehind) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (int signal : {SIGKILL, SIGINT, SIGTERM}) {
    pid_t supervisor = fork();
    if (supervisor == 0) {
      lathe::catchInterrupts("test");
      Worker worker = startWorker({"well"});
      pid_t id = worker.id();
      (void)!write(ends[1], &id, sizeof id);
      for (;;)
        pause();
    }
    pid_t worker = 0;
    ASSERT_EQ(read(ends[0], &worker, sizeof worker), ssize_t(sizeof worker));
    EXPECT_EQ(::kill(supervisor, signal), 0);
    int status = 0;
    waitpid(supervisor, &status, 0);
    if (signal == SIGKILL)
      EXPECT_TRUE(WIFSIGNALED(status));
    else
      EXPECT_EQ(WEXITSTATUS(status), 128 + signal);
    // This process is not the parent: the worker is gone when its number is unused, or when it is a zombie that its new
    // parent has not reaped.
    auto gone = [&] {
      std::ifstream stat("/proc/" + std::to_string(worker) + "/stat");
      std::string id, name, state;
      return !(stat >> id >> name >> state) || state == "Z" || state == "X";
    };
    for (int tries = 0; tries < 1000 && !gone(); ++tries)
      usleep(10000);
    EXPECT_TRUE(gone()) << "signal " << signal;
  }
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Process, usageCountsWhatAWorkerHasStarted) {
  Worker worker = startWorker({"child-spins"});
  ASSERT_FALSE(worker.send({{"n", 1}}, 60));
  for (int i = 0; i < 6000 && worker.usage().cpuSeconds < 0.5; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GE(worker.usage().cpuSeconds, 0.5); // the worker itself waits
}

TEST_F(Process, pausedWorkerAnswersAfterResume) {
  Worker worker = startWorker({"well"});
  for (int i = 0; i < 5; ++i) {
    worker.pause();
    worker.resume();
    ASSERT_TRUE(worker.request({{"n", i}}, 60).ok());
  }
  worker.pause(); // and the destructor ends stopped ones
}

TEST_F(Process, closeReportsHowItEnded) {
  Worker worker = startWorker({"bad-end"});
  auto left = worker.close(60);
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(*left, 9);
  Worker stubborn = startWorker({"hang"});
  ASSERT_FALSE(stubborn.send({{"n", 1}}, 60));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(stubborn.close(0.1).failure().kind, FailureKind::timedOut);
}

TEST_F(Process, killIsFinal) {
  Worker worker = startWorker({"well"});
  worker.kill();
  EXPECT_FALSE(worker.alive());
  EXPECT_FALSE(worker.request({{"n", 1}}, 60).ok());
}

TEST_F(Process, runsProgramsToTheirEnd) {
  Command command;
  command.argv = {"cat"};
  std::string input(1 << 20, 'z');
  auto finished = run(command, {}, input);
  ASSERT_TRUE(finished.ok()) << finished.failure().message();
  EXPECT_EQ(finished->output, input);
  command.argv = {"sh", "-c", "echo oops >&2; exit 4"};
  finished = run(command);
  ASSERT_TRUE(finished.ok());
  EXPECT_EQ(finished->exitCode, 4);
  EXPECT_EQ(finished->stderrTail, "oops\n");
  command.argv = {"sh", "-c", "kill -ILL $$"};
  EXPECT_EQ(run(command).failure().signal, SIGILL);
}

TEST_F(Process, forkedFunctions) {
  auto value = runForked("sum", [] { return std::string(200000, 'q'); });
  ASSERT_TRUE(value.ok()) << value.failure().message();
  EXPECT_EQ(value->size(), 200000u);

  auto threw = runForked("thrower", []() -> std::string { throw std::runtime_error("model.onnx: truncated"); });
  EXPECT_EQ(threw.failure().kind, FailureKind::threw);
  EXPECT_EQ(threw.failure().message(), "model.onnx: truncated");

  auto crashed = runForked("crasher", []() -> std::string {
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
    return "";
  });
  EXPECT_EQ(crashed.failure().kind, FailureKind::crashed);

  Limits limits;
  limits.wallSeconds = 0.2;
  auto hung = runForked(
      "hanger",
      []() -> std::string {
        for (;;)
          pause();
      },
      limits);
  EXPECT_EQ(hung.failure().kind, FailureKind::timedOut);

  auto left = runForked("leaver", []() -> std::string { _exit(6); });
  EXPECT_EQ(left.failure().kind, FailureKind::exited);
  EXPECT_EQ(left.failure().exitCode, 6);
}

TEST_F(Process, forkedFunctionOverMemory) {
#ifdef SANITIZED
  GTEST_SKIP() << "sanitizers reserve the address space that this test limits";
#endif
  Limits limits;
  limits.addressSpaceBytes = 128 << 20;
  auto result = runForked(
      "eater",
      []() -> std::string {
        std::vector<std::string> blocks;
        for (;;)
          blocks.emplace_back(size_t(1) << 22, 'x');
      },
      limits);
  EXPECT_EQ(result.failure().kind, FailureKind::memoryExceeded);
}

TEST_F(Process, supervisorSurvivesAWriteToADeadWorker) {
  Worker worker = startWorker({"well"});
  ::kill(worker.id(), SIGKILL);
  std::string text(1 << 20, 'a');
  auto answer = worker.request({{"text", text}}, 60);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().kind, FailureKind::crashed);
}
