#include "ui/views/timeline/TimelineLegend.h"

#include <algorithm>

#include "engine/trace/Event.h"
#include "ui/chart/FlightBar.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

struct Entry {
  Tone tone;
  const char* text;
  bool hatched;
  std::vector<EventKind> kinds;  // shown when the run holds one of them
  std::vector<ColourBy> by = {ColourBy::kPhase};
};

// What is rare comes first: a legend without room for all says what its reader cannot guess.
const std::vector<Entry>& entries() {
  using enum ColourBy;
  static const std::vector<Entry> kEntries{
      {Tone::kFault, "fault", true, {EventKind::kFault}, {kPhase, kWait}},
      {Tone::kFault, "no core", false, {EventKind::kOffCore}, {kPhase, kWait}},
      {Tone::kShadow, "out of inputs", true, {EventKind::kJoinShadow}},
      {Tone::kRebuild, "unused parameters", false, {EventKind::kSearchUnused}},
      {Tone::kData, "data", false, {EventKind::kData}},
      {Tone::kForward, "forward", false, {EventKind::kForward}},
      {Tone::kBackward, "backward", false, {EventKind::kBackward}},
      {Tone::kOptimizer, "optimizer", false, {EventKind::kOptimizer, EventKind::kBucketOptimizer}},
      {Tone::kCopy, "copy in / out", false, {EventKind::kCopyIn, EventKind::kCopyOut}},
      {Tone::kWait, "wait for a bucket", true, {EventKind::kWait}, {kPhase, kWait}},
      {Tone::kEncode, "hook encode", false, {EventKind::kHookEncode}, {kPhase, kHook}},
      {Tone::kCommunicate, "hook communicate", false, {EventKind::kHookCommunicate}, {kHook}},
      {Tone::kDecode, "hook decode", false, {EventKind::kHookDecode}, {kPhase, kHook}},
      {Tone::kTransfer,
       "transfer",
       false,
       {EventKind::kCollective, EventKind::kReplicate, EventKind::kNcclKernel},
       {kPhase, kWait}},
      {Tone::kLink, "modelled link", false, {EventKind::kShaped}, {kPhase, kWait}},
      {Tone::kTransfer,
       "waiting",
       true,
       {EventKind::kCollective, EventKind::kChecked},
       {kPhase, kWait}},
      {Tone::kCheck, "check", false, {EventKind::kChecked}, {kPhase, kWait}}};
  return kEntries;
}

Swatch swatchOf(const Entry& entry, const Palette& palette) {
  const QColor colour = palette.tone(entry.tone);
  return !entry.hatched                  ? Swatch{colour, {}}
         : entry.tone == Tone::kTransfer ? swatchOf(FlightPart::kWaiting, palette)
         : entry.tone == Tone::kFault    ? Swatch{colour, Palette::textOn(colour)}
                                         : Swatch{colour, withAlpha(palette.background, 0.5f)};
}

std::vector<LegendEntry> tones(const Palette& palette, const RunModel& model, ColourBy by) {
  std::vector<LegendEntry> chips;
  for (const Entry& entry : entries()) {
    const bool held =
        std::ranges::any_of(entry.kinds, [&](EventKind kind) { return model.holds(kind); });
    if (held && std::find(entry.by.begin(), entry.by.end(), by) != entry.by.end()) {
      chips.push_back({swatchOf(entry, palette), QString::fromLatin1(entry.text)});
    }
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

std::vector<LegendEntry> timelineLegend(const RunModel& model, ColourBy by,
                                        const Palette& palette) {
  std::vector<LegendEntry> chips =
      by == ColourBy::kBucket ? buckets(palette, model) : tones(palette, model, by);
  if (by != ColourBy::kPhase) {
    chips.push_back({{palette.tone(Tone::kNeutral), {}}, QStringLiteral("all else")});
  }
  return chips;
}

}  // namespace lockstep::ui
