#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep::trace {

/// Operations of a ProcessGroup; the numbers stand in run files.
enum class Operation : std::uint8_t {
  kNone = 0,
  kBroadcast = 1,
  kAllreduce = 2,
  kReduce = 3,
  kAllgather = 4,
  kGather = 5,
  kScatter = 6,
  kReduceScatter = 7,
  kAlltoall = 8,
  kSend = 9,
  kRecv = 10,
  kBarrier = 11,
};

/// Of an operation or event that belongs to no bucket.
inline constexpr std::uint16_t kNoBucket = 0xFFFF;

/// Packs what identifies a collective: sequence number (per group, 24 bits, wraps) and
/// payload bytes (40 bits).
constexpr std::uint64_t packCollective(std::uint64_t sequence, std::uint64_t bytes) {
  return (sequence & 0xFFFFFF) << 40 | (bytes & 0xFF'FFFF'FFFF);
}
constexpr std::uint32_t collectiveSequence(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 40);
}
constexpr std::uint64_t collectiveBytes(std::uint64_t value) {
  return value & 0xFF'FFFF'FFFF;
}

/// Packs operation (low byte) and group number (high byte; 0 is the default group).
constexpr std::uint16_t packOperation(Operation operation, std::uint8_t group = 0) {
  return static_cast<std::uint16_t>(static_cast<std::uint16_t>(group) << 8 |
                                    static_cast<std::uint8_t>(operation));
}
constexpr Operation operationOf(std::uint16_t detail) {
  return static_cast<Operation>(detail & 0xFF);
}
constexpr std::uint8_t groupOf(std::uint16_t detail) {
  return static_cast<std::uint8_t>(detail >> 8);
}

/// As the run file's `operations` table and the views show it: "allreduce".
std::string_view name(Operation operation);

}  // namespace lockstep::trace
