#include "lab/corun/PackageCompanion.h"

#include "lab/compare/Runner.h"
#include "lab/judging/Turns.h"
#include "lab/resources/Placement.h"
#include "support/Interrupt.h"

#include <chrono>
#include <filesystem>
#include <thread>

namespace lathe::lab {

static constexpr double runTimeout = 120; // seconds of one run

void PackageCompanion::failed(const std::string &why) {
  haltIfInterrupted(); // the signal ends the processes first, which would look like a failure of theirs
  quit();
  fail("the companion {}: {}", member.package, why);
}

void PackageCompanion::quit() {
  if (process)
    process->quit();
  process.reset();
}

void PackageCompanion::start() {
  if (process)
    return;
  CpuAffinity bound(member.cpus());
  auto started = CorunProcess::start();
  if (!started)
    failed(started.failure().message());
  process.emplace(std::move(*started));
  CorunMember copy = member; // see copiedPackage
  copy.package = copiedPackage(member.package, directory.path / "package");
  auto loaded = process->load({copy}, false);
  std::error_code ignored;
  std::filesystem::remove(copy.package, ignored); // the process has mapped it
  if (!loaded)
    failed(loaded.failure().message());
}

void PackageCompanion::enter() {
  start();
  shared.reset();
  process->resume();
  if (auto failure = process->accompany(shared.path()))
    failed(failure->message());
  if (!shared.awaitFirst([&] { return process->hasEnded(); }, runTimeout))
    failed(process->hasEnded() ? process->endOfCompany(1).failure().message()
                               : fmt::format("no run ended in {} s", runTimeout));
  entered = steadySeconds();
}

void PackageCompanion::leave() {
  shared.stop();
  auto right = process->endOfCompany(runTimeout);
  if (!right)
    failed(right.failure().message());
  if (!*right)
    failed("its outputs in company differ from those of the package alone");
  allSeconds += steadySeconds() - entered;
  allRuns += double(shared.runs()) - 1;
  process->pause();
}

double PackageCompanion::secondsPerRun() {
  if (allRuns < 1)
    during([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return true;
    });
  return allSeconds / std::max(allRuns, 1.0);
}

} // namespace lathe::lab
