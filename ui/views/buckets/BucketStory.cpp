#include "ui/views/buckets/BucketStory.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/analysis/RankActivity.h"
#include "engine/experiment/Parse.h"
#include "ui/views/buckets/BucketExamples.h"
#include "ui/views/buckets/StepSpans.h"

namespace lockstep::ui {
namespace {

// By parameter, including those that no bucket has: they come last, in their order.
void placeParameters(BucketStory& story) {
  std::size_t count = story.parameters.size();
  for (const auto& bucket : story.layout.buckets) {
    for (const std::uint32_t parameter : bucket.parameters) {
      count = std::max<std::size_t>(count, parameter + 1);
    }
  }
  story.bucketOf.assign(count, trace::kNoBucket);
  story.placeInBuckets.assign(count, 0);
  std::uint32_t place = 0;
  for (std::size_t b = 0; b < story.layout.buckets.size(); ++b) {
    story.caps.push_back(analysis::bucketCap(story.layout, b));
    for (const std::uint32_t parameter : story.layout.buckets[b].parameters) {
      story.bucketOf[parameter] = static_cast<std::uint16_t>(b);
      story.placeInBuckets[parameter] = place++;
    }
  }
  for (std::size_t parameter = 0; parameter < count; ++parameter) {
    if (story.bucketOf[parameter] == trace::kNoBucket) {
      story.placeInBuckets[parameter] = place++;
    }
  }
}

// Within the iteration: what goes on after it may lie beside the computing of the next.
analysis::Intervals quietOf(const analysis::RankSpans& rank, const analysis::Interval& step,
                            double nsPerTick) {
  analysis::ActivityPieces pieces;
  for (const trace::SpanRow& span : rank.spans) {
    pieces.add(span, nsPerTick);
  }
  const analysis::Intervals computing = pieces.activity(rank.rank).computing;
  return computing.empty() || step.begin >= step.end ? analysis::Intervals()
                                                     : analysis::subtract({step}, computing);
}

void measure(BucketStory& story, const StepSpans& spans) {
  story.originTicks = spans.originTicks;
  story.lostEvents = spans.lostEvents;
  // Orders first: lives and moments are made of them.
  story.orders = analysis::readyOrders(spans.ranks, story.step, &story.layout);
  story.lives =
      analysis::bucketLives(spans.ranks, story.step, story.layout, story.orders, spans.clocks);
  story.moments = analysis::replayMoments(story.orders, story.lives);
  for (const analysis::ReadyOrder& order : story.orders) {
    // From parameter to its place in the order, which dots and tooltips look up for every rank.
    auto& index = story.readyIndex.emplace_back(story.bucketOf.size(), -1);
    for (std::size_t i = 0; i < order.gradients.size(); ++i) {
      if (order.gradients[i].parameter < index.size()) {
        index[order.gradients[i].parameter] = static_cast<int>(i);
      }
    }
  }
  if (story.moments.empty()) {
    return;
  }
  // The last copy out is no moment of the replay, but belongs to what is shown.
  double endNs = story.ns(story.moments.back().ticks);
  for (const analysis::BucketLife& life : story.lives) {
    for (const analysis::BucketTimes& times : life.ranks) {
      endNs = std::max(endNs, story.ns(times.copiedOutTicks.value_or(story.originTicks)));
    }
  }
  story.range = {story.ns(story.moments.front().ticks), endNs};
}

}  // namespace

std::uint64_t BucketStory::ticksAt(double ns) const {
  return originTicks + static_cast<std::uint64_t>(std::llround(std::max(0.0, ns) / nsPerTick));
}

bool BucketStory::launched() const {
  return std::any_of(lives.begin(), lives.end(), [](const analysis::BucketLife& life) {
    return std::any_of(life.ranks.begin(), life.ranks.end(),
                       [](const auto& times) { return times.launchedTicks.has_value(); });
  });
}

std::uint64_t BucketStory::bytes() const {
  std::uint64_t all = 0;
  for (const auto& bucket : layout.buckets) {
    all += bucket.bytes;
  }
  return all;
}

QString BucketStory::nameOf(std::uint32_t parameter) const {
  return parameter < parameters.size() ? QString::fromStdString(parameters[parameter].name)
                                       : QStringLiteral("parameter %1").arg(parameter);
}

const analysis::ReadyGradient* BucketStory::readyOn(int rank, std::uint32_t parameter) const {
  const auto r = static_cast<std::size_t>(rank);
  if (r >= readyIndex.size() || parameter >= readyIndex[r].size() || readyIndex[r][parameter] < 0) {
    return nullptr;
  }
  return &orders[r].gradients[static_cast<std::size_t>(readyIndex[r][parameter])];
}

std::optional<std::uint64_t> BucketStory::computedOn(int rank) const {
  const auto& gradients = orders[static_cast<std::size_t>(rank)].gradients;
  const auto last = std::ranges::max_element(gradients, {}, &analysis::ReadyGradient::ticks);
  return last == gradients.end() ? std::nullopt : std::optional(last->ticks);
}

int BucketStory::lastToCompute() const {
  int last = -1;
  for (int rank = 0; rank < rankCount(); ++rank) {
    const auto ticks = computedOn(rank);
    last = ticks && (last < 0 || *ticks > *computedOn(last)) ? rank : last;
  }
  return last;
}

analysis::Intervals BucketStory::exposedOn(int rank, int bucket) const {
  const auto place = static_cast<std::size_t>(rank);
  const analysis::BucketTimes& times = lives[static_cast<std::size_t>(bucket)].ranks[place];
  return times.beganTicks && times.endedTicks
             ? analysis::clip(quiet[place], {*times.beganTicks, *times.endedTicks})
             : analysis::Intervals();
}

int BucketStory::readyRanks(std::uint32_t parameter, std::uint64_t ticks) const {
  int ready = 0;
  for (int rank = 0; rank < rankCount(); ++rank) {
    const analysis::ReadyGradient* gradient = readyOn(rank, parameter);
    ready += gradient != nullptr && gradient->ticks <= ticks ? 1 : 0;
  }
  return ready;
}

std::shared_ptr<const BucketStory> BucketStories::ofStep(std::uint32_t step,
                                                         const std::vector<int>& shown) {
  const trace::BucketsMessage* layout = model_.layoutAt(step);
  if (layout == nullptr) {
    return nullptr;
  }
  auto story = std::make_shared<BucketStory>();
  story->step = step;
  story->observed = model_.info().kind != trace::RunKind::kExperiment;
  story->layout = *layout;
  story->parameters = model_.parameters();
  story->config = config();
  story->nsPerTick = model_.nsPerTick();
  placeParameters(*story);
  story->asked = shown;
  const StepSpans spans = spansOfStep(model_, step);
  measure(*story, spans);
  keepExamples(*story, shown);
  // Only of the ranks that are shown: of all of many it would take long.
  for (const analysis::ReadyOrder& order : story->orders) {
    const auto rank = static_cast<std::size_t>(order.rank);
    story->quiet.push_back(quietOf(spans.ranks[rank], spans.steps[rank], story->nsPerTick));
  }
  // Of a step that some rank has not ended a later look may find more.
  story->finished = true;
  for (int rank = 0; rank < model_.rankCount(); ++rank) {
    story->finished = story->finished && model_.step(rank, step).has_value();
  }
  return story;
}

std::shared_ptr<const BucketStory> BucketStories::preview(bool rebuilt) {
  if (model_.parameters().empty() || !config()) {
    return nullptr;
  }
  analysis::BucketSettings settings;
  settings.caps = analysis::capsOf(*config_);
  if (const auto rule = buckets::bucketRule(config_->bucketRule); rule.ok()) {
    settings.rule = rule.value();
  }
  settings.findUnusedParameters = config_->findUnusedParameters;
  settings.staticGraph = config_->staticGraph;
  auto layouts = analysis::previewLayouts(model_.parameters(), settings);
  auto story = std::make_shared<BucketStory>();
  story->preview = true;
  // The layouts are initial and rebuilt; where there is no rebuild both are the same one.
  story->layout = std::move(rebuilt ? layouts.back() : layouts.front());
  story->step = story->layout.step;
  story->parameters = model_.parameters();
  story->config = config_;
  placeParameters(*story);
  return story;
}

const std::optional<experiment::DdpConfig>& BucketStories::config() {
  readExperiment();
  return config_;
}

bool BucketStories::isDataParallel() {
  readExperiment();
  return dataParallel_;
}

void BucketStories::readExperiment() {
  // Parsed once for a text: stories are made many times a second while a run is live.
  if (toml_ == model_.info().experimentToml) {
    return;
  }
  toml_ = model_.info().experimentToml;
  config_.reset();
  dataParallel_ = false;
  // A resolved experiment holds absolute paths alone; the folder changes nothing.
  auto parsed = experiment::parseText(toml_, model_.path().string(), "/");
  if (parsed.mistakes.empty()) {
    // DataParallel has no [ddp] that counts.
    dataParallel_ = parsed.experiment.processes.strategy != "ddp";
    if (!dataParallel_) {
      config_ = parsed.experiment.ddp;
    }
  }
}

// Note [A typical iteration]
//
// The view opens with an iteration worth a look: after the rebuild, since buckets before it are
// seen by nobody for long; of median length, since the first are slow and some are slow by chance;
// and one that launched buckets, which under gradient accumulation only every k-th does. So the
// iterations after the rebuild are sorted by length, and from the middle on up to 16 are tried.
std::optional<std::uint32_t> typicalStep(const RunModel& model) {
  std::vector<StepSpan> steps = model.steps(0, model.extent());
  if (steps.empty()) {
    return std::nullopt;
  }
  const std::uint32_t last = steps.back().step;
  const auto first = std::find_if(steps.begin(), steps.end(), [&](const StepSpan& step) {
    return step.step > model.rebuildStep().value_or(0);
  });
  if (first == steps.end()) {
    return last;
  }
  steps.erase(steps.begin(), first);
  std::sort(steps.begin(), steps.end(), [](const StepSpan& a, const StepSpan& b) {
    return a.endNs - a.startNs < b.endNs - b.startNs;
  });
  // Of a run that accumulates gradients most iterations launch nothing.
  constexpr std::size_t kTries = 16;
  BucketStories stories(model);
  const std::size_t middle = steps.size() / 2;
  for (std::size_t i = middle; i < std::min(steps.size(), middle + kTries); ++i) {
    if (const auto story = stories.ofStep(steps[i].step); story != nullptr && story->launched()) {
      return steps[i].step;
    }
  }
  return steps[middle].step;
}

}  // namespace lockstep::ui
