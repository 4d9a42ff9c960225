// Names of nodes and tensors as messages and the command line use them.
#include "import/onnx/Graph.h"
#include "ir/ModelText.h"

#include <llvm/Support/MemoryBuffer.h>

#include <climits>
#include <set>

namespace lathe {
namespace onnx {

std::string printable(std::string name) {
  for (char &c : name)
    if (std::iscntrl(static_cast<unsigned char>(c)))
      c = '?';
  return name;
}

std::string nodeName(const NodeProto &node) {
  std::string name = node.name();
  for (int i = 0; name.empty() && i < node.output_size(); ++i)
    name = node.output(i);
  return printable(std::move(name));
}

namespace {

TensorOrigins originsOf(const GraphProto &graph) {
  std::set<std::string> read;
  for (const NodeProto &node : graph.node())
    read.insert(node.input().begin(), node.input().end());
  for (const ValueInfoProto &output : graph.output())
    read.insert(output.name());
  TensorOrigins origins;
  std::map<std::string, std::string> passedOn;
  for (const NodeProto &node : graph.node()) {
    size_t used = 0;
    for (int i = 0; i < node.output_size(); ++i) {
      origins[node.output(i)] = {nodeName(node), static_cast<size_t>(i), used};
      used += read.contains(node.output(i));
    }
    if ((node.op_type() == "Identity" || node.op_type() == "Dropout") && node.input_size() && node.output_size()) {
      auto before = passedOn.find(node.input(0)); // chains stay short where nodes stand in order
      passedOn[node.output(0)] = before == passedOn.end() ? node.input(0) : before->second;
    }
  }
  for (auto &[name, origin] : origins) {
    std::string source = name;
    for (size_t steps = 0; passedOn.contains(source) && steps <= passedOn.size(); ++steps)
      source = passedOn[source];
    if (auto found = origins.find(source); found != origins.end())
      origin = found->second;
    else
      origin = {source, 0, 0};
  }
  return origins;
}

} // namespace
} // namespace onnx

TensorOrigins tensorOrigins(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  require(static_cast<bool>(file), "{}: {}", path, file ? "" : file.getError().message());
  std::string_view bytes((*file)->getBufferStart(), (*file)->getBufferSize());
  if (nn::looksLikeText(path, bytes) || bytes.size() > INT_MAX)
    return {};
  onnx::ModelProto model;
  require(model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())), "{}: is not an ONNX model or is damaged",
          path);
  return onnx::originsOf(model.graph());
}

} // namespace lathe
