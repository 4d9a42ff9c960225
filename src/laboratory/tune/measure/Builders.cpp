#include "tune/measure/Builders.h"

#include "lab/judging/Turns.h"
#include "runtime/Cpu.h"
#include "tune/measure/Protocol.h"
#include "tune/measure/Status.h"

namespace lathe::tune {

using nlohmann::json;
using process::Worker;

Builders::Builders(const MeasureOptions &options, std::string program, std::string packedFolder)
    : options(options), program(std::move(program)), packedFolder(std::move(packedFolder)),
      cpus(size_t(std::max(1, runtime::availableCpus()))) {
  size_t count = options.builders > 0 ? size_t(options.builders) : cpus;
  for (size_t i = 0; i < count; ++i)
    threads.emplace_back([this] { work(); });
}

Builders::~Builders() {
  {
    std::lock_guard lock(mutex);
    over = true;
  }
  wake.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void Builders::work() {
  Process process; // ends with this thread, which started it
  std::unique_lock lock(mutex);
  while (true) {
    wake.wait(lock, [&] { return over || !jobs.empty(); });
    if (over)
      return;
    Job job = std::move(jobs.front());
    jobs.pop_front();
    ++running;
    lock.unlock();
    std::exception_ptr problem;
    try {
      job(process);
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    --running;
    if (problem && !error) {
      error = problem;
      jobs.clear();
    }
    if (running == 0 && jobs.empty())
      idle.notify_all();
  }
}

void Builders::run(std::deque<Job> all) {
  std::unique_lock lock(mutex);
  jobs = std::move(all);
  wake.notify_all();
  idle.wait(lock, [&] { return jobs.empty() && running == 0; });
  if (std::exception_ptr problem = std::exchange(error, nullptr))
    std::rethrow_exception(problem);
}

void Builders::start(Process &process) const {
  if (process.worker && process.worker->alive())
    return;
  process.task.clear();
  process::Limits limits;
  limits.residentBytes = options.buildBytes;
  auto started = Worker::start({.argv = {program}, .environment = {}, .directory = {}, .prefix = {}}, limits);
  require(started.ok(), "{}", started ? "" : started.failure().message());
  process.worker.emplace(std::move(*started));
  constexpr double soon = 60; // seconds
  json hello = asked(*process.worker, {{"do", "hello"}}, soon);
  require(hello.at("protocol") == measureProtocolVersion, "{} speaks version {} of its protocol, expected {}", program,
          hello.at("protocol").dump(), measureProtocolVersion);
  asked(*process.worker,
        {{"do", "options"},
         {"compiling", options.compiling.empty() ? json() : json::parse(options.compiling)},
         {"packed_folder", packedFolder}},
        soon);
}

process::Result<json> Builders::setTask(Process &process, const Task &task, const TaskFiles &files,
                                        bool withData) const {
  start(process);
  if (process.task == files.prefix && !withData)
    return json::object();
  process.task.clear();
  constexpr double patient = 3600; // seconds; references of large kernels take minutes
  auto answer = process.worker->request({{"do", "task"},
                                         {"key", task.key},
                                         {"kernel", task.kernel},
                                         {"extents", task.extents},
                                         {"files", files.prefix},
                                         {"seed", files.seed},
                                         {"data", withData},
                                         {"jobs", cpus}},
                                        patient);
  if (answer) {
    requireOk(*answer);
    process.task = files.prefix;
  }
  return answer;
}

Outcome<json> Builders::prepare(const Task &task, const TaskFiles &files) {
  json answer;
  run({[&](Process &process) {
    auto set = setTask(process, task, files, true);
    answer = set ? std::move(*set) : json{{"declined", set.failure().message()}};
  }});
  if (auto declined = answer.find("declined"); declined != answer.end())
    return NotApplicable{declined->get<std::string>()};
  return answer.at("task");
}

Built Builders::buildOne(Process &process, const Task &task, const TaskFiles &files,
                         const std::string &schedule) const {
  Built built;
  double begin = lab::steadySeconds();
  auto answer = setTask(process, task, files, false);
  if (answer)
    answer = process.worker->request({{"do", "build"}, {"schedule", schedule}}, options.buildSeconds);
  built.seconds = lab::steadySeconds() - begin;
  if (!answer) {
    built.status = statusOf(answer.failure());
    built.reason = "building: " + answer.failure().message();
    return built;
  }
  if (answer->value("ok", false) != true) {
    built.reason = answer->value("error", "the builder says neither ok nor an error");
    return built;
  }
  built.status = store::pointStatus(answer->at("status").get<std::string>());
  built.reason = answer->value("reason", "");
  built.generate = answer->value("generate", 0.0);
  built.lower = answer->value("lower", 0.0);
  built.pack = answer->value("pack", 0.0);
  if (built.status == store::PointStatus::passed)
    built.candidate = std::move(answer->at("candidate"));
  // Starts a new process, so that memory of earlier builds does not count against a later one.
  if (process.worker->usage().peakResidentBytes > options.buildBytes / 2)
    process.worker.reset();
  return built;
}

std::vector<Built> Builders::build(const Task &task, const TaskFiles &files,
                                   const std::vector<std::string> &schedules) {
  std::vector<Built> built(schedules.size());
  std::deque<Job> all;
  for (size_t i = 0; i < schedules.size(); ++i)
    all.emplace_back([&, i](Process &process) { built[i] = buildOne(process, task, files, schedules[i]); });
  run(std::move(all));
  return built;
}

} // namespace lathe::tune
