#include "ui/views/overlap/OverlapScene.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "ui/chart/FlightBar.h"

namespace lockstep::ui {
namespace {

constexpr double kHeader = 54;
constexpr double kRuler = 20;
constexpr double kLabel = 186;
constexpr double kSide = 372;
constexpr double kWideEnough = 940;  // for the causes beside the bars
constexpr double kLowestRow = 92;
constexpr double kHighestRow = 560;
constexpr double kRowGap = 8;
constexpr double kSideBelow = 216;
constexpr double kLadder = 186;  // lowest, with the first lines of its words
constexpr double kLadderWidth = 380;
constexpr double kReason = 62;  // lowest, with the first lines of its words
constexpr double kReasonTitle = 34;
constexpr double kReasonsLeftOut = 16;
constexpr double kNarrowestBar = 3;
constexpr double kHatchedFrom = 8;  // px of a bar: in narrower ones a hatch flickers

struct PartFacts {
  Tone tone;
  bool hatched;
  const char* name;
};

// In the order of OverlapPart.
const PartFacts& about(OverlapPart part) {
  static constexpr std::array<PartFacts, kOverlapParts> kParts{
      {{Tone::kForward, false, "computing alone"},
       {Tone::kBackward, true, "computing, communication overlapped"},
       {Tone::kNeutral, false, "other"},
       {Tone::kFault, true, "exposed: no core"},
       {Tone::kTransfer, true, "exposed: waiting"},
       {Tone::kTransfer, false, "exposed: transfer"},
       {Tone::kUndivided, false, "exposed: waiting or transfer"}}};
  return kParts[static_cast<std::size_t>(part)];
}

}  // namespace

OverlapScene::OverlapScene(const OverlapContent& content, const Palette& palette,
                           OverlapFrame frame)
    : content_(content), palette_(palette), frame_(std::move(frame)) {
  layOut();
}

void OverlapScene::layOut() {
  const QSizeF size = frame_.size;
  header_ = QRectF(0, 0, size.width(), kHeader);
  const bool beside = size.width() >= kWideEnough;
  // Narrow windows have the causes below, where that leaves room for two ranks.
  const double below =
      !beside && size.height() > kHeader + kSideBelow + 2 * kLowestRow ? kSideBelow : 0;
  const double right = beside ? size.width() - kSide : size.width();
  const double legend = legendHeight(legendEntries(), right - 24);
  const double bottom = size.height() - below - legend;
  ruler_ = QRectF(kLabel, kHeader, std::max(10.0, right - kLabel - 12), kRuler);
  charts_ = QRectF(0, ruler_.bottom(), right, std::max(10.0, bottom - ruler_.bottom()));
  legend_ = QRectF(12, bottom, right - 24, legend);
  if (beside) {
    side_ = QRectF(right, kHeader, kSide, size.height() - kHeader);
    // The ladder gives way to the causes: at least one of them stays.
    const double leftOut = content_.reasonsOf(frame_.rank).size() > 1 ? kReasonsLeftOut : 0;
    const double room = side_.height() - kReasonTitle - kReason - leftOut;
    const double ladder = room > kLadder ? std::clamp(ladderHeight(kSide - 28), kLadder, room) : 0;
    ladder_ = QRectF(side_.left() + 14, side_.bottom() - ladder, kSide - 28, ladder);
    layOutReasons(side_.adjusted(14, 0, -14, -ladder));
  } else if (below > 0) {
    side_ = QRectF(0, size.height() - below, size.width(), below);
    const double ladder = side_.width() > 2 * kLadderWidth ? kLadderWidth : 0;
    ladder_ = QRectF(side_.right() - ladder, side_.top(), std::max(0.0, ladder - 14), below);
    layOutReasons(side_.adjusted(14, 0, -ladder - 24, 0));
  }
  rows_ = chosenRows();
  const bool many = !content_.spreads.empty();
  const auto ranks = static_cast<double>(std::max<std::size_t>(1, rows_.size() + (many ? 1 : 0)));
  // Rows share the height; from a least one on they scroll.
  const double height = std::clamp(charts_.height() / ranks - kRowGap, kLowestRow, kHighestRow);
  maximumScroll_ = std::max(0.0, ranks * (height + kRowGap) - charts_.height());
  double top = charts_.top() + 4 - std::min(frame_.scrollY, maximumScroll_);
  const auto place = [&](Row& row) {
    row.label = QRectF(0, top, kLabel, height);
    row.plot = QRectF(ruler_.left(), top, ruler_.width(), height);
    top += height + kRowGap;
  };
  if (many) {
    place(spread_);
  }
  for (Row& row : rows_) {
    place(row);
  }
}

// All ranks of a run of few. Of many those that somebody chose, or else some examples; and in any
// case the one in which a step is selected.
std::vector<OverlapScene::Row> OverlapScene::chosenRows() const {
  std::vector<Row> rows;
  const auto add = [&](int number, const char* why) {
    const OverlapContent::Rank* rank = content_.rank(number);
    if (rank != nullptr && std::ranges::find(rows, rank, &Row::rank) == rows.end()) {
      rows.push_back({rank, why, {}, {}});
    }
  };
  for (const int rank : frame_.shown) {
    add(rank, "");
  }
  if (content_.spreads.empty()) {
    for (const OverlapContent::Rank& rank : content_.ranks) {
      if (frame_.shown.empty()) {
        add(rank.rank, "");
      }
    }
    return rows;
  }
  for (const OverlapContent::Example& example : content_.examples) {
    if (frame_.shown.empty()) {
      add(example.rank, example.why);
    }
  }
  if (frame_.selected) {
    add(frame_.selected->rank, "selected");
  }
  return rows;
}

std::vector<LegendEntry> OverlapScene::legendEntries() const {
  std::vector<LegendEntry> entries;
  for (int i = 0; i < kOverlapParts; ++i) {
    const auto part = static_cast<OverlapPart>(i);
    // Only what there is: most runs have three or four of the seven.
    if (std::ranges::any_of(content_.ranks, [&](const auto& rank) {
          return rank.sums.back()[static_cast<std::size_t>(i)] > 0;
        })) {
      entries.push_back({barSwatchOf(part), nameOf(part)});
    }
  }
  return entries;
}

void OverlapScene::layOutReasons(const QRectF& list) {
  const auto& reasons = content_.reasonsOf(frame_.rank);
  const std::size_t count = reasons.size();
  double top = list.top() + kReasonTitle;
  for (std::size_t i = 0; i < count; ++i) {
    // The last needs no room for the line "and n more with less effect".
    const bool last = i + 1 == count;
    const double room = list.bottom() - top - (last ? 0 : kReasonsLeftOut);
    const double whole = reasonHeight(reasons[i], list.width());
    if (whole > room && i > 0) {
      break;
    }
    // The first stands in any case, and where there is no room its words are elided.
    const double height = std::clamp(whole, kReason, std::max(kReason, room));
    reasons_.push_back({QRectF(list.left(), top, list.width(), height), i});
    top += height;
  }
  reasonsLeftOut_ = count - reasons_.size();
  leftOut_ = QRectF(list.left(), top, list.width(), kReasonsLeftOut);
}

double OverlapScene::pixelsPerStep() const {
  return ruler_.width() / std::max(1e-9, frame_.lastStep - frame_.firstStep);
}

double OverlapScene::xOf(double step) const {
  return ruler_.left() + (step - frame_.firstStep) * pixelsPerStep();
}

double OverlapScene::stepOf(double x) const {
  return frame_.firstStep + (x - ruler_.left()) / pixelsPerStep();
}

double OverlapScene::yOf(const Row& row, double ms) const {
  return row.plot.bottom() - row.plot.height() * std::min(1.0, ms / content_.scaleMs);
}

// A power of two, counted from step 0, so that bars keep their steps while the view moves: a bar
// that was made of others when it scrolls would flicker.
std::uint32_t OverlapScene::stepsPerBar() const {
  std::uint32_t steps = 1;
  while (steps * pixelsPerStep() < kNarrowestBar && steps < 1u << 30) {
    steps *= 2;
  }
  return steps;
}

std::pair<double, double> OverlapScene::edgesOf(std::uint32_t first, std::uint64_t next) const {
  const double left = xOf(static_cast<double>(first));
  const double right = xOf(static_cast<double>(next));
  const double gap = right - left >= 6 ? std::min(6.0, (right - left) * 0.15) : 0;
  // At least a pixel, whatever the gap.
  return {std::round(left), std::max(std::round(left) + 1, std::round(right - gap))};
}

// Note [Bars of many steps]
//
// A bar is 3 px wide at least. Where steps have less room, one bar stands for 2, 4, 8, … of them
// and shows the mean of each part. With the sums before each step (OverlapContent::Rank::sums) that
// is a difference of two of them, however many steps lie between:
//
//   steps     0      1      2      3      4
//   lengths   10     12     10     40     12
//   sums      0      10     22     32     72     84
//   bars of 2 [0, 2) 11     [2, 4) 25     [4, 6) 12 (so far)
//
// A long step is hidden in a mean, but not lost: the bar of it is higher, and a click on it goes to
// the longest of its steps (stepAt).
std::optional<OverlapScene::Bar> OverlapScene::barAt(const Row& row, std::uint32_t step) const {
  const std::uint32_t each = stepsPerBar();
  Bar bar;
  bar.first = step / each * each;
  // In 64 bits: the last bar may end beyond the largest step.
  const std::uint64_t next = std::uint64_t{bar.first} + each;
  bar.begin = row.rank->firstFrom(bar.first);
  bar.end = row.rank->firstFrom(next);
  // The rank has not ended any of these.
  if (bar.begin == bar.end) {
    return std::nullopt;
  }
  bar.first = row.rank->number(bar.begin);
  bar.last = row.rank->number(bar.end - 1);
  std::tie(bar.left, bar.right) = edgesOf(step / each * each, next);
  // The difference of two sums may be a rounding below zero.
  for (std::size_t part = 0; part < bar.parts.size(); ++part) {
    bar.parts[part] =
        std::max(0.0, (row.rank->sums[bar.end][part] - row.rank->sums[bar.begin][part]) /
                          static_cast<double>(bar.end - bar.begin));
    bar.wholeMs += bar.parts[part];
  }
  return bar;
}

std::optional<int> OverlapScene::labelAt(QPointF position) const {
  for (const Row& row : rows_) {
    if (charts_.contains(position) && row.label.contains(position)) {
      return row.rank->rank;
    }
  }
  return std::nullopt;
}

std::optional<OverlapStep> OverlapScene::stepAt(QPointF position) const {
  const double number = stepOf(position.x());
  if (number >= 0 && charts_.contains(position) && spread_.plot.contains(position)) {
    // The rank that stands out in it.
    const auto bar = spreadAt(static_cast<std::uint32_t>(number));
    return bar ? std::optional(OverlapStep{bar->spread.worst, bar->spread.step}) : std::nullopt;
  }
  for (const Row& row : rows_) {
    if (!charts_.contains(position) || !row.plot.contains(position) || number < 0) {
      continue;
    }
    const auto bar = barAt(row, static_cast<std::uint32_t>(number));
    if (!bar) {
      return std::nullopt;
    }
    std::size_t longest = bar->begin;
    // Where a bar stands for many steps, a click is for the one that stands out.
    for (std::size_t i = bar->begin; i < bar->end; ++i) {
      const auto lengthOf = [&](std::size_t entry) { return row.rank->steps[entry].times.stepMs; };
      longest = lengthOf(i) > lengthOf(longest) ? i : longest;
    }
    return OverlapStep{row.rank->rank, row.rank->number(longest)};
  }
  return std::nullopt;
}

std::optional<std::size_t> OverlapScene::reasonAt(QPointF position) const {
  for (const ReasonBox& box : reasons_) {
    if (box.rect.contains(position)) {
      return box.index;
    }
  }
  return std::nullopt;
}

std::optional<QPointF> OverlapScene::positionOf(const OverlapStep& step) const {
  for (const Row& row : rows_) {
    const auto bar = row.rank->rank == step.rank ? barAt(row, step.step) : std::nullopt;
    if (bar) {
      const QPointF middle((bar->left + bar->right) / 2, row.plot.center().y());
      return charts_.contains(middle) && row.plot.contains(middle) ? std::optional(middle)
                                                                   : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<QPointF> OverlapScene::positionOfReason(std::size_t index) const {
  return index < reasons_.size() ? std::optional(reasons_[index].rect.center()) : std::nullopt;
}

QColor OverlapScene::colourOf(OverlapPart part, const Palette& palette) {
  return palette.tone(about(part).tone);
}

bool OverlapScene::isHatched(OverlapPart part) {
  return about(part).hatched;
}

Swatch OverlapScene::swatchOf(OverlapPart part, const Palette& palette) {
  switch (part) {
    case OverlapPart::kWaiting:
      return ui::swatchOf(FlightPart::kWaiting, palette);
    case OverlapPart::kTransfer:
      return ui::swatchOf(FlightPart::kTransfer, palette);
    case OverlapPart::kUndivided:
      return ui::swatchOf(FlightPart::kUndivided, palette);
    default:
      break;
  }
  const QColor colour = colourOf(part, palette);
  return isHatched(part) ? hatched(colour, palette) : Swatch{colour, {}};
}

// By the room of all bars, not the pixels of each: one px more of every other would show.
bool OverlapScene::hasRoomForHatches() const {
  return stepsPerBar() * pixelsPerStep() >= kHatchedFrom;
}

Swatch OverlapScene::barSwatchOf(OverlapPart part) const {
  return !isHatched(part) || hasRoomForHatches()
             ? swatchOf(part, palette_)
             : Swatch{mixed(colourOf(part, palette_), palette_.background, 0.6), {}};
}

QString OverlapScene::nameOf(OverlapPart part) {
  return QString::fromLatin1(about(part).name);
}

}  // namespace lockstep::ui
