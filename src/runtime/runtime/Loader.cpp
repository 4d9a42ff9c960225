#include "runtime/Loader.h"

#include "package/Hash.h"
#include "package/KernelAbi.h"
#include "runtime/Cpu.h"
#include "support/Error.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace lathe::runtime {

static_assert(std::endian::native == std::endian::little, "packages are little-endian");

Mapping::Mapping(Mapping &&other) noexcept
    : address(std::exchange(other.address, nullptr)), length(std::exchange(other.length, 0)) {}
Mapping &Mapping::operator=(Mapping &&other) noexcept {
  std::swap(address, other.address);
  std::swap(length, other.length);
  return *this;
}
Mapping::~Mapping() {
  if (address)
    ::munmap(address, length);
}

Mapping Mapping::allocate(size_t bytes, const std::string &what) {
  if (bytes == 0)
    return {};
  void *address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(address != MAP_FAILED, "{}: cannot get {} bytes of memory: {}", what, bytes, std::strerror(errno));
  return {address, bytes};
}

namespace {

using package::Header;
using package::Section;
using package::SectionKind;

/// Where a package's bytes come from.
class Source {
public:
  virtual ~Source() = default;
  virtual uint64_t size() const = 0;
  /// Reads [offset, offset + bytes), which lies inside. Throws Error when reading fails.
  virtual void read(uint64_t offset, void *to, size_t bytes) const = 0;
  virtual void placeConstants(const Section &section, LoadedPackage &package) const = 0;
  /// Nothing for memory.
  virtual std::optional<FileIdentity> identity() const { return std::nullopt; }
};

class File : public Source {
public:
  /// `name` stands for the file in messages.
  File(const std::string &file, const std::string &name) : path(name) {
    // Not blocking: a pipe without writer must not hang the program.
    descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    require(descriptor >= 0, "{}: cannot open: {}", path, std::strerror(errno));
    struct stat status;
    bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    if (!regular) {
      ::close(descriptor);
      fail("{}: expected a package, got {}", path, S_ISDIR(status.st_mode) ? "a directory" : "no regular file");
    }
    length = static_cast<uint64_t>(status.st_size);
  }
  ~File() override { ::close(descriptor); }
  uint64_t size() const override { return length; }
  void read(uint64_t offset, void *to, size_t bytes) const override {
    auto *at = static_cast<char *>(to);
    while (bytes) {
      ssize_t got = ::pread(descriptor, at, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR)
        continue;
      require(got > 0, "{}: cannot read: {}", path, got == 0 ? "the file became shorter" : std::strerror(errno));
      at += got;
      offset += static_cast<uint64_t>(got);
      bytes -= static_cast<size_t>(got);
    }
  }
  void placeConstants(const Section &section, LoadedPackage &package) const override {
    void *address =
        ::mmap(nullptr, section.bytes, PROT_READ, MAP_PRIVATE, descriptor, static_cast<off_t>(section.offset));
    require(address != MAP_FAILED, "{}: cannot map {} bytes of constants: {}", path, section.bytes,
            std::strerror(errno));
    ::madvise(address, section.bytes, MADV_WILLNEED);
    package.constantPages = Mapping(address, section.bytes);
    package.constants = {package.constantPages.data(), section.bytes};
  }

  std::optional<FileIdentity> identity() const override {
    struct stat status;
    if (::fstat(descriptor, &status) != 0)
      return std::nullopt;
    auto nanoseconds = [](const timespec &time) { return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec; };
    return FileIdentity{status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
                        nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
  }

private:
  const std::string &path;
  int descriptor;
  uint64_t length = 0;
};

class Memory : public Source {
public:
  Memory(std::span<const char> bytes, const std::string &name, std::shared_ptr<const void> keepAlive)
      : bytes(bytes), name(name), keepAlive(std::move(keepAlive)) {}
  uint64_t size() const override { return bytes.size(); }
  void read(uint64_t offset, void *to, size_t count) const override {
    if (count)
      std::memcpy(to, bytes.data() + offset, count);
  }
  void placeConstants(const Section &section, LoadedPackage &package) const override {
    const char *from = bytes.data() + section.offset;
    if (keepAlive && reinterpret_cast<uintptr_t>(from) % package::constantAlignment == 0) {
      package.constants = {from, section.bytes};
      package.keepAlive = keepAlive;
      return;
    }
    package.constantPages = Mapping::allocate(section.bytes, name);
    std::memcpy(package.constantPages.data(), from, section.bytes);
    package.constants = {package.constantPages.data(), section.bytes};
  }

private:
  std::span<const char> bytes;
  const std::string &name;
  std::shared_ptr<const void> keepAlive;
};

std::string_view targetOf(const Section &section) {
  return {section.target, ::strnlen(section.target, sizeof section.target)};
}

class PackageReader {
public:
  PackageReader(const Source &source, const std::string &name, const LoadOptions &options)
      : source(source), name(name), options(options) {}

