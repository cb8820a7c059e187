#include "engine/base/Xxh64.h"

#include <xxhash.h>

namespace lockstep::base {

void Xxh64::Free::operator()(XXH64_state_s* state) const {
  XXH64_freeState(state);
}

Xxh64::Xxh64() : state_(XXH64_createState()) {
  XXH64_reset(state_.get(), 0);
}

void Xxh64::update(const void* data, std::size_t bytes) {
  XXH64_update(state_.get(), data, bytes);
}

std::uint64_t Xxh64::digest() const {
  return XXH64_digest(state_.get());
}

}  // namespace lockstep::base
