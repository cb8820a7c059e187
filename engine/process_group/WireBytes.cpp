#include "engine/process_group/WireBytes.h"

#include <numeric>
#include <vector>

namespace lockstep::process_group {

WireBytes wireBytes(const Call& call, int rank, int size, std::uint64_t exchangedBytes) {
  const std::uint64_t bytes = call.bytes;
  // Counted as if each pair of ranks had a link of its own, over which a block goes once: a
  // broadcast is size - 1 copies from the root, an allreduce in pieces 2 (size - 1) / size times
  // its bytes, each way (reduce-scatter and allgather).
  const auto others = static_cast<std::uint64_t>(size - 1);
  const bool atRoot = call.root == rank;
  const WireBytes fromRoot = atRoot ? WireBytes{bytes * others, 0} : WireBytes{0, bytes};
  const WireBytes toRoot = atRoot ? WireBytes{0, bytes * others} : WireBytes{bytes, 0};
  switch (call.operation) {
    case trace::Operation::kAllreduce: {
      const std::uint64_t each = bytes <= exchangedBytes
                                     ? bytes * others
                                     : 2 * bytes * others / static_cast<std::uint64_t>(size);
      return {each, each};
    }
    case trace::Operation::kAllgather:
    case trace::Operation::kReduceScatter:
      return {bytes * others, bytes * others};
    case trace::Operation::kBroadcast:
    case trace::Operation::kScatter:
      return fromRoot;
    case trace::Operation::kReduce:
    case trace::Operation::kGather:
      return toRoot;
    case trace::Operation::kAlltoall: {
      const auto self = static_cast<std::size_t>(rank);
      const auto sum = [&](const std::vector<std::uint64_t>& parts) {
        return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}) - parts[self];
      };
      return {sum(call.bytesTo), sum(call.bytesFrom)};
    }
    case trace::Operation::kSend:
      return {bytes, 0};
    case trace::Operation::kRecv:
      return {0, bytes};
    default:
      return {};
  }
}

}  // namespace lockstep::process_group
