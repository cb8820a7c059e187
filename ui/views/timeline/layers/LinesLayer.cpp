#include "ui/views/timeline/layers/LinesLayer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <ranges>
#include <vector>

#include "engine/run/KindFacts.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/LevelOfDetail.h"
#include "ui/views/timeline/LodRow.h"
#include "ui/views/timeline/SpanStyle.h"

namespace lockstep::ui {
namespace {

using namespace timeline_metrics;
using trace::EventKind;

constexpr double kApartFrom = 6;    // px of a line: then a pixel between two tells them apart
constexpr double kThinFold = 8;     // px that spans of a thinner line are folded to
constexpr double kNameHeight = 14;  // px between the names of two lines
constexpr std::size_t kNamedAtMost = 6;
constexpr int kShades = 8;  // of how full a fold is

// What a line shows, from the bottom up; rows as in engine/run/KindFacts.cpp.
constexpr std::array kShown{EventKind::kForward, EventKind::kWait, EventKind::kFault};

struct ShownRow {
  const Lane* lane = nullptr;  // null: the rank has no such row
  int row = 0;
};

ShownRow rowOf(const RunModel& model, int rank, EventKind kind) {
  const int row = run::factsOf(kind).row;
  const Lane* lane = model.lane(laneId(rank, laneRoleOf(kind)));
  return {lane != nullptr && row < static_cast<int>(lane->rows.size()) ? lane : nullptr, row};
}

// Neighbours of one colour and height are one rectangle.
class Fills {
 public:
  Fills(DisplayList& list, const QRectF& band) : list_(list), band_(band) {}
  ~Fills() { flush(); }
  Fills(const Fills&) = delete;
  Fills& operator=(const Fills&) = delete;

  void add(double left, double right, const QColor& colour, double height) {
    left = std::clamp(left, band_.left(), band_.right());
    right = std::clamp(std::max(right, left + 1), band_.left(), band_.right());
    if (right_ > left_ && colour == colour_ && height == height_ && left - right_ < 1) {
      right_ = std::max(right_, right);
      return;
    }
    flush();
    left_ = left;
    right_ = right;
    colour_ = colour;
    height_ = height;
  }

 private:
  void flush() {
    if (right_ > left_) {
      list_.fill(QRectF(left_, band_.bottom() - height_, right_ - left_, height_), colour_);
    }
    right_ = left_;
  }

