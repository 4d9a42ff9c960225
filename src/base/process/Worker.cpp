#include "process/Worker.h"

namespace lathe::process {

using nlohmann::json;

Result<Worker> Worker::start(const Command &command, const Limits &limits) {
  auto child = Child::start(command, limits);
  if (!child)
    return child.failure();
  return Worker(std::move(*child));
}

Failure Worker::failWith(Failure failure) {
  dead = failure;
  return failure;
}

std::optional<Failure> Worker::send(const json &message, double timeoutSeconds) {
  if (dead)
    return dead;
  child->input += message.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  if (auto failure = child->pump(timeoutSeconds, [&] { return child->input.empty(); }))
    return failWith(*failure);
  return std::nullopt;
}

Result<json> Worker::receive(double timeoutSeconds) {
  if (dead)
    return *dead;
  size_t searched = 0, lineEnd = 0;
  auto lineCame = [&] {
    std::string &output = child->output;
    lineEnd = output.find('\n', searched);
    while (lineEnd != output.npos && output.find_first_not_of(" \t\r") >= lineEnd) { // a blank line
      output.erase(0, lineEnd + 1);
      lineEnd = output.find('\n');
    }
    searched = output.size();
    return lineEnd != output.npos || output.size() > maxMessageBytes;
  };
  auto failure = child->pump(timeoutSeconds, lineCame);
  if (failure) {
    // Output without a line end is usually the reason, so report it.
    if (failure->detail.empty() && !child->output.empty())
      failure->detail = "after '" + child->output.substr(0, 80) + "'";
    return failWith(*failure);
  }
  if (lineEnd == std::string::npos)
    return failWith(child->end(FailureKind::garbage, "a line longer than 64 MiB"));
  json message = json::parse(child->output.begin(), child->output.begin() + int64_t(lineEnd), nullptr, false);
  if (!message.is_object())
    return failWith(
        child->end(FailureKind::garbage, "'" + child->output.substr(0, std::min<size_t>(lineEnd, 120)) + "'"));
  child->output.erase(0, lineEnd + 1);
  return message;
}

Result<json> Worker::request(const json &message, double timeoutSeconds) {
  // One time limit for both directions: a worker that does not read is treated like one that does not answer.
  auto begin = std::chrono::steady_clock::now();
  if (auto failure = send(message, timeoutSeconds))
    return *failure;
  double used = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  double left = std::max(0.0, timeoutSeconds - used);
  auto answer = receive(left);
  if (dead && dead->kind == FailureKind::timedOut && dead->seconds == left) // the message has the requested time
    dead->seconds = timeoutSeconds;
  return dead ? Result<json>(*dead) : answer;
}

std::optional<Failure> Worker::pause() {
  if (dead)
    return dead;
  if (auto why = child->stop()) {
    Failure failure = child->end(FailureKind::timedOut, *why);
    failure.seconds = child->signalGraceSeconds;
    return failWith(failure);
  }
  return std::nullopt;
}
void Worker::resume() { child->resume(); }

Result<int> Worker::close(double graceSeconds) {
  if (dead)
    return *dead;
  Failure ending = child->leave(graceSeconds);
  dead = ending;
  if (ending.kind == FailureKind::exited)
    return ending.exitCode;
  return ending;
}

void Worker::kill() {
  if (!dead)
    failWith(child->end(FailureKind::exited, "ended on request"));
}

bool Worker::alive() const { return child->alive(); }

} // namespace lathe::process
