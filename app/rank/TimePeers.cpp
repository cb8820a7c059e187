#include "app/rank/TimePeers.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "engine/base/Clock.h"

namespace lockstep::rank {
namespace {

constexpr std::array<std::int64_t, 2> kBytes{4 << 10, 256 << 10};
constexpr int kMessages = 5;
constexpr double kQuickNs = 3e6;

/// One message there and one back: the other rank answers.
double oneWayNs(process_group::ProcessGroup& group, const at::Tensor& data, int peer) {
  const std::int64_t start = base::monotonicNs();
  group.send(data, peer)->wait();
  group.recv(data, peer)->wait();
  return static_cast<double>(base::monotonicNs() - start) / 2;
}

void answer(process_group::ProcessGroup& group, const at::Tensor& data, int peer) {
  group.recv(data, peer)->wait();
  group.send(data, peer)->wait();
}

void timeRing(process_group::ProcessGroup& group, const at::Tensor& data,
              std::vector<cost::TransferSample>& samples) {
  const int size = group.size();
  const int rank = group.rank();
  const int next = (rank + 1) % size;
  const int before = (rank + size - 1) % size;
  const auto turnOf = [&](int begin) { return size % 2 == 1 && begin == size - 1 ? 2 : begin % 2; };
  for (int turn = 0; turn < 3; ++turn) {
    // The first message connects the two, or meets new pages, and is no sample.
    for (int round = 0; round <= kMessages; ++round) {
      if (turnOf(rank) == turn) {
        const double ns = oneWayNs(group, data, next);
        if (round > 0) {
          samples.push_back({data.nbytes(), ns, false});
        }
      } else if (turnOf(before) == turn) {
        answer(group, data, before);
      }
    }
  }
}

}  // namespace

// Note [Links of the ring]
// The links of a ring of n ranks are timed in three turns, so that no rank talks over two of them
// at once: those that begin at an even rank, those that begin at an odd one and, where n is odd,
// the one that begins at the last rank. The rank where a link begins sends first and takes the
// time. Large messages follow only where all ranks say that the small ones were quick: by its own
// clock one rank might go on while the rank beside it does not.
std::vector<cost::TransferSample> timeNextPeer(process_group::ProcessGroup& group) {
  std::vector<cost::TransferSample> samples;
  if (group.size() < 3) {
    return samples;
  }
  for (const std::int64_t bytes : kBytes) {
    timeRing(group, at::zeros({bytes / 4}, at::kFloat), samples);
    // The quickest of them: one that met a rank without a core says nothing of the link.
    const auto quickest =
        std::ranges::min(std::span(samples).last(kMessages), {}, &cost::TransferSample::ns);
    const at::Tensor slowest = at::full({1}, quickest.ns, at::kDouble);
    group.allreduce({slowest}, process_group::ReduceOp::kMax)->wait();
    if (slowest.item<double>() > kQuickNs) {
      break;
    }
  }
  return samples;
}

}  // namespace lockstep::rank