  DisplayList& list_;
  QRectF band_;
  double left_ = 0;
  double right_ = 0;
  double height_ = 0;
  QColor colour_;
};

}  // namespace

std::optional<int> LinesLayer::rankAt(const TimelineSight& sight, QPointF position) {
  const RankLines::Line* line =
      position.y() < kRulerHeight ? nullptr : sight.layout.lines().at(sight.layoutY(position));
  return line != nullptr ? std::optional(line->rank) : std::nullopt;
}

std::optional<Span> LinesLayer::spanAt(const TimelineSight& sight, QPointF position) {
  const std::optional<int> rank = rankAt(sight, position);
  for (const EventKind kind : kShown | std::views::reverse) {
    const ShownRow shown = rank ? rowOf(sight.model, *rank, kind) : ShownRow{};
    const auto span = shown.lane == nullptr ? std::nullopt
                                            : sight.model.findSpan(shown.lane->id, shown.row,
                                                                   sight.axis.toNs(position.x()),
                                                                   sight.axis.nsPerPixel());
    if (span) {
      return span;
    }
  }
  return std::nullopt;
}

void LinesLayer::draw(DisplayList& list) const {
  const RankLines& lines = layout_.lines();
  if (lines.empty() || !sight_.inSight(lines.top(), lines.height())) {
    return;
  }
  const auto lineAt = [&](double layoutY) {
    const double line = std::floor((layoutY - lines.topOf(0)) / lines.lineHeight());
    return static_cast<std::size_t>(
        std::clamp(line, 0.0, static_cast<double>(lines.lines().size())));
  };
  const std::size_t first = lineAt(frame_.scrollY);
  const std::size_t last =
      std::min(lines.lines().size(), lineAt(frame_.scrollY + frame_.size.height()) + 1);
  list.clip(sight_.scrolled());
  drawHeader(list);
  drawNames(list, first, last);
  list.unclip();
  list.clip(sight_.lanesArea());
  for (std::size_t line = first; line < last; ++line) {
    drawLine(list, line);
  }
  list.unclip();
}

void LinesLayer::drawHeader(DisplayList& list) const {
  const RankLines& lines = layout_.lines();
  const QRectF header(0, sight_.yOf(lines.top()), frame_.size.width(), kRankHeader);
  list.fill(header, palette_.raised);
  const auto all = static_cast<std::size_t>(model_.rankCount());
  const QString title =
      lines.of().size() == all
          ? QStringLiteral("All %1 ranks").arg(formatCount(all))
          : QStringLiteral("%1 of %2 ranks").arg(formatCount(lines.of().size()), formatCount(all));
  list.title(QRectF(10, header.top(), kLabelWidth - 14, header.height()), title, palette_);
  list.note(QRectF(kLabelWidth + 8, header.top(), axis_.width() - 16, header.height()), facts(),
            palette_);
}

QString LinesLayer::facts() const {
  const RankLines& lines = layout_.lines();
  QStringList facts;
  if (!lines.unlike().empty()) {
    QStringList named;
    for (const int rank : lines.unlike() | std::views::take(kNamedAtMost)) {
      named << QString::number(rank);
    }
    QString text = QStringLiteral("unlike the rest: ") + named.join(QStringLiteral(", "));
    if (lines.unlike().size() > kNamedAtMost) {
      text += QStringLiteral(" and %1 more").arg(lines.unlike().size() - kNamedAtMost);
    }
    facts << text;
  }
  std::size_t most = 0;
  for (const RankLines::Line& line : lines.lines()) {
    most = std::max(most, line.count);
  }
  if (most > 1) {
    facts << QStringLiteral("a line stands for up to %1 ranks").arg(most);
  }
  facts << QStringLiteral("a click on a line shows its rank's lanes");
  return facts.join(QStringLiteral(" · "));
}

// Those that are unlike the rest are always named; of the others as many as have room between them.
void LinesLayer::drawNames(DisplayList& list, std::size_t first, std::size_t last) const {
  const RankLines& lines = layout_.lines();
  const QRectF column(0, sight_.yOf(lines.topOf(0)), kLabelWidth, lines.height() - kRankHeader);
  list.fill(column, palette_.surface);
  std::vector<double> taken;
  const auto name = [&](std::size_t line, const QString& text, const QColor& colour) {
    const double middle = sight_.yOf(lines.topOf(line)) + lines.lineHeight() / 2;
    if (std::ranges::any_of(taken, [&](double y) { return std::abs(y - middle) < kNameHeight; })) {
      return;
    }
    taken.push_back(middle);
    list.text(QRectF(24, middle - kNameHeight / 2, kLabelWidth - 36, kNameHeight), text, colour,
              FontRole::kSmall, kToTheRight);
  };
  for (std::size_t i = first; i < last; ++i) {
    const int rank = lines.lines()[i].rank;
    const QRectF mark(kLabelWidth - 6, sight_.yOf(lines.topOf(i)), 4, lines.lineHeight());
    if (lines.isUnlike(rank)) {
      list.fill(mark, palette_.warning);
      name(i, QStringLiteral("rank %1").arg(rank), palette_.warning);
    } else if (layout_.boxOf(rank) != nullptr) {
      list.fill(mark, palette_.accent);
    }
  }
  const auto every =
      static_cast<std::size_t>(std::max(1.0, std::ceil(kNameHeight / lines.lineHeight())));
  for (std::size_t i = (first + every - 1) / every * every; i < last; i += every) {
    name(i, QStringLiteral("rank %1").arg(lines.lines()[i].rank), palette_.textMuted);
  }
  list.fill(QRectF(kLabelWidth - 1, column.top(), 1, column.height()), palette_.gridStrong);
}

// Folded spans are as pale as their time is empty: else a row of short waits would hide what goes
// on between them. A wait for a core is filled from below by the part that was waited, as in the
// lanes, since nobody knows when in it that was; in a thin line it is that pale.
void LinesLayer::drawLine(DisplayList& list, std::size_t line) const {
  const RankLines& lines = layout_.lines();
  const bool thin = lines.lineHeight() < kApartFrom;
  const QRectF band(axis_.left(), sight_.yOf(lines.topOf(line)), axis_.width(),
                    lines.lineHeight() - (thin ? 0 : 1));
  for (const EventKind kind : kShown) {
    const ShownRow shown = rowOf(model_, lines.lines()[line].rank, kind);
    if (shown.lane == nullptr) {
      continue;
    }
    const LodRow row(model_, *shown.lane, shown.row);
    Fills fills(list, band);
    forEachVisible(
        row, axis_,
        [&](const LodItem& item) {
          const Span span = item.folded() ? row.longestOf(item) : row.spanAt(item.first);
          const double part = span.part();
          const double filled = (item.folded() ? row.filledPart(item) : 1.0) * (thin ? part : 1.0);
          QColor colour = colourOf(span, frame_.colourBy, palette_);
          if (filled < 1) {
            colour = withAlpha(colour, static_cast<float>(std::ceil(filled * kShades) / kShades));
          }
          fills.add(item.left, item.right, colour,
                    thin ? band.height() : std::max(1.0, std::round(band.height() * part)));
        },
        thin ? kThinFold : kFoldPixels);
  }
}

}  // namespace lockstep::ui
