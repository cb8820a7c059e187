#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ByteCodec.h"

namespace lockstep::store::detail {

// Note [The wire of TCPStore]
// A client opens with kHello, followed by the store's token if it has one; the server answers with
// kHello. Then the client sends one request at a time, and the server answers each with one reply;
// a frame is
//   u32 length of what follows | u8 operation or status | fields
// with the fields as Note [Bytes on a wire] has them. After kWatch and its reply a
// connection takes no more requests; the server sends a kChanged for each change of the key. The
// server closes a connection that breaks these rules; nothing a client sends does more harm than
// that.

inline constexpr std::string_view kHello = "LKSTTCP2";
inline constexpr std::size_t kLongestKey = 64U << 10;
inline constexpr std::size_t kLongestValue = 64U << 20;
inline constexpr std::size_t kMostKeys = 1U << 16;
inline constexpr std::size_t kMostStored = 256U << 20;  ///< bytes of all keys and values
inline constexpr std::size_t kLongestFrame = kLongestValue + 2 * kLongestKey;
/// A kChanged holds two values; a watcher that has more than two of them to read is dropped.
inline constexpr std::size_t kLongestNotice = 2 * kLongestValue + 64;
inline constexpr std::size_t kMostUnreadNotices = 2 * kLongestNotice;

enum class Request : std::uint8_t {
  kSet = 1,      ///< key, value
  kGet,          ///< key, timeoutMs; answered once the key exists
  kAdd,          ///< key, amount
  kCompareSet,   ///< key, expected, desired
  kDelete,       ///< key
  kCheck,        ///< keys
  kNumKeys,      ///<
  kWait,         ///< keys, timeoutMs; answered once all exist
  kWaitAtLeast,  ///< key, amount, timeoutMs; answered once the number at key is that large
  kAppend,       ///< key, value
  kMultiGet,     ///< keys, timeoutMs; answered once all exist
  kMultiSet,     ///< keys, then as many values
  kWatch,        ///< key
};

enum class Reply : std::uint8_t {
  kOk = 1,      ///< value or number, as the operation has it
  kNotANumber,  ///< the value that stands
  kTimeout,     ///< keys that are missing; kWaitAtLeast: the number that stands
  kTooLarge,    ///< i64: bytes that the value, the reply, or all that is stored would have
  kChanged,     ///< u8 1 = it existed, 2 = it exists, 3 = both; value before, value after
};

/// Takes the keys of a call; nothing where they are too many or one is too long.
std::optional<std::vector<std::string>> takeKeys(base::ByteReader& reader);

/// Puts the length before a frame's content.
std::string framed(std::string_view content);

}  // namespace lockstep::store::detail
