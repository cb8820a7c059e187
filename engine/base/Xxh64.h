#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

struct XXH64_state_s;  // of libxxhash

namespace lockstep::base {

/// XXH64 with seed 0 over a stream of bytes, by libxxhash: the digest depends on the bytes alone,
/// not on how they were cut into pieces. Run files and checkpoints hold such digests.
class Xxh64 {
 public:
  Xxh64();
  void update(const void* data, std::size_t bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  [[nodiscard]] std::uint64_t digest() const;

 private:
  struct Free {
    void operator()(XXH64_state_s* state) const;
  };
  std::unique_ptr<XXH64_state_s, Free> state_;
};

}  // namespace lockstep::base
