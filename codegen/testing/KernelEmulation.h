// For tests only: kernels of another architecture run in an emulator (qemu-user), one process for all slots of a call.
#pragma once

#include "codegen/target/Emit.h"
#include "codegen/testing/KernelTesting.h"

#include <span>
#include <utility>
#include <vector>

namespace lathe {

/// What kernel tests generate code for: the machine they run on, or what the environment variable LATHE_TEST_TARGET
/// names.
std::string testTargetName();
Target testTarget();

/// True when code for `target` does not run on this machine's architecture, only in an emulator.
bool needsEmulator(const Target &target);

/// Runs the first kernel of `image` over `slots` ([begin, end) each, in order) with scratch of its own; `memory` holds
/// the buffers before and after. Throws Error when the emulator cannot be started or the kernel crashes in it.
void runEmulated(const CodeImage &image, const Target &target, std::span<GuardedBuffer> memory,
                 const std::vector<int64_t> &dims, const std::vector<std::pair<int64_t, int64_t>> &slots,
                 int64_t scratchBytes);

} // namespace lathe
