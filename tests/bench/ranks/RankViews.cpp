#include "tests/bench/ranks/RankViews.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "engine/diagnosis/UnlikeRanks.h"
#include "ui/views/buckets/BucketStory.h"
#include "ui/views/buckets/BucketsScene.h"
#include "ui/views/divergence/ParameterScene.h"
#include "ui/views/divergence/SequenceScene.h"
#include "ui/views/hooks/HooksContent.h"
#include "ui/views/hooks/HooksScene.h"
#include "ui/views/live/LiveContent.h"
#include "ui/views/live/LiveScene.h"
#include "ui/views/overlap/BucketScene.h"
#include "ui/views/overlap/OverlapContent.h"
#include "ui/views/overlap/OverlapScene.h"
#include "ui/views/ranks/RanksScene.h"
#include "ui/views/timeline/TimelineOverview.h"
#include "ui/views/timeline/TimelineScene.h"

namespace lockstep::bench {
namespace {

using namespace lockstep::ui;
using Zooms = std::vector<ViewZoom>;
using Run = std::shared_ptr<const AnalysedRun>;

constexpr double kZoomStep = 4;
constexpr double kNarrowestNs = 100;
constexpr double kFewestSteps = 4;

const Palette& palette() {
  return Palette::of(Theme::kLight);
}

/// Where the pointer is: it moves over the whole canvas, up and down as it goes right.
QPointF pointerAt(QSizeF size, double part) {
  const double down = part * 7;
  return {size.width() * part, size.height() * (0.2 + 0.75 * (down - static_cast<int>(down)))};
}

/// Calls `add` with lengths from the whole to the narrowest, each a quarter of the one before.
template <typename Add>
void eachZoom(double whole, double narrowest, const Add& add) {
  for (double length = whole; length > narrowest; length /= kZoomStep) {
    add(length);
  }
}

/// With the lines of all ranks; with the lanes of three; and with those of all, listed.
Zooms timeline(const RunModel& model, const Run& run, QSizeF size) {
  const auto unlike =
      diagnosis::rankLikeness(run->analysis, model.ranks(), model.hosts()).outliers();
  std::vector<int> three = unlike;
  three.insert(three.end(), {0, 1, 2});
  three.resize(3);
  const std::vector<std::pair<const char*, TimelineLayout::Options>> layouts{
      {"lines", {.unlike = unlike}},
      {"three", {.shown = three, .unlike = unlike}},
      {"listed", {.unlike = unlike, .listed = true}}};
  const TimeRange extent = model.extent();
  Zooms zooms;
  for (const auto& [name, options] : layouts) {
    const auto layout = std::make_shared<TimelineLayout>(model, std::set<int>(), options);
    eachZoom(extent.lengthNs() * 1.04, kNarrowestNs, [&](double length) {
      zooms.push_back({fmt::format("{} {:.0f} ns", name, length),
                       [&model, layout, extent, size, length](double part) {
                         const double middle = extent.startNs + extent.lengthNs() * part;
                         TimelineFrame frame;
                         frame.size = QSizeF(size.width(), size.height() - kOverviewHeight);
                         frame.range = {middle - length / 2, middle + length / 2};
                         frame.scrollY =
                             part * std::max(0.0, layout->height() - frame.size.height());
                         frame.pointer = pointerAt(frame.size, part);
                         DisplayList list;
                         OverviewFrame whole;
                         whole.shown = frame.range;
                         drawOverview(list, QRectF(0, 0, size.width(), kOverviewHeight), model,
                                      palette(), whole);
                         list.append(drawn(TimelineScene(model, *layout, palette(), frame)),
                                     QPointF(0, kOverviewHeight));
                         return list;
                       }});
    });
  }
  return zooms;
}

Zooms ranks(const RunModel& model, const Run& run, QSizeF size) {
  const auto content = ranksContent(*run, ranksOfRun(model));
  Zooms zooms;
  for (const auto& [name, order] : {std::pair("number", RankOrder::kNumber),
                                    {"figure", RankOrder::kFigure},
                                    {"host", RankOrder::kHost},
                                    {"alike", RankOrder::kAlike}}) {
    const auto map = std::make_shared<RanksMap>();
    map->show(content, RankFigure::kStep, order);
    zooms.push_back({name, [map, size](double part) {
                       RanksFrame frame{size, std::nullopt};
                       frame.pointer = pointerAt(size, part);
                       return drawn(RanksScene(*map, palette(), frame));
                     }});
  }
  return zooms;
}

Zooms overlap(const RunModel& /*model*/, const Run& run, QSizeF size) {
  const auto content = overlapContent(*run);
  const double first = content->firstStep;
  const double steps = content->lastStep + 1.0 - first;
  Zooms zooms;
  eachZoom(steps, kFewestSteps, [&](double length) {
    zooms.push_back({fmt::format("{:.0f} iterations", length), [=](double part) {
                       OverlapFrame frame;
                       frame.size = size;
                       frame.firstStep = first + (steps - length) * part;
                       frame.lastStep = frame.firstStep + length;
                       frame.pointer = pointerAt(size, part);
                       DisplayList list;
                       OverlapScene(*content, palette(), frame).draw(list);
                       return list;
                     }});
  });
  for (const auto& [name, folded] : {std::pair("rank by bucket", true), {"each rank", false}}) {
    zooms.push_back({name, [cells = bucketContent(*run), folded, size](double part) {
                       BucketFrame frame;
                       frame.size = size;
                       frame.folded = folded;
                       frame.pointer = pointerAt(size, part);
                       return drawn(BucketScene(*cells, palette(), frame));
                     }});
  }
  return zooms;
}

Zooms buckets(const RunModel& model, const Run& /*run*/, QSizeF size) {
  const std::shared_ptr<const BucketStory> story =
      BucketStories(model).ofStep(typicalStep(model).value_or(0));
  Zooms zooms;
  if (story == nullptr) {
    return zooms;
  }
  const TimeRange whole = wholeTime(*story);
  eachZoom(whole.lengthNs(), kNarrowestNs, [&](double length) {
    zooms.push_back({fmt::format("{:.0f} ns", length), [=](double part) {
                       BucketsFrame frame;
                       frame.size = size;
                       frame.shown.startNs = whole.startNs + (whole.lengthNs() - length) * part;
                       frame.shown.endNs = frame.shown.startNs + length;
                       frame.replayNs = frame.shown.startNs + length / 2;
                       frame.pointer = pointerAt(size, part);
                       return drawn(BucketsScene(*story, palette(), frame));
                     }});
  });
  return zooms;
}

Zooms divergence(const RunModel& model, const Run& run, QSizeF size) {
  const auto facts = divergenceFacts(factsInput(model, run));
  const double first = facts->firstStep;
  const double steps = facts->lastStep + 1.0 - first;
  Zooms zooms;
  eachZoom(steps, kFewestSteps, [&](double length) {
    zooms.push_back({fmt::format("parameters of {:.0f} iterations", length), [=](double part) {
                       ParameterFrame frame;
                       frame.size = size;
                       frame.firstStep = first + (steps - length) * part;
                       frame.endStep = frame.firstStep + length;
                       frame.pointer = pointerAt(size, part);
                       return drawn(ParameterScene(*facts, palette(), frame));
                     }});
  });
  if (!facts->sequences.empty()) {
    zooms.push_back({"calls", [=](double part) {
                       SequenceFrame frame;
                       frame.size = size;
                       frame.scroll =
                           part * SequenceScene(*facts, palette(), frame).maximumScroll();
                       frame.pointer = pointerAt(size, part);
                       return drawn(SequenceScene(*facts, palette(), frame));
                     }});
  }
  return zooms;
}

Zooms hooks(const RunModel& model, const Run& run, QSizeF size) {
  const auto content = makeHooksContent({makeHookRun(hookFactsOf(model), *run)}, std::nullopt);
  return {{"scrolled", [=](double part) {
             HooksFrame frame;
             frame.size = size;
             frame.picked = content->heaviest();
             const double all = HooksScene(*content, palette(), frame).contentHeight();
             frame.scrollY = part * std::max(0.0, all - size.height());
             const HooksScene scene(*content, palette(), frame);
             frame.hovered = scene.pickAt(pointerAt(size, part));
             return drawn(HooksScene(*content, palette(), frame));
           }}};
}

Zooms live(const RunModel& model, const Run& run, QSizeF size) {
  const auto feed = std::make_shared<LiveFeed>();
  feed->setModel(&model);
  feed->update(run);
  const auto content = std::make_shared<LiveContent>(liveContent(model, *feed, presentOf(model)));
  return {{"whole", [&model, content, size](double part) {
             DisplayList list;
             LiveScene(model, *content, palette(), {size, pointerAt(size, part)}).draw(list);
             return list;
           }}};
}

}  // namespace

std::vector<ViewOfRun> viewsOfRanks() {
  return {{"timeline", timeline},     {"ranks", ranks}, {"overlap", overlap}, {"buckets", buckets},
          {"divergence", divergence}, {"hooks", hooks}, {"live", live}};
}

}  // namespace lockstep::bench
