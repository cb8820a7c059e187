#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

#include "engine/trace/Event.h"
#include "ui/chart/Legend.h"
#include "ui/views/timeline/TimelineScene.h"

// What the colours of a timeline mean.
namespace lockstep::ui {
namespace {

using trace::EventKind;

struct Entry {
  Tone tone;
  const char* text;
  bool hatched;
  std::initializer_list<EventKind> kinds;  // shown when the run holds one of them
  std::initializer_list<ColourBy> by = {ColourBy::kPhase};
};

std::vector<LegendEntry> tones(const Palette& palette, const RunModel& model, ColourBy by) {
  // What is rare comes first: a legend without room for all says what its reader cannot guess.
  const std::array<Entry, 17> kEntries{{
      {Tone::kFault, "fault", true, {EventKind::kFault}, {ColourBy::kPhase, ColourBy::kWait}},
      {Tone::kFault,
       "without a core",
       false,
       {EventKind::kOffCore},
       {ColourBy::kPhase, ColourBy::kWait}},
      {Tone::kShadow, "out of inputs", true, {EventKind::kJoinShadow}},
      {Tone::kRebuild, "unused parameters", false, {EventKind::kSearchUnused}},
      {Tone::kData, "data", false, {EventKind::kData}},
      {Tone::kForward, "forward", false, {EventKind::kForward}},
      {Tone::kBackward, "backward", false, {EventKind::kBackward}},
      {Tone::kOptimizer, "optimizer", false, {EventKind::kOptimizer, EventKind::kBucketOptimizer}},
      {Tone::kCopy, "copy in / out", false, {EventKind::kCopyIn, EventKind::kCopyOut}},
      {Tone::kWait,
       "wait for a bucket",
       true,
       {EventKind::kWait},
       {ColourBy::kPhase, ColourBy::kWait}},
      {Tone::kEncode,
       "hook encode",
       false,
       {EventKind::kHookEncode},
       {ColourBy::kPhase, ColourBy::kHook}},
      {Tone::kCommunicate,
       "hook communicate",
       false,
       {EventKind::kHookCommunicate},
       {ColourBy::kHook}},
      {Tone::kDecode,
       "hook decode",
       false,
       {EventKind::kHookDecode},
       {ColourBy::kPhase, ColourBy::kHook}},
      {Tone::kTransfer,
       "transfer",
       false,
       {EventKind::kCollective, EventKind::kReplicate, EventKind::kNcclKernel},
       {ColourBy::kPhase, ColourBy::kWait}},
      {Tone::kTransfer,
       "waits for a late rank",
       true,
       {EventKind::kCollective, EventKind::kChecked},
       {ColourBy::kPhase, ColourBy::kWait}},
      {Tone::kLink,
       "modelled link",
       false,
       {EventKind::kShaped},
       {ColourBy::kPhase, ColourBy::kWait}},
      {Tone::kCheck, "check", false, {EventKind::kChecked}, {ColourBy::kPhase, ColourBy::kWait}},
  }};
  std::vector<LegendEntry> chips;
  for (const Entry& entry : kEntries) {
    const bool held = std::any_of(entry.kinds.begin(), entry.kinds.end(),
                                  [&](EventKind kind) { return model.holds(kind); });
    if (!held || std::find(entry.by.begin(), entry.by.end(), by) == entry.by.end()) {
      continue;
    }
    const QColor colour = palette.tone(entry.tone);
    const bool late = entry.hatched && entry.tone == Tone::kTransfer;
    LegendEntry chip{{late ? withAlpha(colour, 0.3f) : colour, {}},
                     QString::fromLatin1(entry.text)};
    if (entry.hatched) {
      chip.swatch.hatch = late                         ? colour
                          : entry.tone == Tone::kFault ? Palette::textOn(colour)
                                                       : withAlpha(palette.background, 0.5f);
    }
    chips.push_back(std::move(chip));
  }
  return chips;
}

std::vector<LegendEntry> buckets(const Palette& palette, const RunModel& model) {
  std::size_t most = 0;
  for (const auto& layout : model.layouts()) {
    most = std::max(most, layout.buckets.size());
  }
  std::vector<LegendEntry> chips;
  for (std::size_t i = 0; i < most; ++i) {
    chips.push_back(
        {{palette.bucket(static_cast<int>(i)), {}}, QStringLiteral("bucket %1").arg(i)});
  }
  return chips;
}

}  // namespace

double TimelineScene::drawLegend(DisplayList& list, const QRectF& rect, const Palette& palette,
                                 const RunModel& model, ColourBy by) {
  std::vector<LegendEntry> chips =
      by == ColourBy::kBucket ? buckets(palette, model) : tones(palette, model, by);
  if (by != ColourBy::kPhase) {
    chips.push_back({{palette.tone(Tone::kNeutral), {}}, QStringLiteral("all else")});
  }
  return ui::drawLegend(list, rect, chips, palette);
}

}  // namespace lockstep::ui
