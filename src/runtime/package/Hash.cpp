#include "package/Hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace lathe::package {

struct Hasher::State {
  XXH3_state_t xxh; // carries its own 64-byte alignment
};

Hasher::Hasher() : state(std::make_unique<State>()) { XXH3_64bits_reset(&state->xxh); }
Hasher::~Hasher() = default;

void Hasher::update(const void *data, size_t bytes) {
  if (bytes)
    XXH3_64bits_update(&state->xxh, data, bytes);
}

uint64_t Hasher::digest() const { return XXH3_64bits_digest(&state->xxh); }

uint64_t hash(const void *data, size_t bytes) { return XXH3_64bits(data, bytes); }

void hashTables(Hasher &hasher, Header header, std::span<const Section> sections) {
  header.hash = 0;
  if (header.formatVersion >= 9)
    hasher.update(&header, sizeof header);
  hasher.update(sections.data(), sections.size_bytes());
}

} // namespace lathe::package
