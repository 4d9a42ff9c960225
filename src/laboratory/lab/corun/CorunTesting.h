// A small package as a member, for tests of what runs without end.
#pragma once

#include "lab/corun/CorunProcess.h"
#include "lab/corun/OutputsHash.h"
#include "runtime/Context.h"
#include "runtime/NpyTensor.h"
#include "runtime/testing/TestPlan.h"

#include <filesystem>
#include <fstream>
#include <sched.h>

namespace lathe::lab {

inline int firstCpu() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed))
    ++cpu;
  return cpu;
}

/// A member that computes x / 2 of four elements, by `instances` contexts on the first CPU. Its files are in `folder`.
inline CorunMember halfMember(const std::filesystem::path &folder, const std::string &name, size_t instances = 1) {
  runtime::testing::TestPlan plan;
  uint32_t x = plan.input("x", {"4"});
  plan.half(x, plan.output("y", {"4"}), "4");
  CorunMember member;
  member.package = (folder / (name + ".lathe")).string();
  std::vector<char> bytes = plan.bytes();
  std::ofstream(member.package, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  Tensor input = Tensor::of<float>({4}, {1, 2, 3, 5});
  member.inputs["x"] = (folder / "x.npy").string();
  writeNpy(member.inputs["x"], npyView(input));
  runtime::Context context(runtime::Model::load(member.package));
  context.setInput(0, input);
  context.run();
  member.outputs = outputsHash(context);
  member.instances.assign(instances, {firstCpu()});
  return member;
}

} // namespace lathe::lab
