#include "engine/analysis/TuneRun.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "engine/analysis/TuneBuckets.h"
#include "engine/analysis/WhatIfCap.h"
#include "engine/analysis/WhatIfLink.h"
#include "engine/base/Check.h"
#include "engine/base/NumberText.h"

namespace lockstep::analysis {
namespace {

constexpr std::array<double, 13> kCaps{0.1, 0.25, 0.5, 1, 2, 4, 6, 8, 12, 16, 25, 50, 100};  // MiB
constexpr std::array<int, 3> kInFlight{1, 2, 4};
constexpr double kWorthASetting = 0.999;

/// Buckets, and what makes them.
struct LaidOut {
  std::string rule;
  TunedSettings settings;
  std::vector<cost::PlannedBucket> plan;
};

bool makesSame(const LaidOut& layout, const std::vector<cost::PlannedBucket>& plan) {
  return std::equal(layout.plan.begin(), layout.plan.end(), plan.begin(), plan.end(),
                    [](const auto& a, const auto& b) { return a.parameters == b.parameters; });
}

std::vector<double> capsOfPlan(const std::vector<cost::PlannedBucket>& plan) {
  std::vector<double> caps;
  for (const cost::PlannedBucket& bucket : plan) {
    caps.push_back(static_cast<double>(bucket.bytes) / base::kMiB);
  }
  return caps;
}

class Search {
 public:
  Search(const RecordedSteps& recorded, const cost::Forecaster& forecaster,
         std::vector<TimedGradient> gradients)
      : recorded_(recorded), forecaster_(forecaster), gradients_(std::move(gradients)) {
    own_.rule = "run";
    own_.plan = cost::planOf(forecaster.steps().front());
    addCaps();
  }

  /// Adds the best buckets for everything else that is changed, and without such a change each
  /// kind of buckets.
  void add(const TunedSettings& settings, const cost::StepChange& change) {
    const auto line = forecaster_.lineOf(change);
    if (!line.ok()) {
      return;
    }
    std::vector<LaidOut> layouts{own_};
    layouts.insert(layouts.end(), caps_.begin(), caps_.end());
    for (const auto& [rule, cut] :
         {std::pair<std::string, BucketCut>{"mg-wfbp", mgWfbpCut(gradients_, line.value().cost)},
          {"exact", exactCut(gradients_, line.value().cost, forecaster_.mostBytes())}}) {
      LaidOut layout{rule, {}, planOf(gradients_, cut)};
      layout.settings.capList = capsOfPlan(layout.plan);
      if (std::none_of(layouts.begin(), layouts.end(),
                       [&](const LaidOut& of) { return makesSame(of, layout.plan); })) {
        layouts.push_back(std::move(layout));
      }
    }
    std::optional<TuneCandidate> best;
    for (LaidOut& layout : layouts) {
      TuneCandidate one{layout.rule, settings, change, 0, {}};
      one.settings.capMb = layout.settings.capMb;
      one.settings.firstCapMb = layout.settings.firstCapMb;
      one.settings.capList = layout.settings.capList;
      one.change.buckets = std::move(layout.plan);
      const auto ns = forecaster_.replayedStepNs(one.change);
      if (!ns.ok()) {
        continue;
      }
      one.replayedStepNs = ns.value();
      if (one.settings.isOwn()) {
        run_ = one;
      } else if (settings.isOwn()) {
        keep(one);
      }
      if (!best || one.replayedStepNs < kWorthASetting * best->replayedStepNs) {
        best = std::move(one);
      }
    }
    if (best && !best->settings.isOwn() && !settings.isOwn()) {
      found_.push_back(std::move(*best));
    }
  }

