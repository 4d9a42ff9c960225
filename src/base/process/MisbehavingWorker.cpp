// A worker that answers properly unless its first argument names a way to go wrong. For ProcessTest.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

int main(int argc, char **argv) {
  std::string how = argc > 1 ? argv[1] : "";
  std::cerr << "worker: " << how << std::endl;
  if (how == "leave-at-once")
    return 3;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (how == "crash")
      std::raise(SIGSEGV);
    if (how == "abort")
      std::abort();
    if (how == "hang")
      pause();
    if (how == "child-spins" && fork() != 0)
      pause();
    if (how == "spin" || how == "child-spins")
      for (volatile unsigned i = 0;; i = i + 1) {
      }
    if (how == "leave")
      return 7;
    if (how == "garbage")
      std::cout << "Segmentation something\x01\xff" << std::endl;
    if (how == "number")
      std::cout << "42" << std::endl;
    if (how == "half") {
      std::cout << "{\"answer\": " << std::flush;
      return 0;
    }
    if (how == "endless") {
      std::vector<char> noise(1 << 16, 'x');
      while (std::fwrite(noise.data(), 1, noise.size(), stdout)) {
      }
    }
    if (how == "close-output") {
      close(1);
      pause();
    }
    if (how == "leave-group") { // beyond the reach of signals to its group, as programs that start shells do
      pid_t other = fork();
      if (other == 0) {
        setpgid(0, 0);
        std::cin.ignore(1 << 20); // until its supervisor is gone
        return 0;
      }
      while (setpgid(other, other) != 0 || setpgid(0, other) != 0) {
      }
    }
    if (how == "other-user" && setresuid(0, 0, 0) != 0) // a setuid program that takes its owner's identity
      return 8;
    if (how == "orphan" && fork() == 0) // a descendant that keeps the pipes open
      for (;;)
        pause();
    if (how == "orphan")
      return 5;
    if (how == "eat") {
      std::vector<char *> blocks;
      while (true) {
        auto *block = new char[4 << 20];
        std::memset(block, 1, 4 << 20);
        blocks.push_back(block);
      }
    }
    if (how == "stderr-flood")
      for (int i = 0; i < 20000; ++i)
        std::cerr << "line " << i << "\n";
    if (how == "deaf") // reads no more
      for (;;)
        pause();
    std::cout << "\n{\"echo\": " << line << ", \"pid\": " << getpid() << ", \"variable\": \""
              << (getenv("LATHE_PROBE") ? getenv("LATHE_PROBE") : "") << "\", \"second\": \""
              << (argc > 2 ? argv[2] : "") << "\"}" << std::endl;
  }
  return how == "bad-end" ? 9 : 0;
}
