#include "lab/providers/onednn/OneDnn.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <numeric>

namespace lathe::lab::onednn {

using Tag = dnnl::memory::format_tag;

Job::Job(const Problem &problem, const ProblemInputs &inputs, const std::string &variant, ActivationLayout layout)
    : problem(problem), inputs(inputs), variant(variant), layout(layout), results(problem.results()) {}

constexpr const char *numbered = "impl-";
constexpr int mostImplementations = 8;

std::vector<std::string> numberedImplementations() {
  std::vector<std::string> names;
  for (int number = 2; number <= mostImplementations; ++number)
    names.push_back(numbered + std::to_string(number));
  return names;
}

void Job::select(dnnl::primitive_desc &chosen) const {
  auto named = [&](const char *word) { return std::string(chosen.impl_info_str()).find(word) != std::string::npos; };
  if (variant == "gemm") {
    while (!named("gemm"))
      if (!chosen.next_impl())
        throw Declined{"oneDNN has no implementation of it by gemm"};
    return;
  }
  if (!variant.starts_with(numbered))
    return;
  int wanted = std::stoi(variant.substr(std::strlen(numbered))), found = 1;
  while (found < wanted)
    if (!chosen.next_impl())
      throw Declined{fmt::format("oneDNN has {} implementation{} of it", found, found == 1 ? "" : "s")};
    else
      found += !named("ref");
}

std::optional<dnnl::memory::data_type> dataType(ElementType type) {
  switch (type) {
  case ElementType::f32:
    return dnnl::memory::data_type::f32;
  case ElementType::bf16:
    return dnnl::memory::data_type::bf16;
  case ElementType::i8:
    return dnnl::memory::data_type::s8;
  case ElementType::u8:
    return dnnl::memory::data_type::u8;
  case ElementType::i32:
    return dnnl::memory::data_type::s32;
  default:
    return std::nullopt;
  }
}

Desc Job::rowMajor(const ProblemOperand &operand) {
  return rowMajor(operand, operand.dims.empty() ? Dims{1} : Dims(operand.dims));
}

Desc Job::rowMajor(const ProblemOperand &operand, const Dims &dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;)
    strides[i] = strides[i + 1] * std::max<int64_t>(dims[i + 1], 1);
  return strided(operand, dims, strides);
}

Desc Job::strided(const ProblemOperand &operand, const Dims &dims, const Dims &strides) {
  return {dims, dataType(operand.type).value(), strides};
}

Desc Job::blocked(const Desc &desc) {
  bool wide = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
  Tag tags[][2] = {{Tag::nCw8c, Tag::nCw16c}, {Tag::nChw8c, Tag::nChw16c}, {Tag::nCdhw8c, Tag::nCdhw16c}};
  size_t rank = desc.dims().size();
  return rank < 3 || rank > 5 ? desc : Desc(desc.dims(), desc.data_type(), tags[rank - 3][wide]);
}

Desc Job::channelsLast(const Desc &desc) {
  Tag tags[] = {Tag::nwc, Tag::nhwc, Tag::ndhwc};
  size_t rank = desc.dims().size();
  return rank < 3 || rank > 5 ? desc : Desc(desc.dims(), desc.data_type(), tags[rank - 3]);
}

Desc Job::laidOut(const Desc &row, const Desc &otherwise) const {
  switch (layout) {
  case ActivationLayout::row:
    return row;
  case ActivationLayout::blocked:
    return blocked(row);
  case ActivationLayout::channelsLast:
    return channelsLast(row);
  case ActivationLayout::any:
    break;
  }
  return otherwise;
}

const ProblemOperand *Job::operand(size_t index) const {
  auto operands = problem.byRecord();
  return index < operands.size() ? operands[index] : nullptr;
}

void Job::give(int argument, size_t index, const Desc &row, const Desc &wanted) {
  give(argument, inputs[index], row, wanted);
  if (const ProblemOperand *given = operand(index); given && given->constant)
    constantMemory.push_back(arguments[argument]);
}

std::vector<std::span<const char>> Job::constants() const {
  std::vector<std::span<const char>> ranges;
  for (auto &memory : constantMemory)
    ranges.emplace_back(static_cast<const char *>(memory.get_data_handle()), memory.get_desc().get_size());
  return ranges;
}

void Job::give(int argument, const Tensor &values, const Desc &row, const Desc &wanted) {
  dnnl::memory from(row, engine, const_cast<void *>(values.data())), to(wanted, engine);
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  arguments[argument] = to;
}

void Job::giveEpilogue(const Desc &result, int before) {
  size_t next = problem.byRecord().size();
  for (size_t i = 0; i < problem.epilogue.size(); ++i)
    if (takesSecondOperand(problem.epilogue[i]))
      give(DNNL_ARG_ATTR_MULTIPLE_POST_OP(before + int(i)) | DNNL_ARG_SRC_1, next++,
           rowMajor(results[0], result.dims()), result);
}

void Job::take(int argument, const Desc &made) { take(argument, made, made); }

void Job::take(int argument, const Desc &made, const Desc &seen) {
  dnnl::memory memory(made, engine);
  arguments[argument] = memory;
  taken.emplace_back(seen, engine, memory.get_data_handle());
}

std::vector<Tensor> Job::outputs() {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < taken.size(); ++i) {
    Tensor &tensor = tensors.emplace_back(results[i].type, results[i].dims);
    dnnl::memory from = taken[i], to(rowMajor(results[i], from.get_desc().dims()), engine, tensor.data());
    dnnl::reorder(from, to).execute(stream, from, to);
  }
  stream.wait();
  return tensors;
}

std::string layoutName(const Desc &desc) {
  const dnnl_memory_desc_t &data = desc.data;
  if (data.format_kind != dnnl_blocked)
    return "its own";
  auto &blocking = data.format_desc.blocking;
  auto rank = size_t(data.ndims);
  std::string letters = rank == 3 ? "ncw" : rank == 4 ? "nchw" : rank == 5 ? "ncdhw" : "abcdefghijkl";
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(-blocking.strides[a], a) < std::pair(-blocking.strides[b], b);
  });
  std::string name, blocks;
  for (int i = 0; i < blocking.inner_nblks; ++i)
    blocks += fmt::format("{}{}", blocking.inner_blks[i], letters[size_t(blocking.inner_idxs[i])]);
  for (size_t axis : order) {
    bool isBlocked = std::count(blocking.inner_idxs, blocking.inner_idxs + blocking.inner_nblks, int64_t(axis)) > 0;
    name += char(isBlocked ? std::toupper(letters[axis]) : letters[axis]);
  }
  return name + blocks;
}

} // namespace lathe::lab::onednn
