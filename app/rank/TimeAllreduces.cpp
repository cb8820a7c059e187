#include "app/rank/TimeAllreduces.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "engine/base/Clock.h"

namespace lockstep::rank {
namespace {

// Sizes of 4 KiB, 32 KiB, 256 KiB and 2 MiB: the small ones tell the latency, the large ones the
// bandwidth. Where the next size would take more than a tenth of a second, those before it say
// enough.
constexpr std::int64_t kFirstBytes = 4 << 10;
constexpr std::int64_t kLastBytes = 8 << 20;
constexpr std::int64_t kGrowth = 8;
constexpr int kRounds = 3;
constexpr double kLongestNs = 1e8;

double allreduceNs(process_group::ProcessGroup& group, const at::Tensor& data) {
  const std::int64_t start = base::monotonicNs();
  const auto work = group.allreduce({data});
  // Who asks for a future has it completed by the backend's thread, as a Reducer does.
  static_cast<void>(work->future().waitFor(group.timeout()));
  work->wait();
  return static_cast<double>(base::monotonicNs() - start);
}

/// Times of `rounds` allreduces, in ns, each on the rank that came last and so waited for nobody.
std::vector<double> agreedNs(process_group::ProcessGroup& group, std::int64_t bytes, int rounds) {
  const at::Tensor data = at::zeros({bytes / 4}, at::kFloat);
  std::vector<double> own;
  for (int round = 0; round < rounds; ++round) {
    own.push_back(allreduceNs(group, data));
  }
  const at::Tensor times = at::tensor(own, at::kDouble);
  // Each rank measures from its own call, and whoever calls early measures how long it waited, too.
  // The shortest time of a round is that of the rank that called last.
  group.allreduce({times}, process_group::ReduceOp::kMin)->wait();
  return {times.data_ptr<double>(), times.data_ptr<double>() + rounds};
}

}  // namespace

std::vector<cost::TransferSample> timeAllreduces(process_group::ProcessGroup& group) {
  // All ranks have the same times, and so come to the same decision to go on or to end. By its own
  // clock one rank might stop while another calls for the next size.
  std::vector<cost::TransferSample> samples;
  // The first of all connects ranks that have not talked yet, and is no sample.
  double longest = agreedNs(group, kFirstBytes, 1).front();
  for (std::int64_t bytes = kFirstBytes; bytes <= kLastBytes && longest < kLongestNs;
       bytes *= kGrowth) {
    const auto times = agreedNs(group, bytes, kRounds + 1);
    // The first one meets new pages.
    for (auto ns = times.begin() + 1; ns != times.end(); ++ns) {
      samples.push_back({static_cast<std::uint64_t>(bytes), *ns, false});
    }
    longest = kGrowth * *std::max_element(times.begin() + 1, times.end());
  }
  return samples;
}

}  // namespace lockstep::rank
