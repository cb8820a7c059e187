#include "engine/ddp/Join.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "engine/base/Log.h"
#include "engine/ddp/DdpError.h"
#include "engine/trace/Event.h"
#include "engine/trace/Messages.h"

namespace lockstep::ddp {

namespace {

constexpr std::uint64_t kSkewWarning = 1000;  // shadowed iterations, as PyTorch

}  // namespace

// Note [Shadowing]
//
// Each iteration begins with a sum over the ranks: one from a rank with inputs, zero from one
// without. Rank 0 has 3 batches, rank 1 has 1:
//
//   rank 0   1 train   1 train    1 train    0 end
//   rank 1   1 train   0 shadow   0 shadow   0 end
//   sum      2         1          1          0
//
// Both call the same collectives in the same order, whatever they do between them. A rank with
// inputs does not wait for its sum, which tells it nothing that it needs, except where gradients
// are divided by the ranks that are left (divisor()).
void Joinable::notifyJoin(std::uint32_t step) {
  if (join_ != nullptr && join_->joinables_.front() == this) {
    join_->notify(step);
  }
}

int Joinable::joinDivisor() {
  return join_ == nullptr ? joinGroup().size() : join_->divisor(*this);
}

Join::Join(std::vector<Joinable*> joinables, JoinOptions options)
    : joinables_(std::move(joinables)), options_(options) {
  if (joinables_.empty()) {
    throw DdpError("Join needs at least one joinable, such as the DistributedDataParallel");
  }
  group_ = &joinables_.front()->joinGroup();
  for (const Joinable* joinable : joinables_) {
    if (&joinable->joinGroup() != group_) {
      throw DdpError(fmt::format(
          "the joinables of one Join use different process groups ('{}' and '{}'); give all the "
          "same",
          group_->groupName(), joinable->joinGroup().groupName()));
    }
    if (joinable->join_ != nullptr) {
      throw DdpError("a joinable is in another Join already; end that one first");
    }
  }
  if (!options_.enable) {
    return;
  }
  if (options_.tracer == nullptr) {
    ownTracer_ = std::make_unique<trace::Tracer>();
  }
  tracer_ = options_.tracer == nullptr ? ownTracer_.get() : options_.tracer;
  lane_ = &tracer_->lane("join");
  for (Joinable* joinable : joinables_) {
    joinable->join_ = this;
  }
}

Join::~Join() {
  leave();
}

void Join::leave() {
  for (Joinable* joinable : joinables_) {
    if (joinable->join_ == this) {
      joinable->join_ = nullptr;
    }
  }
}

process_group::ProcessGroup::WorkPtr Join::add(const at::Tensor& number, std::uint32_t step) {
  process_group::CallOptions options;
  options.step = step;
  return group_->allreduce({number}, process_group::ReduceOp::kSum, options);
}

void Join::notify(std::uint32_t step) {
  const auto number = at::TensorOptions().device(joinables_.front()->joinDevice());
  live_ = at::ones({1}, number);
  liveRanks_.reset();
  liveWork_ = add(live_, step);
  // Matches the sum of ones by finish(), so that all ranks throw before the same iteration.
  if (options_.throwOnEarlyTermination) {
    const at::Tensor ended = at::zeros({1}, number);
    add(ended, step)->wait();
    if (ended.item<double>() != 0) {
      throw DdpError(
          "Detected at least one rank that exhausted inputs. Throwing across all ranks.");
    }
  }
}

int Join::divisor(const Joinable& asker) {
  // The sum is the first joinable's; another one may be at another iteration of its own.
  if (options_.divideByInitialWorldSize || liveWork_ == nullptr || joinables_.front() != &asker) {
    return group_->size();
  }
  if (!liveRanks_) {
    liveWork_->wait();
    liveRanks_ = static_cast<int>(live_.item<double>());
  }
  return *liveRanks_;
}

void Join::finish(std::uint32_t step) {
  if (!options_.enable) {
    return;
  }
  bool lastJoiner = true;
  for (;;) {
    const std::uint64_t startTicks = base::ticks();
    const auto number = at::TensorOptions().device(joinables_.front()->joinDevice());
    const at::Tensor live = at::zeros({1}, number);
    add(live, step)->wait();
    if (live.item<double>() == 0) {
      break;
    }
    if (options_.throwOnEarlyTermination) {
      add(at::ones({1}, number), step)->wait();
      throw DdpError(fmt::format("Rank {} exhausted all inputs.", group_->rank()));
    }
    if (shadowed_ == kSkewWarning) {
      warnSkew(step);
    }
    // In the order given to the constructor, in which the loop of the others must call them, too.
    for (Joinable* joinable : joinables_) {
      joinable->shadow(step);
    }
    // Whoever shadowed nothing had as many inputs as any rank, and the newest model.
    lastJoiner = false;
    ++shadowed_;
    lane_->span(trace::EventKind::kJoinShadow, startTicks, step++);
  }
  for (Joinable* joinable : joinables_) {
    joinable->allJoined(lastJoiner);
  }
  leave();
}

void Join::warnSkew(std::uint32_t step) {
  const std::string text = fmt::format(
      "rank {} had at least {} fewer inputs than other ranks and still shadows their iterations; "
      "share the inputs more evenly (said once)",
      group_->rank(), kSkewWarning);
  base::logWarning("{}", text);
  tracer_->send(trace::toJson(trace::ProblemMessage{"warning", step, text}));
}

int largestRank(process_group::ProcessGroup& group, bool candidate, const at::Device& device,
                std::uint32_t step) {
  process_group::CallOptions options;
  options.step = step;
  const at::Tensor largest =
      at::full({1}, candidate ? group.rank() : -1, at::TensorOptions(at::kLong).device(device));
  group.allreduce({largest}, process_group::ReduceOp::kMax, options)->wait();
  const auto rank = static_cast<int>(largest.item<std::int64_t>());
  if (rank < 0) {
    throw DdpError("no rank offers the data that all are to take: Join's ranks disagree");
  }
  return rank;
}

}  // namespace lockstep::ddp