  LoadedPackage read() {
    readHeader();
    readSections();
    std::vector<std::vector<char>> contents = readChecked();
    const Section *code = chooseCode();
    // Everything is known to be good: from here on pages are mapped.
    LoadedPackage package;
    for (size_t i = 0; i < sections.size(); ++i) {
      if (sections[i].kind == SectionKind::plan)
        package.plan = std::move(contents[i]);
      else if (sections[i].kind == SectionKind::constants && sections[i].bytes)
        placeConstants(sections[i], package);
      else if (&sections[i] == code)
        placeCode(contents[i], package);
    }
    if (code)
      package.target = targetOf(*code);
    if (options.checkConstants)
      package.contentHash = contentHash();
    return package;
  }

private:
  const Source &source;
  const std::string &name;
  const LoadOptions &options;
  Header header{};
  std::vector<Section> sections;

  void readHeader() {
    char start[sizeof(package::magic)] = {};
    source.read(0, start, std::min<uint64_t>(sizeof start, source.size()));
    require(source.size() >= sizeof start && std::memcmp(start, package::magic, sizeof start) == 0,
            "{}: expected a package (model.lathe), got another kind of file", name);
    require(source.size() >= sizeof header, "{}: truncated: {} bytes, expected at least {}", name, source.size(),
            sizeof header);
    source.read(0, &header, sizeof header);
    require(header.formatVersion >= package::oldestFormat && header.formatVersion <= package::formatVersion,
            "{}: package format {}, expected {} to {}: compile the model again", name, header.formatVersion,
            package::oldestFormat, package::formatVersion);
    require(header.kernelAbi == LATHE_KERNEL_ABI, "{}: kernel ABI {}, expected {}: compile the model again", name,
            header.kernelAbi, LATHE_KERNEL_ABI);
    require(header.fileBytes <= source.size(), "{}: truncated: {} bytes, expected {}", name, source.size(),
            header.fileBytes);
    require(header.fileBytes == source.size(), "{}: altered: {} bytes, expected {}", name, source.size(),
            header.fileBytes);
    for (uint32_t word : header.reserved)
      require(word == 0, "{}: altered: the header's reserved words are not zero", name);
  }

  void readSections() {
    uint64_t room = source.size() - sizeof header;
    require(header.sectionCount >= 1 && header.sectionCount <= 1024 && header.sectionCount * sizeof(Section) <= room,
            "{}: altered: {} sections in {} bytes", name, header.sectionCount, source.size());
    sections.resize(header.sectionCount);
    source.read(sizeof header, sections.data(), sections.size() * sizeof(Section));
    int plans = 0, constants = 0;
    uint64_t end = sizeof header + sections.size() * sizeof(Section);
    for (const Section &section : sections) {
      require(section.kind >= SectionKind::plan && section.kind <= SectionKind::code && section.flags == 0,
              "{}: altered: a section of kind {} with flags {}", name, uint32_t(section.kind), section.flags);
      require(section.offset % package::sectionAlignment == 0 && section.offset <= source.size() &&
                  section.bytes <= source.size() - section.offset && section.offset >= sizeof header,
              "{}: altered: a section of {} bytes at {} in a file of {}", name, section.bytes, section.offset,
              source.size());
      // Sections follow one another. Only padding lies between them, and it must be zero.
      uint64_t expected = (end + package::sectionAlignment - 1) / package::sectionAlignment * package::sectionAlignment;
      require(section.offset == expected, "{}: altered: a section at byte {}, expected {}", name, section.offset,
              expected);
      checkPadding(end, section.offset);
      end = section.offset + section.bytes;
      plans += section.kind == SectionKind::plan;
      constants += section.kind == SectionKind::constants;
    }
    require(plans == 1 && constants <= 1, "{}: altered: {} plans and {} sections of constants", name, plans, constants);
    require(end == source.size(), "{}: altered: {} bytes behind the last section", name, source.size() - end);
  }

  void checkPadding(uint64_t begin, uint64_t end) const {
    std::vector<char> padding(end - begin);
    source.read(begin, padding.data(), padding.size());
    for (size_t i = 0; i < padding.size(); ++i)
      require(padding[i] == 0, "{}: altered: byte {} lies between sections and is not zero", name, begin + i);
  }

  /// Header and section table hold the hashes of everything else.
  uint64_t contentHash() const {
    package::Hasher hasher;
    hasher.update(&header, sizeof header);
    hasher.update(sections.data(), sections.size() * sizeof(Section));
    return hasher.digest();
  }

