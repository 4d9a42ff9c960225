#include "lab/judging/NodeInstruction.h"

#include <algorithm>

namespace lathe::lab {

std::optional<uint32_t> instructionOf(const runtime::Context &context, const std::string &node) {
  std::optional<uint32_t> found;
  for (uint32_t i = 0; i < context.instructionCount(); ++i) {
    runtime::InstructionInfo info = context.instruction(i);
    if (info.name == node || std::find(info.nodes.begin(), info.nodes.end(), node) != info.nodes.end())
      found = i;
  }
  return found;
}

} // namespace lathe::lab
