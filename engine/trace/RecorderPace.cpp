#include "engine/trace/RecorderPace.h"

#include <algorithm>

namespace lockstep::trace {

void RecorderPace::passed(Duration since, std::uint64_t events, double fill) {
  const auto share = std::max(static_cast<double>(events) / static_cast<double>(kEventsAPass),
                              fill / kFillAPass);
  const auto longest = static_cast<double>((kSlowest * shortest_).count());
  const auto calm = share <= 0 ? longest : static_cast<double>(since.count()) / share;
  wait_ = std::max(shortest_, Duration(static_cast<Duration::rep>(std::min(calm, longest))));
}

}  // namespace lockstep::trace