  /// Reads the plan and code sections and checks their hashes, and the hash of the constants unless the caller declines
  /// it.
  std::vector<std::vector<char>> readChecked() {
    package::Hasher hasher;
    package::hashTables(hasher, header, sections);
    std::vector<std::vector<char>> contents(sections.size());
    for (SectionKind kind : {SectionKind::plan, SectionKind::code})
      for (size_t i = 0; i < sections.size(); ++i)
        if (sections[i].kind == kind) {
          contents[i].resize(sections[i].bytes);
          source.read(sections[i].offset, contents[i].data(), contents[i].size());
          hasher.update(contents[i].data(), contents[i].size());
        }
    require(hasher.digest() == header.hash,
            "{}: altered: the hash of header, plan and code is {:016x}, expected {:016x}", name, hasher.digest(),
            header.hash);
    if (options.checkConstants)
      checkConstants();
    return contents;
  }

  void checkConstants() const {
    std::optional<FileIdentity> before = options.checkedFiles ? source.identity() : std::nullopt;
    if (before && options.checkedFiles->has(*before, contentHash()))
      return;
    for (const Section &section : sections)
      if (section.kind == SectionKind::constants)
        checkConstants(section);
    // A change within the resolution of a file system's times (up to two seconds) would not show later.
    constexpr int64_t resolution = 2000000000;
    timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    int64_t latest = int64_t(now.tv_sec) * 1000000000 + now.tv_nsec - resolution;
    if (before && before->modified < latest && before->changed < latest && source.identity() == before)
      options.checkedFiles->add(*before, contentHash());
  }

  void checkConstants(const Section &section) const {
    package::Hasher hasher;
    std::vector<char> piece(std::min<uint64_t>(section.bytes, 1 << 20));
    for (uint64_t at = 0; at < section.bytes; at += piece.size()) {
      size_t bytes = std::min<uint64_t>(piece.size(), section.bytes - at);
      source.read(section.offset + at, piece.data(), bytes);
      hasher.update(piece.data(), bytes);
    }
    require(hasher.digest() == section.hash, "{}: altered: the hash of the constants is {:016x}, expected {:016x}",
            name, hasher.digest(), section.hash);
  }

  /// The code section that requires most features of this CPU; null if the package has no code.
  const Section *chooseCode() const {
    uint64_t have = options.cpuFeatures.value_or(cpuFeatures());
    const Section *best = nullptr, *nearest = nullptr;
    for (const Section &section : sections) {
      if (section.kind != SectionKind::code)
        continue;
      uint64_t missing = section.features & ~have;
      if (!missing && (!best || std::popcount(section.features) > std::popcount(best->features)))
        best = &section;
      if (!nearest || std::popcount(missing) < std::popcount(nearest->features & ~have))
        nearest = &section;
    }
    if (best || !nearest)
      return best;
    std::string missing = package::featureNames(nearest->features & ~have);
    fail("{}: compiled for {} and needs {}, which this CPU lacks", name, targetOf(*nearest),
         missing.empty() ? "features unknown to this runtime" : missing);
  }

  void placeConstants(const Section &section, LoadedPackage &package) const { source.placeConstants(section, package); }

  /// Never writable and executable at once: filled while writable, then sealed. A private copy, because the file may
  /// change after its hash was taken, and may lie where nothing can be mapped executable.
  void placeCode(const std::vector<char> &bytes, LoadedPackage &package) const {
    package::CodePrefix prefix{};
    bool fits = bytes.size() >= sizeof prefix;
    if (fits) {
      std::memcpy(&prefix, bytes.data(), sizeof prefix);
      fits = (bytes.size() - sizeof prefix) / sizeof(uint64_t) >= prefix.kernelCount;
    }
    require(fits, "{}: malformed code section of {} bytes", name, bytes.size());
    package.entries.resize(prefix.kernelCount);
    std::memcpy(package.entries.data(), bytes.data() + sizeof prefix, prefix.kernelCount * sizeof(uint64_t));
    for (uint64_t entry : package.entries)
      require(entry >= sizeof prefix + prefix.kernelCount * sizeof(uint64_t) && entry < bytes.size(),
              "{}: malformed code section: a kernel starts at byte {} of {}", name, entry, bytes.size());
    package.code = ExecutableCode(bytes, name);
  }
};

} // namespace

LoadedPackage loadPackageFile(const std::string &path, const LoadOptions &options) {
  const std::string &name = options.name.empty() ? path : options.name;
  File file(path, name);
  return PackageReader(file, name, options).read();
}

LoadedPackage loadPackageBytes(std::span<const char> bytes, const std::string &name,
                               std::shared_ptr<const void> keepAlive, const LoadOptions &options) {
  Memory memory(bytes, name, std::move(keepAlive));
  return PackageReader(memory, name, options).read();
}

} // namespace lathe::runtime
