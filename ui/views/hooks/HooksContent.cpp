#include "ui/views/hooks/HooksContent.h"

#include <algorithm>
#include <array>
#include <set>

#include "ui/views/hooks/HookWords.h"

namespace lockstep::ui {

using namespace hook_words;

namespace {

struct PhaseFacts {
  Tone tone;
  const char* title;
  const char* meaning;
};

// In the order of HookPhase.
const PhaseFacts& about(analysis::HookPhase phase) {
  static constexpr std::array<PhaseFacts, analysis::kHookPhases> kPhases{
      {{Tone::kEncode, "encode", "The hook makes of the gradients what is sent."},
       {Tone::kNeutral, "queued", "In line for the hook's thread or for a thread of the backend."},
       {Tone::kTransfer, "waiting",
        "A collective of the bucket is open, and the last rank has not come to it."},
       {Tone::kTransfer, "transfer", "All ranks have come: data moves, on the modelled link too."},
       {Tone::kDecode, "decode", "The hook makes gradients of what came."}}};
  return kPhases[static_cast<std::size_t>(phase)];
}

}  // namespace

const analysis::HookBucket* HookSide::find(std::uint16_t bucket) const {
  const auto at = std::find_if(buckets.begin(), buckets.end(),
                               [bucket](const auto& each) { return each.bucket == bucket; });
  return at == buckets.end() ? nullptr : &*at;
}

const analysis::Durations* HookSide::durations(const HookPick& pick) const {
  const analysis::HookBucket* bucket = find(pick.bucket);
  if (bucket == nullptr) {
    return nullptr;
  }
  return pick.phase ? &bucket->phases[static_cast<std::size_t>(*pick.phase)] : &bucket->total;
}

std::vector<std::uint16_t> HooksContent::buckets() const {
  std::set<std::uint16_t> numbers;
  for (const HookSide& side : sides) {
    for (const analysis::HookBucket& bucket : side.buckets) {
      numbers.insert(bucket.bucket);
    }
  }
  return {numbers.begin(), numbers.end()};
}

// Of the first run, which the second is compared with.
std::optional<HookPick> HooksContent::heaviest() const {
  if (sides.empty() || sides.front().buckets.empty()) {
    return std::nullopt;
  }
  const auto& all = sides.front().buckets;
  const auto most = std::max_element(
      all.begin(), all.end(), [](const auto& a, const auto& b) { return a.share < b.share; });
  return HookPick{most->bucket, std::nullopt};
}

std::shared_ptr<const HooksContent> makeHooksContent(
    const std::vector<std::shared_ptr<const HookRun>>& runs, std::optional<int> rank) {
  auto content = std::make_shared<HooksContent>();
  content->rank = rank;
  for (const auto& run : runs) {
    // Sorted anew for each choice of a rank: medians of one rank are not part of those of all.
    content->sides.push_back(
        {run, run->calls.buckets(run->layouts, rank), run->calls.step(run->layouts, rank)});
  }
  return content;
}

QString bucketTitle(std::uint16_t bucket) {
  return bucket == trace::kNoBucket ? tr("around the step") : tr("bucket %1").arg(bucket);
}

QString phaseTitle(std::optional<analysis::HookPhase> phase) {
  return phase ? tr(about(*phase).title) : tr("all phases");
}

QString phaseMeaning(analysis::HookPhase phase) {
  return tr(about(phase).meaning);
}

QColor phaseColour(const Palette& palette, analysis::HookPhase phase) {
  return palette.tone(about(phase).tone);
}

// What is around the step has no gradients of its own, and an unknown layout has no sizes.
QString payloadText(std::optional<std::uint64_t> before, double after) {
  if (!before) {
    return after > 0 ? tr("%1 sent").arg(formatBytes(after)) : tr("nothing sent");
  }
  if (after <= 0) {
    return tr("%1 → nothing sent").arg(formatBytes(*before));
  }
  return tr("%1, %2 → %3")
      .arg(ratioText(static_cast<double>(*before) / after), formatBytes(*before),
           formatBytes(after));
}

QString ratioText(double ratio) {
  // Three digits, whatever the size.
  const int decimals = ratio < 9.95 ? 2 : ratio < 99.5 ? 1 : 0;
  return QString::number(ratio, 'f', decimals) + QStringLiteral(" : 1");
}

}  // namespace lockstep::ui
