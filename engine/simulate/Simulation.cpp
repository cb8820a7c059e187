#include "engine/simulate/Simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/cost/LineClock.h"
#include "engine/simulate/Draws.h"

namespace lockstep::simulate {
namespace {

constexpr double kLongAgo = -std::numeric_limits<double>::infinity();
constexpr std::uint64_t kOfAll = 1ULL << 40;    // the stream of what all ranks share
constexpr std::uint64_t kOfHosts = 1ULL << 41;  // and, plus their numbers, those of hosts
constexpr double kLeastStretch = 0.1;           // work drawn to be less than nothing

/// A walk through the recorded steps in blocks.
class Walk {
 public:
  explicit Walk(std::size_t positions)
      : positions_(positions),
        length_(std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(positions)))) {}

  std::size_t next(Draws& draws) {
    if (left_ == 0) {
      at_ = draws.below(positions_ - length_ + 1);
      left_ = length_;
    }
    --left_;
    return at_++;
  }

 private:
  std::size_t positions_;
  std::size_t length_;
  std::size_t at_ = 0;
  std::size_t left_ = 0;
};

struct Rank {
  Draws draws;
  Walk walk;
  double effectNs = 0;
};

class Run {
 public:
  Run(const RecordedRanks& recorded, const RankNoise& noise, const SimulationSettings& settings)
      : recorded_(recorded),
        noise_(noise),
        settings_(settings),
        work_(recorded.ownWork()),
        shared_(settings.seed, kOfAll),
        sharedWalk_(noise.steps.size()),
        count_(static_cast<std::size_t>(settings.ranks)),
        beginNs_(count_, 0),
        stretch_(count_, 1),
        endNs_(count_, 0),
        own_(count_, 0),
        metNs_(recorded.lanes),
        endedNs_(recorded.lanes),
        freeNs_(recorded.lanes) {
    for (std::size_t i = 0; i < count_; ++i) {
      Rank& rank = ranks_.emplace_back(Rank{Draws(settings.seed, i), Walk(noise.steps.size()), 0});
      const double normal = rank.draws.normal();
      if (i < recorded.ranks) {
        rank.effectNs = noise.effectNs[i];
      } else {
        const auto perNode = static_cast<std::size_t>(settings.network.ranksPerNode);
        rank.effectNs = noise.rankSpreadNs * normal +
                        noise.hostSpreadNs * Draws(settings.seed, kOfHosts + i / perNode).normal();
      }
    }
    const CollectiveModel model(settings.network, settings.ranks, settings.algorithm);
    for (const double bytes : recorded.bytes) {
      transfers_.push_back(model.allreduce(settings.share * bytes));
    }
  }

  void step(std::size_t number, SimulatedSteps* out,
            const std::function<void(const StepView&)>& watch) {
    drawOwnWork();
    meet();
    carry();
    takeResults();
    if (out != nullptr) {
      add(*out);
      if (watch) {
        watch({number, beginNs_, stretch_, own_, metNs_, endedNs_, endNs_});
      }
    }
  }

 private:
  /// Which recorded step each rank does, how it is stretched, and when it begins.
  void drawOwnWork() {
    const double common = noise_.commonNs[sharedWalk_.next(shared_)];
    for (std::size_t i = 0; i < count_; ++i) {
      Rank& rank = ranks_[i];
      const std::size_t r = i % recorded_.ranks;
      const std::size_t position = rank.walk.next(rank.draws);
      const std::size_t step = noise_.steps[position];
      double residual = noise_.residualNs[r][position];
      if (noise_.tail && residual > noise_.tail->threshold) {
        residual = noise_.tail->value(rank.draws.part());
      }
      const double wanted =
          noise_.meanNs + common + (settings_.allAlike ? 0 : rank.effectNs + residual);
      own_[i] = static_cast<std::uint32_t>(r * recorded_.steps + step);
      const OwnStep& own = recorded_.own[own_[i]];
      const double longer = wanted - work_[r][step];
      stretch_[i] = own.waitsNs > 0 ? std::max(1 + longer / own.waitsNs, kLeastStretch) : 1;
      beginNs_[i] = endNs_[i] + own.gapNs;
    }
  }

