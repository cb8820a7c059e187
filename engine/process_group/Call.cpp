#include "engine/process_group/Call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "engine/base/Clock.h"

namespace lockstep::process_group {
namespace {

std::string_view rootPreposition(trace::Operation operation) {
  switch (operation) {
    case trace::Operation::kBroadcast:
    case trace::Operation::kScatter:
    case trace::Operation::kRecv: return "from";
    default: return "to";
  }
}

}  // namespace

std::string dtypeName(c10::ScalarType dtype) {
  std::string name = c10::toString(dtype);
  for (char& letter : name) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return name;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  // The finaliser of splitmix64.
  hash += value + 0x9e3779b97f4a7c15;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}

void Call::describeTensors(const std::vector<at::Tensor>& list) {
  tensors = static_cast<std::uint32_t>(list.size());
  elements = bytes = layout = shapes = 0;
  for (const at::Tensor& tensor : list) {
    elements += static_cast<std::uint64_t>(tensor.numel());
    bytes += tensor.nbytes();
    layout = mix(layout, static_cast<std::uint64_t>(tensor.scalar_type()));
    layout = mix(layout, static_cast<std::uint64_t>(tensor.numel()));
    // Layout and shapes are apart: most operations care for how much of what dtype moves, and not
    // whether it is 2 × 3 or 3 × 2.
    shapes = mix(shapes, static_cast<std::uint64_t>(tensor.dim()));
    for (const std::int64_t size : tensor.sizes()) {
      shapes = mix(shapes, static_cast<std::uint64_t>(size));
    }
  }
  if (!list.empty()) {
    dtype = list.front().scalar_type();
  }
}

bool reduces(trace::Operation operation) {
  return operation == trace::Operation::kAllreduce || operation == trace::Operation::kReduce ||
         operation == trace::Operation::kReduceScatter;
}

bool isDirect(trace::Operation operation) {
  return operation == trace::Operation::kSend || operation == trace::Operation::kRecv;
}

std::chrono::milliseconds timeLimit(std::chrono::milliseconds ofCall,
                                    std::chrono::milliseconds ofGroup) {
  // Deadlines are now + limit on a clock that counts ns in 64 bits.
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  return std::min(ofCall == kNoTimeout ? ofGroup : ofCall, kLongest);
}

std::chrono::milliseconds timeLimit(const CallOptions& options, const ProcessGroup& group) {
  return timeLimit(options.timeout, group.timeout());
}

std::string describe(const Call& call) {
  std::string text(trace::name(call.operation));
  if (reduces(call.operation)) {
    text += fmt::format("({})", name(call.reduce));
  }
  if (call.root >= 0) {
    text += fmt::format(" {} rank {}", rootPreposition(call.operation), call.root);
  }
  if (call.operation == trace::Operation::kBarrier) {
    return text;
  }
  if (call.tensors == 1) {
    return text + fmt::format(" of {} {}", call.elements, dtypeName(call.dtype));
  }
  return text + fmt::format(" of {} tensors, {} bytes", call.tensors, call.bytes);
}

void tellOldest(trace::LastWords& words, const Call* oldest) {
  if (oldest == nullptr) {
    words.operation.store(0, std::memory_order_relaxed);
    words.bucket.store(trace::kNoBucket, std::memory_order_relaxed);
    words.sequence.store(0, std::memory_order_relaxed);
    return;
  }
  words.bucket.store(oldest->options.bucket, std::memory_order_relaxed);
  words.sequence.store(static_cast<std::uint32_t>(oldest->sequence), std::memory_order_relaxed);
  words.sinceTicks.store(base::ticks(), std::memory_order_relaxed);
  words.operation.store(static_cast<std::uint8_t>(oldest->operation), std::memory_order_relaxed);
}

std::uint64_t fingerprint(const Call& call) {
  // In an alltoall each pair of ranks has sizes of its own, which both sides know (Mismatch.cpp);
  // only the dtype is common to all.
  const bool pairwise = call.operation == trace::Operation::kAlltoall;
  std::uint64_t hash = mix(static_cast<std::uint64_t>(call.operation),
                           pairwise ? static_cast<std::uint64_t>(call.dtype) : call.layout);
  hash = mix(hash, reduces(call.operation) ? static_cast<std::uint64_t>(call.reduce) : 0);
  hash = mix(hash, static_cast<std::uint64_t>(call.root + 1));
  return mix(hash, call.tensors);
}

}  // namespace lockstep::process_group
