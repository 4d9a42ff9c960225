#include "store/Owner.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <unistd.h>

namespace lathe::store {

/// Field 22 of /proc/PID/stat; 0 if the process does not exist or is a zombie.
static int64_t startOf(int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line(std::istreambuf_iterator<char>(file), {});
  size_t behindName = line.rfind(')'); // the second field may contain any characters
  if (behindName == line.npos)
    return 0;
  std::istringstream rest(line.substr(behindName + 1));
  std::string state, skipped;
  rest >> state;
  for (int field = 4; field < 22; ++field)
    rest >> skipped;
  int64_t started = 0;
  rest >> started;
  return state == "Z" || state == "X" ? 0 : started;
}

Owner Owner::self() {
  Owner owner;
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) == 0)
    owner.host = name;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> owner.boot;
  std::error_code ignored;
  owner.pids = std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
  owner.pid = ::getpid();
  owner.started = startOf(owner.pid);
  return owner;
}

bool Owner::mayLive() const {
  Owner here = self();
  if (host != here.host)
    return true;
  if (boot != here.boot)
    return false;
  return pids != here.pids || startOf(pid) == started;
}

} // namespace lathe::store
