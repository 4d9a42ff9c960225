// For tests only: runs kernels of another architecture in an emulator (qemu-user), in one process
// for all slots of a call.
#pragma once

#include "codegen/target/Emit.h"
#include "codegen/testing/KernelTesting.h"

#include <span>
#include <utility>
#include <vector>

namespace lathe {

/// The target for which kernel tests compile: the value of the environment variable LATHE_TEST_TARGET, else this
/// machine.
std::string testTargetName();
Target testTarget();

/// True if this machine can run code for `target` only in an emulator.
bool needsEmulator(const Target &target);

/// Runs the first kernel of `image` in the emulator for each slot ([begin, end), in order), each with its own scratch.
/// `memory` holds the buffers before and after the run. Throws Error if the emulator cannot be started or the kernel
/// crashes.
void runEmulated(const CodeImage &image, const Target &target, std::span<GuardedBuffer> memory,
                 const std::vector<int64_t> &dims, const std::vector<std::pair<int64_t, int64_t>> &slots,
                 int64_t scratchBytes);

} // namespace lathe
