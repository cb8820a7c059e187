#include "ui/views/divergence/SequenceScene.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>
#include <set>
#include <utility>

#include "engine/trace/Event.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Card.h"
#include "ui/model/Format.h"
#include "ui/model/ViewState.h"

namespace lockstep::ui {
namespace {

using analysis::CallMismatch;
using analysis::CallSequence;

constexpr double kNumber = 84;  // width of the column of numbers
constexpr double kIteration = 74;
constexpr double kVerdict = 156;
constexpr double kOverview = 14;
constexpr double kLeastColumn = 40;
constexpr double kDetailsFrom = 150;  // a column this wide shows bytes beside the operation
constexpr double kBucketFrom = 260;
constexpr double kDtypeFrom = 330;
constexpr std::size_t kSuspectsLookedAt = 32;

}  // namespace

SequenceScene::SequenceScene(const DivergenceFacts& facts, const Palette& palette,
                             SequenceFrame frame)
    : facts_(facts), palette_(palette), frame_(std::move(frame)), columns_(chosenColumns()) {}

// Looked for in the first rows that do not match: there it began.
std::vector<std::size_t> SequenceScene::chosenColumns() const {
  std::vector<std::size_t> columns;
  if (frame_.sequence >= facts_.sequences.size()) {
    return columns;
  }
  const std::vector<int>& ranks = sequence().ranks;
  if (ranks.size() <= kFewRanks) {
    columns.resize(ranks.size());
    std::iota(columns.begin(), columns.end(), std::size_t{0});
    return columns;
  }
  std::set<std::size_t> chosen{0};
  if (frame_.selected && frame_.selected->column) {
    chosen.insert(*frame_.selected->column);
  }
  for (const std::uint32_t row : sequence().suspects | std::views::take(kSuspectsLookedAt)) {
    for (const int odd : analysis::oddRanks(sequence(), row)) {
      if (chosen.size() < kFewRanks) {
        chosen.insert(static_cast<std::size_t>(std::ranges::find(ranks, odd) - ranks.begin()));
      }
    }
  }
  return {chosen.begin(), chosen.end()};
}

// Note [Rows and lines]
//
// A row is a number of the group's calls (CallSequence::rows), a line what is drawn at a place.
// They are the same unless only what does not match is shown; then the suspects alone have lines:
//
//    rows       0  1  2  3  4  5  6
//    suspects         2        5         indices of rows, ascending
//    lines            0        1
//
// Selection, tables and searches speak of rows, scrolling and drawing of lines. Either way is a
// look-up or a binary search, so that a run of a million calls is scrolled as fast as one of ten.
const CallSequence& SequenceScene::sequence() const {
  return facts_.sequences[frame_.sequence];
}

std::size_t SequenceScene::lines() const {
  return frame_.suspectsOnly ? sequence().suspects.size() : sequence().rows.size();
}

std::size_t SequenceScene::rowOfLine(std::size_t line) const {
  return frame_.suspectsOnly ? sequence().suspects[line] : line;
}

std::optional<std::size_t> SequenceScene::lineOfRow(std::size_t row) const {
  if (!frame_.suspectsOnly) {
    return row < sequence().rows.size() ? std::optional(row) : std::nullopt;
  }
  const auto& suspects = sequence().suspects;
  const auto at = std::lower_bound(suspects.begin(), suspects.end(), row);
  return at != suspects.end() && *at == row
             ? std::optional(static_cast<std::size_t>(at - suspects.begin()))
             : std::nullopt;
}

double SequenceScene::maximumScroll() const {
  return std::max(0.0, contentHeight() - (frame_.size.height() - kHeader));
}

double SequenceScene::scrollTo(std::size_t row) const {
  const auto line = lineOfRow(row);
  const double middle = (frame_.size.height() - kHeader - kRow) / 2;
  return line ? std::clamp(kRow * static_cast<double>(*line) - middle, 0.0, maximumScroll())
              : frame_.scroll;
}

double SequenceScene::lineTop(std::size_t line) const {
  return kHeader + kRow * static_cast<double>(line) - frame_.scroll;
}

QRectF SequenceScene::overview() const {
  return {frame_.size.width() - kOverview, kHeader, kOverview, frame_.size.height() - kHeader};
}

QRectF SequenceScene::columnRect(std::size_t place) const {
  const double left = kNumber + kIteration;
  const double room = frame_.size.width() - left - kVerdict - kOverview;
  const auto columns = static_cast<double>(columns_.size());
  // Many ranks have columns of 40 px, and those that do not fit are left out, never squeezed.
  const double each = std::max(kLeastColumn, room / columns);
  return {left + each * static_cast<double>(place), 0, each, kRow};
}

QRectF SequenceScene::cellRect(std::optional<std::size_t> column, double top) const {
  const auto place = column ? std::ranges::find(columns_, *column) : columns_.end();
  return place == columns_.end()
             ? QRectF(0, top, frame_.size.width() - kOverview, kRow)
             : columnRect(static_cast<std::size_t>(place - columns_.begin())).translated(0, top);
}

void SequenceScene::draw(DisplayList& list) const {
  list.fill(QRectF(QPointF(0, 0), frame_.size), palette_.background);
  const QRectF body(0, kHeader, frame_.size.width(), frame_.size.height() - kHeader);
  if (lines() == 0) {
    drawMessage(list, body, QStringLiteral("Every call of this group matches"),
                QStringLiteral("All ranks made the same calls in the same order."), palette_.good,
                palette_);
  } else {
    list.clip(body);
    const auto first = static_cast<std::size_t>(std::max(0.0, frame_.scroll) / kRow);
    for (std::size_t line = first; line < lines() && lineTop(line) < frame_.size.height(); ++line) {
      drawLine(list, line);
    }
    list.unclip();
  }
  drawOverview(list);
  drawHeader(list);
  drawPointer(list);
}

void SequenceScene::drawHeader(DisplayList& list) const {
  const QRectF header(0, 0, frame_.size.width(), kHeader);
  list.fill(header, palette_.raised);
  list.fill(QRectF(0, kHeader - 1, header.width(), 1), palette_.gridStrong);
  const auto right = kToTheRight;
  list.note(QRectF(4, 0, kNumber - 12, kHeader), QStringLiteral("number"), palette_, right);
  list.note(QRectF(kNumber, 0, kIteration - 12, kHeader), QStringLiteral("iteration"), palette_,
            right);
  for (std::size_t place = 0; place < columns_.size(); ++place) {
    const QRectF rect = columnRect(place);
    if (rect.left() > frame_.size.width() - kVerdict) {
      break;
    }
    const int rank = sequence().ranks[columns_[place]];
    const QColor colour = palette_.rank(rank);
    list.fill(QRectF(rect.left() + 4, kHeader - 4, rect.width() - 8, 3), colour);
    list.title(QRectF(rect.left() + 8, 0, rect.width() - 12, kHeader - 2),
               QStringLiteral("rank %1").arg(rank), palette_);
  }
  // Over the columns that reach under the verdicts.
  list.fill(QRectF(frame_.size.width() - kVerdict - kOverview, 0, kVerdict, kHeader - 1),
            palette_.raised);
  list.note(QRectF(frame_.size.width() - kVerdict - kOverview + 10, 0, kVerdict - 14, kHeader),
            columns_.size() == sequence().ranks.size()
                ? QStringLiteral("side by side")
                : QStringLiteral("%1 of %2 ranks")
                      .arg(columns_.size())
                      .arg(formatCount(sequence().ranks.size())),
            palette_);
}

void SequenceScene::drawLine(DisplayList& list, std::size_t line) const {
  const std::size_t row = rowOfLine(line);
  const QRectF rect(0, lineTop(line), frame_.size.width() - kOverview, kRow);
  const analysis::CallRow& call = sequence().rows[row];
  const bool differs = analysis::differs(call.mismatch);
  if (differs) {
    list.fill(rect, mixed(palette_.error, palette_.background, 0.10));
  } else if (line % 2 == 1) {
    list.fill(rect, palette_.lane);
  }
  const auto right = kToTheRight;
  list.label(QRectF(4, rect.top(), kNumber - 12, kRow), formatCount(call.sequence), palette_,
             right);
  const trace::SpanRow& any = sequence().anyCallAt(row);
  list.note(QRectF(kNumber, rect.top(), kIteration - 12, kRow), formatCount(any.step), palette_,
            right);
  // Those who stand against the majority, or all where there is none (oddRanks()).
  const std::vector<int> odd = analysis::oddRanks(sequence(), row);
  for (std::size_t place = 0; place < columns_.size(); ++place) {
    const std::size_t column = columns_[place];
    const QRectF cell = columnRect(place).translated(0, rect.top());
    if (cell.left() > frame_.size.width() - kVerdict - kOverview) {
      break;
    }
    drawCall(list, row, column, cell,
             std::find(odd.begin(), odd.end(), sequence().ranks[column]) != odd.end());
  }
  drawVerdict(list, row,
              QRectF(frame_.size.width() - kVerdict - kOverview, rect.top(), kVerdict, kRow));
  if (sequence().first == row) {
    list.outline(rect.adjusted(1, 0, -1, -1), palette_.error);
    list.outline(rect.adjusted(2, 1, -2, -2), palette_.error);
  }
  if (frame_.selected && frame_.selected->row == row) {
    const QRectF mark = cellRect(frame_.selected->column, rect.top());
    list.outline(mark.adjusted(1, 1, -1, -1), palette_.accent, 3);
    list.outline(mark.adjusted(2, 2, -2, -2), palette_.accent, 3);
  }
}

void SequenceScene::drawCall(DisplayList& list, std::size_t row, std::size_t column,
                             const QRectF& cell, bool odd) const {
  const QRectF inner = cell.adjusted(4, 2, -4, -2);
  const trace::SpanRow* call = sequence().callAt(row, column);
  if (call == nullptr) {
    // Of a row that is not known to differ only the record may be missing.
    const bool unknown = !analysis::differs(sequence().rows[row].mismatch);
    list.hatch(inner, withAlpha(unknown ? palette_.textMuted : palette_.error, 0.4f));
    const QString text = unknown ? QStringLiteral("no record") : QStringLiteral("no such call");
    // A plate under the text, so that it can be read on the hatching.
    const QRectF plate(inner.left(), inner.top(),
                       std::min(inner.width(), textWidth(text, FontRole::kSmall) + 12),
                       inner.height());
    list.fill(plate, palette_.background);
    list.text(plate.adjusted(6, 0, 0, 0), text, unknown ? palette_.textMuted : palette_.error,
              FontRole::kSmall);
    list.outline(inner, unknown ? palette_.gridStrong : palette_.error, 3);
    return;
  }
  const trace::SpanRow& span = *call;
  const bool inBucket = span.bucket != trace::kNoBucket;
  const QColor chip = inBucket ? palette_.bucket(span.bucket) : palette_.tone(Tone::kNeutral);
  if (odd) {
    list.fill(inner, mixed(palette_.error, palette_.background, 0.24), 3);
    list.hatch(inner, withAlpha(palette_.error, 0.18f));
    list.outline(inner, palette_.error, 3);
  }
  list.fill(QRectF(inner.left(), inner.top() + 2, 4, inner.height() - 4), chip, 1);
  const QString name = nameOfOperation(span);
  QStringList details;
  if (inBucket && cell.width() >= kBucketFrom) {
    details << QStringLiteral("bucket %1").arg(span.bucket);
  }
  details << formatBytes(trace::collectiveBytes(span.value));
  const QString dtype = dtypeOf(facts_, span);
  if (!dtype.isEmpty() && cell.width() >= kDtypeFrom) {
    details << dtype;
  }
  if (span.kind == trace::EventKind::kCollectiveQueued) {
    details << QStringLiteral("begun, not ended");
  }
  const double nameWidth = textWidth(name, FontRole::kNormal) + 6;
  list.text(QRectF(inner.left() + 10, inner.top(), inner.width() - 12, inner.height()), name,
            palette_.text);
  if (cell.width() >= kDetailsFrom) {
    list.text(QRectF(inner.left() + 10 + nameWidth + 4, inner.top(), inner.width() - nameWidth - 18,
                     inner.height()),
              details.join(QStringLiteral(" · ")), odd ? palette_.text : palette_.textMuted,
              FontRole::kSmall);
  }
}

void SequenceScene::drawVerdict(DisplayList& list, std::size_t row, const QRectF& rect) const {
  const CallMismatch mismatch = sequence().rows[row].mismatch;
  const bool differs = analysis::differs(mismatch);
  const QColor ink = differs                              ? palette_.error
                     : mismatch == CallMismatch::kUnknown ? palette_.textMuted
                                                          : palette_.good;
  const QPointF mark(rect.left() + 15, rect.center().y());
  if (differs) {
    list.line(mark + QPointF(-4, -4), mark + QPointF(4, 4), ink, 2);
    list.line(mark + QPointF(-4, 4), mark + QPointF(4, -4), ink, 2);
  } else if (mismatch == CallMismatch::kNone) {
    list.polyline({mark + QPointF(-4, 0), mark + QPointF(-1, 3), mark + QPointF(4, -4)}, ink, 1.6);
  } else {
    list.fill(QRectF(mark - QPointF(4, 1), QSizeF(8, 2)), ink);
  }
  QString text = QString::fromLatin1(analysis::name(mismatch));
  if (sequence().first == row) {
    text = QStringLiteral("first: ") + text;
  }
  list.text(QRectF(rect.left() + 26, rect.top(), rect.width() - 28, rect.height()), text, ink,
            sequence().first == row ? FontRole::kBold : FontRole::kSmall);
}

// The whole sequence in one strip; a mark for each pixel in which a row does not match.
void SequenceScene::drawOverview(DisplayList& list) const {
  const QRectF strip = overview();
  list.fill(strip, palette_.surface);
  list.fill(QRectF(strip.left(), strip.top(), 1, strip.height()), palette_.gridStrong);
  if (lines() == 0) {
    return;
  }
  const auto total = static_cast<double>(lines());
  static const std::vector<std::uint32_t> kNone;
  // Where only they are shown, every line is one, and the strip says nothing more.
  const auto& suspects = frame_.suspectsOnly ? kNone : sequence().suspects;
  const auto y = [&](double line) { return strip.top() + line / total * strip.height(); };
  for (auto at = suspects.begin(); at != suspects.end();) {
    const double top = y(static_cast<double>(*at));
    const double rowsAPixel = std::max(1.0, total / strip.height());
    // All suspects in the rows of one pixel are one mark, red if any of them differs.
    const auto limit = static_cast<std::uint32_t>(*at + std::ceil(rowsAPixel));
    const auto behind = std::lower_bound(at + 1, suspects.end(), limit);
    const bool differs = std::any_of(at, behind, [this](std::uint32_t row) {
      return analysis::differs(sequence().rows[row].mismatch);
    });
    list.fill(
        QRectF(strip.left() + 3, top, strip.width() - 5, std::max(2.0, strip.height() / total)),
        differs ? palette_.error : palette_.textMuted);
    at = behind;
  }
  const double seen = frame_.size.height() - kHeader;
  if (contentHeight() > seen) {
    const double top = y(frame_.scroll / kRow);
    const double height = std::max(6.0, seen / contentHeight() * strip.height());
    list.outline(QRectF(strip.left() + 1, top, strip.width() - 2, height), palette_.text, 2);
  }
}

void SequenceScene::drawPointer(DisplayList& list) const {
  if (!frame_.pointer) {
    return;
  }
  const auto place = placeAt(*frame_.pointer);
  if (!place) {
    return;
  }
  if (const auto rect = rectOf(*place)) {
    list.outline(rect->adjusted(1, 1, -1, -1), palette_.hover, 2);
  }
  const analysis::CallRow& row = sequence().rows[place->row];
  drawFactCard(list, frame_.size, *frame_.pointer,
               QStringLiteral("%1, number %2").arg(nameOf(sequence()), formatCount(row.sequence)),
               {}, factsOf(facts_, sequence(), *place), palette_);
}

std::optional<CallPlace> SequenceScene::placeAt(QPointF position) const {
  if (position.y() < kHeader || position.x() < 0 || position.y() >= frame_.size.height() ||
      overview().contains(position)) {
    return std::nullopt;
  }
  const double line = (position.y() - kHeader + frame_.scroll) / kRow;
  if (line < 0 || line >= static_cast<double>(lines())) {
    return std::nullopt;
  }
  CallPlace place;
  place.row = rowOfLine(static_cast<std::size_t>(line));
  for (std::size_t at = 0; at < columns_.size(); ++at) {
    const QRectF rect = columnRect(at);
    if (position.x() >= rect.left() && position.x() < rect.right() &&
        position.x() < frame_.size.width() - kVerdict - kOverview) {
      place.column = columns_[at];
    }
  }
  return place;
}

std::optional<QRectF> SequenceScene::rectOf(const CallPlace& place) const {
  const auto line = lineOfRow(place.row);
  if (!line) {
    return std::nullopt;
  }
  const double top = lineTop(*line);
  if (top + kRow <= kHeader || top >= frame_.size.height()) {
    return std::nullopt;
  }
  return cellRect(place.column, top);
}

std::optional<std::size_t> SequenceScene::overviewRowAt(QPointF position) const {
  const QRectF strip = overview();
  if (!strip.contains(position) || lines() == 0) {
    return std::nullopt;
  }
  const double part = (position.y() - strip.top()) / strip.height();
  const auto line = static_cast<std::size_t>(part * static_cast<double>(lines()));
  const std::size_t row = rowOfLine(std::min(line, lines() - 1));
  // A mark is found by its pixel.
  const double near = 4 / strip.height() * static_cast<double>(lines());
  const auto& suspects = sequence().suspects;
  const auto at =
      std::lower_bound(suspects.begin(), suspects.end(), static_cast<double>(row) - near);
  return at != suspects.end() && *at <= static_cast<double>(row) + near ? *at : row;
}

}  // namespace lockstep::ui
