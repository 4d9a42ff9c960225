// lathe-read-hdf5: writes the content of an HDF5 file to standard output (import/keras/Hdf5Form.h).
//
// It is a separate program, because the HDF5 library crashes on some damaged files: the caller then gets an error. It
// reads the file from standard input and opens no other file: external and soft links, external and virtual storage are
// refused, and filters are never loaded from plug-ins.
#include "import/keras/hdf5/Objects.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lathe::keras::hdf5 {
namespace {

void writeAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    require(count > 0, "cannot be passed on: {}", std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

std::string inputBytes() {
  std::string bytes, buffer(size_t(1) << 20, '\0');
  for (;;) {
    ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR)
      continue;
    require(count >= 0, "cannot be read: {}", std::strerror(errno));
    if (count == 0)
      return bytes;
    bytes.append(buffer, 0, static_cast<size_t>(count));
  }
}

int run(int argc, char **argv) {
  uint64_t most = 0;
  std::set<std::string> skipped;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string flag = argv[i];
    if (flag == "--most")
      most = std::strtoull(argv[i + 1], nullptr, 10);
    else if (flag == "--skip")
      skipped.insert(argv[i + 1]);
  }
  if (most == 0 || argc % 2 == 0) {
    std::fprintf(stderr,
                 "usage: %s --most BYTES [--skip NAME]... < FILE\n"
                 "Writes what an HDF5 file holds, at most BYTES of it and nothing of the named top-level objects, "
                 "in the form of import/keras/Hdf5Form.h.\n",
                 program);
    return 1;
  }
  try {
    Output output([](std::string_view bytes) { writeAll(STDOUT_FILENO, bytes); }, most);
    readFile(inputBytes(), skipped, output);
  } catch (const Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::bad_alloc &) {
    std::fprintf(stderr, "needs more memory than a file of its size may\n");
    return 2;
  }
  return 0;
}

} // namespace
} // namespace lathe::keras::hdf5

int main(int argc, char **argv) { return lathe::keras::hdf5::run(argc, argv); }
