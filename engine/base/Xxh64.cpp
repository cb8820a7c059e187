#include "engine/base/Xxh64.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lockstep::base {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87ull;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Full;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9ull;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63ull;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5ull;

static_assert(std::endian::native == std::endian::little);

template <typename T>
T load(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

}  // namespace

void Xxh64::consume(const unsigned char* stripe) {
  for (std::size_t i = 0; i < 4; ++i) {
    lanes_[i] = round(lanes_[i], load<std::uint64_t>(stripe + 8 * i));
  }
}

void Xxh64::update(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  totalBytes_ += bytes;
  if (pendingBytes_ != 0) {
    const std::size_t take = std::min(bytes, pending_.size() - pendingBytes_);
    std::memcpy(pending_.data() + pendingBytes_, at, take);
    pendingBytes_ += take;
    at += take;
    bytes -= take;
    if (pendingBytes_ < pending_.size()) {
      return;
    }
    consume(pending_.data());
    pendingBytes_ = 0;
  }
  for (; bytes >= pending_.size(); bytes -= pending_.size(), at += pending_.size()) {
    consume(at);
  }
  if (bytes != 0) {
    std::memcpy(pending_.data(), at, bytes);
    pendingBytes_ = bytes;
  }
}

std::uint64_t Xxh64::digest() const {
  std::uint64_t hash = kPrime5;
  if (totalBytes_ >= pending_.size()) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) {
      hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
    }
  }
  hash += totalBytes_;
  const unsigned char* at = pending_.data();
  const unsigned char* end = at + pendingBytes_;
  for (; end - at >= 8; at += 8) {
    hash = std::rotl(hash ^ round(0, load<std::uint64_t>(at)), 27) * kPrime1 + kPrime4;
  }
  if (end - at >= 4) {
    hash = std::rotl(hash ^ load<std::uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
    at += 4;
  }
  for (; at != end; ++at) {
    hash = std::rotl(hash ^ *at * kPrime5, 11) * kPrime1;
  }
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

}  // namespace lockstep::base
