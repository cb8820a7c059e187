#include "engine/capture/RoomAhead.h"

#include <algorithm>

namespace lockstep::capture {
namespace {

// An event takes about 30 bytes of a run file, a loss 60. Where this is off, the file is looked at
// a little early.
constexpr double kRowBytes = 40;

}  // namespace

void RoomAhead::add(int rank, std::uint32_t step) {
  ++unmeasured_;
  ++events_;
  Told& told = told_[rank];
  // Not how far apart numbers are: a job that goes on where another ended begins with any.
  if (step >= told.next) {
    told.next = std::uint64_t{step} + 1;
    told.since += 1;
    steps_ += 1;
    since_ += 1;
    most_ = std::max(most_, told.since);
  }
}

void RoomAhead::evenOut() {
  for (auto& [rank, told] : told_) {
    told.since = 0;
  }
  most_ = 0;
  since_ = 0;
}

double RoomAhead::bytes() const {
  const auto ranks = static_cast<std::uint64_t>(std::max(expected_, told_.size()));
  const std::uint64_t all = ranks * most_;
  const double aStep = steps_ == 0 ? 0 : static_cast<double>(events_) / static_cast<double>(steps_);
  return static_cast<double>(bytes_) +
         kRowBytes * (static_cast<double>(unmeasured_) +
                      aStep * static_cast<double>(all - std::min(all, since_)));
}

}  // namespace lockstep::capture
