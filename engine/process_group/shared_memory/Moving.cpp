// Collectives that only move data, and the barrier.

#include <algorithm>

#include "engine/process_group/shared_memory/Collective.h"

namespace lockstep::process_group::shared_memory {
namespace {

using Access = Flat::Access;

// Of an alltoall: where a rank's bytes for this one begin is on the board.
constexpr std::uint64_t kAsTold = ~std::uint64_t{0};

// What this rank takes of what another one shows.
struct Part {
  int rank;
  std::uint64_t begin;
  std::uint64_t bytes;
};

class Move final : public Collective {
 public:
  // The outputs are filled by the parts, one after the other.
  Move(std::vector<at::Tensor> shown, std::vector<at::Tensor> outputs, std::vector<Part> parts)
      : Collective(Flat(shown, Access::kRead), !shown.empty()),
        outputs_(std::move(outputs), Access::kWrite),
        parts_(std::move(parts)) {}

  void take(const Windows& windows) override {
    std::uint64_t place = 0;
    for (const Part& part : parts_) {
      const std::uint64_t begin = part.begin == kAsTold ? windows.beginFor(part.rank) : part.begin;
      windows.copy(part.rank, {begin, begin + part.bytes}, outputs_, place);
      place += part.bytes;
    }
  }
  void finish() override { outputs_.copyBack(); }

 private:
  Flat outputs_;
  const std::vector<Part> parts_;
};

}  // namespace

void Windows::copy(int rank, Range wanted, Flat& out, std::uint64_t place) const {
  const std::uint64_t begin = std::max(wanted.begin, range_.begin);
  const std::uint64_t end = std::min(wanted.end, range_.end);
  if (begin >= end) {
    return;
  }
  const std::uint64_t to = place + (begin - wanted.begin);
  if (rank != rank_) {
    out.write(to, end - begin, at(rank, begin));
    return;
  }
  // This rank's own tensors may be several blocks of memory; another rank's bytes are one.
  own_.forEachPart(begin, end - begin,
                   [&](const std::byte* data, std::uint64_t offset, std::uint64_t bytes) {
                     out.write(to + offset, bytes, data);
                   });
}

CollectivePtr makeMove(const Request& request, int rank) {
  const Call& call = request.call;
  std::vector<Part> parts;
  switch (call.operation) {
    case trace::Operation::kBroadcast:
      if (rank == call.root) {
        return std::make_unique<Move>(request.outputs, std::vector<at::Tensor>(), parts);
      }
      parts.push_back({call.root, 0, call.bytes});
      break;
    case trace::Operation::kScatter:
      parts.push_back({call.root, call.bytes * static_cast<std::uint64_t>(rank), call.bytes});
      break;
    case trace::Operation::kAlltoall:
      for (std::size_t from = 0; from < call.bytesFrom.size(); ++from) {
        parts.push_back({static_cast<int>(from), kAsTold, call.bytesFrom[from]});
      }
      break;
    default:  // allgather and gather: one output a rank, or none; a barrier has nothing
      for (std::size_t from = 0; from < request.outputs.size(); ++from) {
        parts.push_back({static_cast<int>(from), 0, call.bytes});
      }
  }
  return std::make_unique<Move>(request.inputs, request.outputs, std::move(parts));
}

}  // namespace lockstep::process_group::shared_memory