  base::Result<std::vector<TuneCandidate>> candidates(std::size_t most) {
    LOCKSTEP_CHECK(run_, "no replay of the run's own settings");
    for (auto& [rule, best] : bestOfRule_) {
      found_.push_back(best);
    }
    std::stable_sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) {
      return a.settings.count() < b.settings.count();
    });
    std::vector<TuneCandidate> kept{*run_};
    for (TuneCandidate& one : found_) {
      const bool better = std::none_of(kept.begin() + 1, kept.end(), [&](const auto& simpler) {
        return simpler.settings.count() < one.settings.count() &&
               one.replayedStepNs > kWorthASetting * simpler.replayedStepNs;
      });
      if (better) {
        kept.push_back(std::move(one));
      }
    }
    std::stable_sort(kept.begin() + 1, kept.end(), [](const auto& a, const auto& b) {
      return a.replayedStepNs < b.replayedStepNs;
    });
    kept.resize(std::min(kept.size(), most + 1));
    for (TuneCandidate& one : kept) {
      auto ranks = forecaster_.forecast(one.change);
      if (!ranks.ok()) {
        return ranks.error();
      }
      one.ranks = std::move(ranks).value();
    }
    return kept;
  }

 private:
  void addCaps() {
    const auto caps = capsOf(recorded_.settings.experiment.ddp);
    for (const double mebibytes : kCaps) {
      buckets::BucketCaps others = caps;
      others.capBytes = buckets::capBytes(mebibytes).value();
      // A first bucket that may be larger than the others would keep its place in the way.
      others.firstBytes = std::min(others.firstBytes, others.capBytes);
      auto plan = planWithCaps(recorded_.parameters, recorded_.layout, caps, others);
      if (!plan.ok() || makesSame(own_, plan.value()) ||
          std::any_of(caps_.begin(), caps_.end(),
                      [&](const LaidOut& of) { return makesSame(of, plan.value()); })) {
        continue;
      }
      LaidOut& layout = caps_.emplace_back();
      layout.rule = "cap";
      layout.settings.capMb = mebibytes;
      if (others.firstBytes < caps.firstBytes) {
        layout.settings.firstCapMb = mebibytes;
      }
      layout.plan = std::move(plan).value();
    }
  }

  void keep(const TuneCandidate& one) {
    const auto at = std::find_if(bestOfRule_.begin(), bestOfRule_.end(),
                                 [&](const auto& of) { return of.first == one.rule; });
    if (at == bestOfRule_.end()) {
      bestOfRule_.emplace_back(one.rule, one);
    } else if (one.replayedStepNs < at->second.replayedStepNs) {
      at->second = one;
    }
  }

  const RecordedSteps& recorded_;
  const cost::Forecaster& forecaster_;
  const std::vector<TimedGradient> gradients_;
  LaidOut own_;
  std::vector<LaidOut> caps_;
  std::optional<TuneCandidate> run_;
  std::vector<std::pair<std::string, TuneCandidate>> bestOfRule_;
  std::vector<TuneCandidate> found_;
};

/// A part of a combination: what it sets, and what that does to a step.
struct Choice {
  TunedSettings settings;
  cost::StepChange change;
};

/// Each hook, the run's own first.
std::vector<Choice> hookChoices(const RecordedSettings& settings,
                                const std::vector<RecordedHook>& hooks) {
  std::vector<Choice> choices(1);
  const auto add = [&](const experiment::HookConfig& config, const auto& set) {
    Choice choice;
    choice.settings.hook = config;
    if (config != settings.experiment.hook && set(choice.change).ok()) {
      choices.push_back(std::move(choice));
    }
  };
  add(experiment::HookConfig{}, [](cost::StepChange& change) {
    change.hook = cost::HookWork{};
    return base::Status();
  });
  for (const RecordedHook& hook : hooks) {
    if (hook.settings.experiment.hook.name != "allreduce") {
      add(hook.settings.experiment.hook,
          [&](cost::StepChange& change) { return changeHook(settings, hook, change); });
    }
  }
  return choices;
}

}  // namespace

std::size_t TunedSettings::count() const {
  return (capMb || !capList.empty() ? 1u : 0u) + (inFlight ? 1u : 0u) + (views ? 1u : 0u) +
         (hook ? 1u : 0u);
}

