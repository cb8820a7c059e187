#include "engine/process_group/shaped/ShapedGroup.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/process_group/shaped/Traffic.h"

namespace lockstep::process_group {
namespace {

double bestSeconds(ProcessGroup& group, std::int64_t bytes, int rounds) {
  const at::Tensor data = at::zeros({bytes / 4}, at::kFloat);
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t start = base::monotonicNs();
    group.allreduce({data})->wait();
    best = std::min(best, static_cast<double>(base::monotonicNs() - start) * 1e-9);
  }
  return best;
}

base::Error tooFast(double wanted, const MeasuredLink& measured, const ProcessGroup& group) {
  return {base::ExitCode::kBadInput,
          fmt::format("a link of {:.3g} Gbit/s is more than half of the {:.3g} Gbit/s that {} "
                      "itself reaches between these {} ranks, so a run would show the backend and "
                      "not the link; take at most {:.2g} Gbit/s, or set link.simulate_anyway = "
                      "true to see it as a simulation only",
                      wanted, measured.bandwidthGbps, group.backendName(), group.size(),
                      measured.bandwidthGbps / 2),
          "link.bandwidth_gbps"};
}

}  // namespace

MeasuredLink measureLink(ProcessGroup& group) {
  if (group.size() < 2) {
    return {std::numeric_limits<double>::infinity(), 0};
  }
  // 8 MB: long enough that the start of a call does not count.
  constexpr std::int64_t kLarge = 8 << 20;
  bestSeconds(group, kLarge, 1);  // connections and pages
  const std::array<double, 2> own{bestSeconds(group, kLarge, 4), bestSeconds(group, 1024, 10)};
  // The slowest rank's figures, on all ranks, so that all decide alike.
  const at::Tensor times = at::tensor({own[0], own[1]}, at::kDouble);
  group.allreduce({times}, ReduceOp::kMax)->wait();
  const double n = group.size();
  // In a ring each rank sends 2 (n - 1) / n of the tensor.
  const double bits = 2 * (n - 1) / n * static_cast<double>(kLarge) * 8;
  return {bits / times[0].item<double>() * 1e-9, times[1].item<double>() * 1e6};
}

base::Result<std::shared_ptr<ProcessGroup>> ShapedGroup::make(std::shared_ptr<ProcessGroup> inner,
                                                              store::Store& store,
                                                              ShapedOptions options) {
  Traffic::Parts parts{inner->groupName(),
                       options.groupNumber,
                       inner->rank(),
                       inner->size(),
                       cost::LinkModel(options.link, inner->rank(), inner->size()),
                       LinkJitter(options.link.jitterUs, options.link.seed),
                       static_cast<std::size_t>(options.link.inFlight),
                       options.clock,
                       nullptr,
                       nullptr};
  const double wanted = parts.model.slowest().bandwidthGbps;
  if (wanted > 0 && !options.simulateAnyway) {
    const MeasuredLink measured =
        measureLink(options.measuredOn != nullptr ? *options.measuredOn : *inner);
    // Twice as fast at least, so that the backend's own time does not show through the link's.
    if (wanted > measured.bandwidthGbps / 2) {
      return tooFast(wanted, measured, *inner);
    }
  }
  if (parts.clock == nullptr) {
    parts.clock = std::make_shared<LinkClock>();
  }
  parts.board = ArrivalBoard::open(store, fmt::format("shaped/{}", inner->groupName()),
                                   inner->rank(), inner->size());
  // Rank 0's memory can be found as long as it is open there: until all ranks have it.
  inner->barrier()->wait();
  if (options.tracer != nullptr) {
    parts.lane = &options.tracer->lane(
        options.groupNumber == 0 ? "shaped link"
                                 : fmt::format("shaped link ({})", inner->groupName()));
  }
  auto traffic = std::make_shared<Traffic>(std::move(parts));
  return std::shared_ptr<ProcessGroup>(new ShapedGroup(std::move(inner), std::move(traffic)));
}

ShapedGroup::ShapedGroup(std::shared_ptr<ProcessGroup> inner, std::shared_ptr<Traffic> traffic)
    : ProcessGroup(inner->rank(), inner->size(), inner->groupName(), inner->backendName(),
                   Devices::kAny),
      inner_(std::move(inner)),
      traffic_(std::move(traffic)) {}

ShapedGroup::~ShapedGroup() {
  traffic_->close();
}

ProcessGroup::WorkPtr ShapedGroup::start(Request request) {
  return traffic_->submit(std::move(request), *inner_);
}

void ShapedGroup::abort(const std::string& reason) {
  // The link first: what is done below, behind an operation that is not, gets its turn when that
  // one fails, and would succeed.
  traffic_->abort(reason);
  inner_->abort(reason);
}

}  // namespace lockstep::process_group
