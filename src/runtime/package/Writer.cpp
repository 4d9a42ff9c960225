#include "package/Writer.h"

#include "package/Hash.h"
#include "package/KernelAbi.h"
#include "support/Error.h"
#include "support/PendingFile.h"

#include <cstring>
#include <functional>

namespace lathe::package {
namespace {

uint64_t alignTo(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

/// Receives the file from first byte to last.
using Sink = std::function<void(const void *data, size_t bytes)>;

/// Writes to a Sink, counts the bytes, and pads with zeros up to a file offset.
class Out {
public:
  explicit Out(Sink sink) : sink(std::move(sink)) {}
  void put(const void *data, size_t bytes) {
    sink(data, bytes);
    at += bytes;
  }
  void padTo(uint64_t offset) {
    static const char zeros[4096] = {};
    while (at < offset)
      put(zeros, std::min<uint64_t>(sizeof zeros, offset - at));
  }
  uint64_t position() const { return at; }

private:
  Sink sink;
  uint64_t at = 0;
};

/// Prefix, entry table and padding before the image.
std::vector<char> codeHead(const CodeSection &code, size_t kernels) {
  require(code.entries.size() == kernels, "internal: code for {} has {} kernel entries, the program has {} kernels",
          code.target, code.entries.size(), kernels);
  uint64_t table = sizeof(CodePrefix) + kernels * sizeof(uint64_t);
  uint64_t imageAt = alignTo(table, imageAlignment);
  std::vector<char> head(imageAt, 0);
  CodePrefix prefix{static_cast<uint32_t>(kernels), 0};
  std::memcpy(head.data(), &prefix, sizeof prefix);
  for (size_t i = 0; i < kernels; ++i) {
    require(code.entries[i] < code.image.size(), "internal: code for {}: kernel {} starts at byte {} of {}",
            code.target, i, code.entries[i], code.image.size());
    uint64_t entry = imageAt + code.entries[i];
    std::memcpy(head.data() + sizeof prefix + i * sizeof entry, &entry, sizeof entry);
  }
  return head;
}

uint64_t hashOf(const Constants &constants) {
  Hasher hasher;
  Out out([&](const void *data, size_t bytes) { hasher.update(data, bytes); });
  for (const Constants::Chunk &chunk : constants.chunks()) {
    out.padTo(chunk.offset);
    out.put(chunk.bytes.data(), chunk.bytes.size());
  }
  out.padTo(constants.bytes());
  return hasher.digest();
}

/// A package in memory, section by section, and how it is laid out in the file.
class FileImage {
public:
  FileImage(const plan::ProgramT &program, const Constants &constants, std::span<const CodeSection> code)
      : constants(constants), code(code), builder(1 << 20) {
    size_t kernels = 0;
    for (const auto &plan : program.plans)
      kernels += plan->kernels.size();
    require(kernels == 0 || !code.empty(), "internal: a program with {} kernels is written without code", kernels);
    plan::FinishProgramBuffer(builder, plan::CreateProgram(builder, &program));
    for (const CodeSection &section : code)
      heads.push_back(codeHead(section, kernels));
    layOut();
  }

  void write(const Sink &sink) const {
    Header header = this->header();
    Out out(sink);
    out.put(&header, sizeof header);
    out.put(table.data(), table.size() * sizeof(Section));
    out.padTo(table[0].offset);
    out.put(builder.GetBufferPointer(), builder.GetSize());
    out.padTo(table[1].offset);
    for (const Constants::Chunk &chunk : constants.chunks()) {
      out.padTo(table[1].offset + chunk.offset);
      out.put(chunk.bytes.data(), chunk.bytes.size());
    }
    out.padTo(table[1].offset + constants.bytes());
    for (size_t i = 0; i < code.size(); ++i) {
      out.padTo(table[2 + i].offset);
      out.put(heads[i].data(), heads[i].size());
      out.put(code[i].image.data(), code[i].image.size());
    }
  }

private:
  const Constants &constants;
  std::span<const CodeSection> code;
  flatbuffers::FlatBufferBuilder builder;
  std::vector<std::vector<char>> heads; // of the code sections
  std::vector<Section> table;           // plan, constants, code
  uint64_t end = 0;                     // bytes of the file

  Section &place(SectionKind kind, uint64_t bytes) {
    Section section{};
    section.kind = kind;
    section.offset = alignTo(end, sectionAlignment);
    section.bytes = bytes;
    end = section.offset + bytes;
    return table.emplace_back(section);
  }

  void layOut() {
    end = sizeof(Header) + (2 + code.size()) * sizeof(Section);
    place(SectionKind::plan, builder.GetSize()).hash = hash(builder.GetBufferPointer(), builder.GetSize());
    place(SectionKind::constants, constants.bytes()).hash = hashOf(constants);
    for (size_t i = 0; i < code.size(); ++i) {
      Section &section = place(SectionKind::code, heads[i].size() + code[i].image.size());
      Hasher hasher;
      addCode(hasher, i);
      section.hash = hasher.digest();
      section.features = code[i].features;
      require(code[i].target.size() < sizeof section.target, "internal: target text '{}' is too long", code[i].target);
      std::memcpy(section.target, code[i].target.data(), code[i].target.size());
    }
  }

  void addCode(Hasher &hasher, size_t i) const {
    hasher.update(heads[i].data(), heads[i].size());
    hasher.update(code[i].image.data(), code[i].image.size());
  }

  Header header() const {
    Header header{};
    std::memcpy(header.magic, magic, sizeof magic);
    header.formatVersion = formatVersion;
    header.kernelAbi = LATHE_KERNEL_ABI;
    header.fileBytes = end;
    header.sectionCount = static_cast<uint32_t>(table.size());
    Hasher hasher;
    hashTables(hasher, header, table);
    hasher.update(builder.GetBufferPointer(), builder.GetSize());
    for (size_t i = 0; i < code.size(); ++i)
      addCode(hasher, i);
    header.hash = hasher.digest();
    return header;
  }
};

} // namespace

uint64_t Constants::add(std::vector<char> bytes) {
  uint64_t key = hash(bytes.data(), bytes.size());
  auto [first, last] = byHash.equal_range(key);
  for (auto it = first; it != last; ++it)
    if (stored[it->second].bytes == bytes)
      return stored[it->second].offset;
  uint64_t offset = alignTo(end, constantAlignment);
  end = offset + bytes.size();
  byHash.emplace(key, stored.size());
  stored.push_back({offset, std::move(bytes)});
  return offset;
}

uint64_t Constants::addStrings(std::span<const std::string> elements, uint64_t &byteCount) {
  std::vector<char> bytes;
  for (const std::string &element : elements) {
    auto length = static_cast<uint32_t>(element.size());
    const char *raw = reinterpret_cast<const char *>(&length);
    bytes.insert(bytes.end(), raw, raw + sizeof length);
    bytes.insert(bytes.end(), element.begin(), element.end());
  }
  byteCount = bytes.size();
  return add(std::move(bytes));
}

uint64_t writePackage(const std::string &path, const plan::ProgramT &program, const Constants &constants,
                      std::span<const CodeSection> code) {
  PendingFile file(path);
  uint64_t written = 0;
  FileImage(program, constants, code).write([&](const void *data, size_t bytes) {
    file.write(static_cast<const char *>(data), bytes);
    written += bytes;
  });
  file.commit();
  return written;
}

std::vector<char> packageBytes(const plan::ProgramT &program, const Constants &constants,
                               std::span<const CodeSection> code) {
  std::vector<char> result;
  FileImage(program, constants, code).write([&](const void *data, size_t bytes) {
    auto *raw = static_cast<const char *>(data);
    result.insert(result.end(), raw, raw + bytes);
  });
  return result;
}

} // namespace lathe::package