std::string TunedSettings::text() const {
  std::vector<std::string> parts;
  if (capMb) {
    parts.push_back(fmt::format("cap {:g} MiB", *capMb));
  }
  if (!capList.empty()) {
    parts.push_back("a list of " + base::countedText(capList.size(), "cap"));
  }
  if (inFlight) {
    parts.push_back(fmt::format("{} in flight", *inFlight));
  }
  if (views) {
    parts.emplace_back("gradients as views");
  }
  if (hook) {
    parts.push_back("hook " + hook->name);
  }
  return parts.empty() ? "the run's own" : fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> TunedSettings::keys() const {
  std::vector<std::string> keys;
  if (capMb) {
    keys.push_back(fmt::format("ddp.bucket_cap_mb = {:g}", *capMb));
  }
  if (firstCapMb) {
    keys.push_back(fmt::format("ddp.first_bucket_mb = {:g}", *firstCapMb));
  }
  if (!capList.empty()) {
    keys.push_back(fmt::format("ddp.bucket_cap_mb_list = [{}]", fmt::join(capList, ", ")));
  }
  if (inFlight) {
    keys.push_back(fmt::format("link.in_flight = {}", *inFlight));
  }
  if (views) {
    keys.emplace_back("ddp.gradient_as_bucket_view = true");
  }
  if (hook) {
    keys.push_back(fmt::format("hook.name = \"{}\"", hook->name));
  }
  return keys;
}

experiment::Experiment TunedSettings::appliedTo(experiment::Experiment own) const {
  own.ddp.bucketCapMb = capMb.value_or(own.ddp.bucketCapMb);
  own.ddp.firstBucketMb = firstCapMb.value_or(own.ddp.firstBucketMb);
  if (!capList.empty()) {
    own.ddp.bucketCapMbList = capList;
  }
  own.link.inFlight = inFlight.value_or(own.link.inFlight);
  own.ddp.gradientAsBucketView = own.ddp.gradientAsBucketView || views;
  own.hook = hook.value_or(own.hook);
  return own;
}

cost::Estimate TuneCandidate::stepNs() const {
  cost::Estimate mean;
  for (const cost::RankForecast& of : ranks) {
    mean.value += of.stepNs.value;
    mean.low += of.stepNs.low;
    mean.high += of.stepNs.high;
  }
  const auto count = static_cast<double>(std::max<std::size_t>(ranks.size(), 1));
  return {mean.value / count, mean.low / count, mean.high / count};
}

bool TuneCandidate::isSurelyBetter() const {
  return !ranks.empty() &&
         std::all_of(ranks.begin(), ranks.end(), [](const cost::RankForecast& of) {
           // Where all of the interval lies below what was measured, on every rank.
           return cost::changeFrom(of.measuredStepNs, of.stepNs) == cost::Change::kLess;
         });
}

base::Result<std::vector<TuneCandidate>> tuneCandidates(const RecordedSteps& recorded,
                                                        const cost::Forecaster& forecaster,
                                                        const std::vector<RecordedHook>& hooks,
                                                        std::size_t most) {
  auto gradients = timedGradients(recorded);
  if (!gradients.ok()) {
    return gradients.error();
  }
  Search search(recorded, forecaster, std::move(gradients).value());
  const experiment::Experiment& own = recorded.settings.experiment;
  std::vector<int> inFlight{own.link.inFlight};
  if (own.link.shapes()) {
    for (const int number : kInFlight) {
      if (number != own.link.inFlight) {
        inFlight.push_back(number);
      }
    }
  }
  const bool copies =
      std::any_of(forecaster.habits().begin(), forecaster.habits().end(),
                  [](const cost::RankHabits& habits) { return habits.copyOutNsPerByte > 0; });
  for (const Choice& hook : hookChoices(recorded.settings, hooks)) {
    for (const int number : inFlight) {
      for (const bool views : {false, true}) {
        if (views && (own.ddp.gradientAsBucketView || !copies)) {
          continue;
        }
        Choice choice = hook;
        choice.settings.views = choice.change.gradientsAreViews = views;
        if (number != own.link.inFlight) {
          choice.settings.inFlight = number;
          experiment::LinkConfig link = own.link;
          link.inFlight = number;
          if (!changeLink(recorded.settings, link, choice.change).ok()) {
            continue;
          }
        }
        search.add(choice.settings, choice.change);
      }
    }
  }
  return search.candidates(most);
}

}  // namespace lockstep::analysis