  /// When the last rank comes to each bucket.
  void meet() {
    std::fill(metNs_.begin(), metNs_.end(), kLongAgo);
    double* const met = metNs_.data();
    for (std::size_t i = 0; i < count_; ++i) {
      const double* const began = &recorded_.beganNs[own_[i] * recorded_.lanes];
      const double begin = beginNs_[i];
      const double stretch = stretch_[i];
      for (std::size_t b = 0; b < recorded_.lanes; b += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const double at = begin + stretch * began[b + lane];
          met[b + lane] = met[b + lane] < at ? at : met[b + lane];
        }
      }
    }
  }

  void carry() {
    cost::LineClock line(settings_.inFlight);
    double free = kLongAgo;
    for (std::size_t b = 0; b < recorded_.buckets; ++b) {
      freeNs_[b] = free;
      endedNs_[b] = line.carry(metNs_[b], transfers_[b].bytesNs, transfers_[b].latencyNs) +
                    settings_.noticeNs;
      free = std::max(free, endedNs_[b]);
    }
    // Buckets that are none have ended before anything began: no flight.
    std::fill(endedNs_.begin() + static_cast<std::ptrdiff_t>(recorded_.buckets), endedNs_.end(),
              kLongAgo);
    std::fill(freeNs_.begin() + static_cast<std::ptrdiff_t>(recorded_.buckets), freeNs_.end(), 0);
  }

  void takeResults() {
    // By recorded rank: what all copies take, and when they are done if they wait for transfers.
    std::vector<double> copies(recorded_.ranks, 0);
    std::vector<double> afterTransfers(recorded_.ranks, kLongAgo);
    for (std::size_t r = 0; r < recorded_.ranks; ++r) {
      double decoded = kLongAgo;
      for (std::size_t b = 0; b < recorded_.buckets; ++b) {
        const double copy = recorded_.copyOutNsPerByte[r] * recorded_.bytes[b];
        decoded = std::max(decoded, endedNs_[b]) +
                  recorded_.decode[r].ns(static_cast<std::uint64_t>(recorded_.bytes[b]));
        afterTransfers[r] =
            std::max(afterTransfers[r], decoded + recorded_.resultDelayNs[r]) + copy;
        copies[r] += copy;
      }
    }
    for (std::size_t i = 0; i < count_; ++i) {
      const std::size_t r = i % recorded_.ranks;
      const OwnStep& own = recorded_.own[own_[i]];
      // The step thread launches, too: it takes no result before its last launch.
      const double free = beginNs_[i] + stretch_[i] * std::max(own.waitsNs, own.lastLaunchNs);
      endNs_[i] = std::max(free + copies[r], afterTransfers[r]) + own.afterNs;
    }
  }

  void add(SimulatedSteps& out) {
    exposed_.assign(recorded_.lanes, 0);
    double* const exposed = exposed_.data();
    const double* const ended = endedNs_.data();
    const double* const free = freeNs_.data();
    double steps = 0;
    double alone = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const OwnStep& own = recorded_.own[own_[i]];
      const double* const began = &recorded_.beganNs[own_[i] * recorded_.lanes];
      const double begin = beginNs_[i];
      const double stretch = stretch_[i];
      const double last = begin + stretch * own.lastGradientNs;
      const double idle = own.idlePart;
      steps += endNs_[i] - begin;
      alone += stretch * own.waitsNs + own.afterNs;
      for (std::size_t b = 0; b < recorded_.lanes; b += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          // Of a flight that others cover up to free[b], what is left, before and after the last
          // gradient.
          const double at = begin + stretch * began[b + lane];
          const double from = at < free[b + lane] ? free[b + lane] : at;
          const double to = ended[b + lane];
          const double until = to < last ? to : last;
          const double behind = from < last ? last : from;
          const double before = until - from;
          const double after = to - behind;
          exposed[b + lane] += idle * (before > 0 ? before : 0) + (after > 0 ? after : 0);
        }
      }
    }
    const auto count = static_cast<double>(count_);
    out.stepNs.push_back(steps / count);
    out.aloneNs.push_back(alone / count);
    out.exposedNs.push_back(std::accumulate(exposed_.begin(), exposed_.end(), 0.0) / count);
  }

  const RecordedRanks& recorded_;
  const RankNoise& noise_;
  const SimulationSettings& settings_;
  const OwnWork work_;
  Draws shared_;
  Walk sharedWalk_;
  std::size_t count_;
  std::vector<Rank> ranks_;
  std::vector<TransferTime> transfers_;
  std::vector<double> beginNs_, stretch_, endNs_;
  std::vector<std::uint32_t> own_;
  std::vector<double> metNs_, endedNs_;
  std::vector<double> freeNs_;  // by bucket: those before it have ended
  std::vector<double> exposed_;
};

}  // namespace

SimulatedSteps simulate(const RecordedRanks& recorded, const RankNoise& noise,
                        const SimulationSettings& settings,
                        const std::function<void(const StepView&)>& watch) {
  Run run(recorded, noise, settings);
  SimulatedSteps out;
  run.step(0, nullptr, watch);
  for (std::size_t step = 0; step < settings.steps; ++step) {
    run.step(step, &out, watch);
  }
  return out;
}

}  // namespace lockstep::simulate
