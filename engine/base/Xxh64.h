#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockstep::base {

/// XXH64 with seed 0 over a stream of bytes (Y. Collet, xxHash fast digest algorithm): the
/// digest depends on the bytes alone, not on how they were cut into pieces.
class Xxh64 {
 public:
  void update(const void* data, std::size_t bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  [[nodiscard]] std::uint64_t digest() const;

 private:
  void consume(const unsigned char* stripe);

  std::array<std::uint64_t, 4> lanes_{0x60EA27EEADC0B5D6ull, 0xC2B2AE3D27D4EB4Full, 0,
                                      0x61C8864E7A143579ull};
  std::array<unsigned char, 32> pending_{};
  std::size_t pendingBytes_ = 0;
  std::uint64_t totalBytes_ = 0;
};

}  // namespace lockstep::base
