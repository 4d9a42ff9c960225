// Base of runners (whole models) and providers (single operators): a worker that reports its
// version, answers errors as messages, and measures its own times.
//
// Every failure is a process::Failure. An error that the worker reports itself ({"ok": false}) is
// of kind `threw` and leaves it alive. Every other failure, such as a malformed answer, ends it.
#pragma once

#include "lab/judging/Counts.h"
#include "process/Worker.h"
#include "support/Error.h"
#include "support/JsonError.h"

#include <string>
#include <vector>

namespace lathe::lab {

class TimingWorker {
public:
  const std::string &name() const { return statedName; }
  const std::string &version() const { return statedVersion; }
  const nlohmann::json &settings() const { return statedSettings; } // settings that the worker reports

  /// The reason why hardware counters are missing in Counts, as the worker reports it; "": none is missing, or the
  /// worker gives no reason.
  const std::string &uncounted() const { return statedUncounted; }

  /// Times `repetitions` runs of the worker after `warmup` untimed runs; times and counts are taken inside the worker.
  process::Result<Timing> time(int warmup, int repetitions) { return timeWith({}, warmup, repetitions); }

  bool alive() const { return worker.alive(); }
  /// True if the process has ended, also if no request has noticed it yet.
  bool hasEnded() const;
  /// Stops the worker process until resume(). A worker that cannot be stopped is killed; the next request reports it.
  void pause() { (void)worker.pause(); }
  void resume() { worker.resume(); }
  process::Usage usage() const { return worker.usage(); }
  /// Asks the worker to exit, and kills it if it does not exit.
  void quit();

protected:
  TimingWorker(process::Worker worker, std::string name, double runTimeout)
      : worker(std::move(worker)), statedName(std::move(name)), runTimeout(runTimeout) {}

  /// Sends "hello" to the worker for `protocol` ("runner protocol") with `protocolVersion`. Returns the answer.
  process::Result<nlohmann::json> greet(std::string_view protocol, int protocolVersion, double timeoutSeconds);
  /// Sends a request to the worker and converts the answer with `read`, which throws json::exception for an answer of
  /// another form.
  template <class T, class Read>
  process::Result<T> ask(const nlohmann::json &request, double timeoutSeconds, Read read) {
    auto answer = ask(request, timeoutSeconds);
    if (!answer)
      return answer.failure();
    try {
      return T(read(*answer));
    } catch (const nlohmann::json::exception &exception) {
      return garbage("answer to '" + request.at("do").get<std::string>() + "': " + messageOf(exception));
    }
  }
  process::Result<nlohmann::json> ask(const nlohmann::json &request, double timeoutSeconds);
  /// Times runs like `time`; the request to the worker also has the members of `fields`.
  process::Result<Timing> timeWith(const nlohmann::json &fields, int warmup, int repetitions);
  /// Kills a worker that has sent a malformed answer, and returns the failure.
  process::Failure garbage(const std::string &detail);

  process::Worker worker;
  std::string statedName, statedVersion, statedUncounted;
  nlohmann::json statedSettings = nlohmann::json::object();
  double runTimeout; // limit on the time of one run, in seconds
};

} // namespace lathe::lab
