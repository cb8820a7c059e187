#include "ui/views/ranks/RanksScene.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ui/canvas/HeatColours.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Card.h"
#include "ui/chart/Plot.h"
#include "ui/model/Format.h"
#include "ui/model/StartingLarge.h"

namespace lockstep::ui {
namespace {

constexpr double kEdge = 12;
constexpr double kGutter = 150;  // of labels
constexpr double kMark = 10;     // of a rank unlike the rest, between label and map
constexpr double kHeadline = 24;
constexpr double kName = 20;
constexpr std::size_t kMostNames = 8;
constexpr double kFigureLine = 26;
constexpr double kAxis = 22;
// What can be seen of a cell, and what it costs to draw: a screen of them is drawn in some ms.
constexpr double kLeastHeight = 2;
constexpr double kLeastWidth = 3;
constexpr double kMostHeight = 56;
constexpr double kMostWidth = 40;
constexpr double kLabelled = 13;
constexpr int kShades = 32;

QColor shadeOf(int shade, const Palette& palette) {
  return heatColour((shade + 0.5) / kShades, palette.theme);
}

}  // namespace

QString headlineOf(const diagnosis::RankLikeness& likeness) {
  std::size_t unlike = 0;
  for (const diagnosis::UnlikeRanks& of : likeness.unlike) {
    unlike += of.ranks.size();
  }
  if (unlike == 0) {
    return startingLarge(diagnosis::unlikeText(likeness));
  }
  return QStringLiteral("%1 of %2 stand out")
      .arg(unlike)
      .arg(formatCounted(likeness.ranks, "rank"));
}

RanksScene::RanksScene(RanksMap& map, const Palette& palette, const RanksFrame& frame)
    : map_(map), content_(map.content()), palette_(palette), frame_(frame) {
  const std::size_t unlike = content_.likeness.unlike.size();
  top_ = kHeadline + 6 + (lastMostOften(content_.last).isEmpty() ? 0 : kName);
  for (std::size_t i = 0; i < std::min(unlike, kMostNames); ++i) {
    names_.emplace_back(kEdge, top_, frame_.size.width() - 2 * kEdge, kName);
    top_ += kName;
  }
  top_ += unlike > kMostNames ? kName : 0;
  const QRectF room(kGutter + kMark, top_ + kFigureLine,
                    frame_.size.width() - kGutter - kMark - kEdge,
                    frame_.size.height() - top_ - kFigureLine - kAxis - 4);
  if (map_.rows().empty() || content_.table.columns == 0 || room.height() < kLeastHeight ||
      room.width() < kLeastWidth) {
    return;
  }
  map.fold(static_cast<std::size_t>(room.height() / kLeastHeight),
           static_cast<std::size_t>(room.width() / kLeastWidth));
  rowHeight_ = std::min(room.height() / static_cast<double>(map_.height()), kMostHeight);
  columnWidth_ = std::min(room.width() / static_cast<double>(map_.width()), kMostWidth);
  plot_ = QRectF(room.topLeft(), QSizeF(columnWidth_ * static_cast<double>(map_.width()),
                                        rowHeight_ * static_cast<double>(map_.height())));
}

QRectF RanksScene::rowRect(std::size_t y) const {
  return {plot_.left(), plot_.top() + rowHeight_ * static_cast<double>(y), plot_.width(),
          rowHeight_};
}

void RanksScene::draw(DisplayList& list) const {
  list.fill(QRectF(QPointF(0, 0), frame_.size), palette_.background);
  drawHeader(list);
  if (plot_.isEmpty()) {
    return;
  }
  drawColours(list);
  drawCells(list);
  drawLabels(list);
  drawMarks(list);
  drawAxis(list);
  drawPointer(list);
}

void RanksScene::drawHeader(DisplayList& list) const {
  const double width = frame_.size.width() - 2 * kEdge;
  list.title(QRectF(kEdge, 4, width, kHeadline - 4), headlineOf(content_.likeness), palette_);
  list.label(QRectF(kEdge, kHeadline, width, kName), lastMostOften(content_.last), palette_);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (frame_.pointer && names_[i].contains(*frame_.pointer)) {
      list.fill(names_[i], palette_.raised, 3);
    }
    const QPointF at(names_[i].left() + 8, names_[i].center().y());
    list.polygon({at + QPointF(0, -4), at + QPointF(7, 0), at + QPointF(0, 4)}, palette_.warning);
    list.label(names_[i].adjusted(22, 0, 0, 0),
               QString::fromStdString(diagnosis::phraseOf(content_.likeness.unlike[i])), palette_);
  }
  if (const std::size_t all = content_.likeness.unlike.size(); all > names_.size()) {
    list.note(QRectF(kEdge + 22, top_ - kName, width, kName),
              QStringLiteral("and %1 more, which the table below names").arg(all - names_.size()),
              palette_);
  }
}

// The figure that is shown, and what its colours stand for.
void RanksScene::drawColours(DisplayList& list) const {
  constexpr double kBar = 110;
  const RankFigure figure = map_.figure();
  const QRectF line(plot_.left(), top_ + 4, frame_.size.width() - plot_.left() - kEdge,
                    kFigureLine - 8);
  const QString title = QStringLiteral("%1, rank by iteration").arg(titleOf(figure));
  list.title(line, title, palette_);
  if (!content_.table.has(figure)) {
    list.note(line.adjusted(textWidth(title, FontRole::kBold) + 16, 0, 0, 0),
              QStringLiteral("this run recorded nothing of it"), palette_);
    return;
  }
  const QString low = textOf(figure, content_.of(figure).low);
  const QString high = QStringLiteral("≥ %1").arg(textOf(figure, content_.of(figure).high));
  const double highWidth = textWidth(high, FontRole::kSmall) + 6;
  const double lowWidth = textWidth(low, FontRole::kSmall) + 8;
  const double left = line.right() - highWidth - kBar;
  if (left - lowWidth < line.left() + textWidth(title, FontRole::kBold) + 8) {
    return;
  }
  list.note(QRectF(left - lowWidth, line.top(), lowWidth - 6, line.height()), low, palette_,
            kToTheRight);
  for (int shade = 0; shade < kShades; ++shade) {
    list.fill(QRectF(left + kBar * shade / kShades, line.top() + 4, kBar / kShades + 0.5,
                     line.height() - 8),
              shadeOf(shade, palette_));
  }
  list.note(QRectF(left + kBar + 6, line.top(), highWidth, line.height()), high, palette_);
}

void RanksScene::drawCells(DisplayList& list) const {
  constexpr int kUnknownShade = -1;
  const RanksContent::OfFigure& of = content_.of(map_.figure());
  std::array<QColor, kShades> colours;
  for (int shade = 0; shade < kShades; ++shade) {
    colours[static_cast<std::size_t>(shade)] = shadeOf(shade, palette_);
  }
  const auto shadeAt = [&](std::size_t y, std::size_t x) {
    const float value = map_.at(y, x);
    const float part = (value - of.low) / (of.high - of.low);
    return std::isnan(value) ? kUnknownShade
                             : std::clamp(static_cast<int>(part * kShades), 0, kShades - 1);
  };
  for (std::size_t y = 0; y < map_.height(); ++y) {
    const QRectF row = rowRect(y);
    // Rows that are high enough are told from each other.
    const double height = row.height() - (row.height() >= 8 ? 1 : 0);
    std::size_t from = 0;
    for (std::size_t x = 1; x <= map_.width(); ++x) {
      const int shade = shadeAt(y, from);
      if (x < map_.width() && shadeAt(y, x) == shade) {
        continue;
      }
      const QRectF cells(plot_.left() + columnWidth_ * static_cast<double>(from), row.top(),
                         columnWidth_ * static_cast<double>(x - from), height);
      if (shade == kUnknownShade) {
        list.fill(cells, palette_.surface);
        list.hatch(cells, palette_.grid);
      } else {
        list.fill(cells, colours[static_cast<std::size_t>(shade)]);
      }
      from = x;
    }
  }
}

bool RanksScene::isUnlike(std::size_t y) const {
  const auto [first, end] = map_.rowsAt(y);
  for (std::size_t row = first; row < end; ++row) {
    for (const std::size_t rank : map_.rows()[row]) {
      if (content_.likeness.isUnlike(content_.table.ranks[rank])) {
        return true;
      }
    }
  }
  return false;
}

QString RanksScene::labelOf(std::size_t y) const {
  const std::vector<std::size_t>& ranks = map_.rows()[map_.rowsAt(y).first];
  const std::size_t rank = ranks.front();
  if (ranks.size() > 1) {
    return QStringLiteral("%1 alike").arg(formatCounted(ranks.size(), "rank"));
  }
  const QString name = QStringLiteral("rank %1").arg(content_.table.ranks[rank]);
  return content_.hosts[rank].isEmpty() ? name
                                        : QStringLiteral("%1, %2").arg(content_.hosts[rank], name);
}

void RanksScene::drawLabels(DisplayList& list) const {
  // Every row where there is room, else every so many that none lies on the next.
  const auto every = static_cast<std::size_t>(std::ceil(kLabelled / rowHeight_));
  for (std::size_t y = 0; y < map_.height(); y += every) {
    const QRectF row = rowRect(y);
    const double height = std::max(row.height(), kLabelled);
    if (row.top() + height > plot_.bottom() + 2) {
      break;
    }
    list.note(QRectF(kEdge, row.top(), kGutter - kEdge - 4, height), labelOf(y), palette_,
              kToTheRight);
  }
  for (std::size_t y = 0; y < map_.height(); ++y) {
    if (isUnlike(y)) {
      const QPointF tip(plot_.left() - 2, rowRect(y).center().y());
      list.polygon({tip, tip + QPointF(-7, -4), tip + QPointF(-7, 4)}, palette_.warning);
    }
  }
}

void RanksScene::drawMarks(DisplayList& list) const {
  // What medians and verdicts leave out.
  if (content_.firstMeasured > 0) {
    const double end =
        plot_.left() + columnWidth_ * static_cast<double>(map_.xOf(content_.firstMeasured));
    list.line(QPointF(end, plot_.top() - 3), QPointF(end, plot_.bottom() + 3), palette_.gridStrong);
  }
  if (frame_.selected) {
    if (const auto rank = content_.table.indexOf(*frame_.selected)) {
      const QRectF row = rowRect(map_.yOf(*rank));
      list.outline(row.adjusted(-2, -2, 2, 2), palette_.accent, 2);
    }
  }
}

void RanksScene::drawAxis(DisplayList& list) const {
  const analysis::Landscape& table = content_.table;
  const auto first = static_cast<double>(table.steps.first);
  const double end = first + static_cast<double>(table.columns) * table.stepsAColumn;
  drawAxisBelow(
      list, plot_, Scale{first, end, plot_.left(), plot_.right()}, 90,
      [](double value, double step) { return tickText(value, step); }, palette_);
}

QString RanksScene::iterationsAt(std::size_t column) const {
  const analysis::Landscape& table = content_.table;
  const std::uint64_t first = table.steps.first + column * table.stepsAColumn;
  return table.stepsAColumn == 1
             ? QStringLiteral("iteration %1").arg(formatCount(first))
             : QStringLiteral("iterations %1 to %2, the most of them")
                   .arg(formatCount(first),
                        formatCount(
                            std::min<std::uint64_t>(first + table.stepsAColumn, table.steps.end) -
                            1));
}

void RanksScene::drawPointer(DisplayList& list) const {
  const auto place = frame_.pointer ? placeAt(*frame_.pointer) : std::nullopt;
  if (!place) {
    return;
  }
  const std::size_t y = map_.yOf(place->rank);
  list.outline(rowRect(y).adjusted(-1, -1, 1, 1), palette_.hover);
  const int rank = content_.table.ranks[place->rank];
  Card card;
  card.title = QStringLiteral("rank %1").arg(rank);
  const std::vector<std::size_t>& alike = map_.rows()[map_.rowsAt(y).first];
  if (map_.order() == RankOrder::kAlike && alike.size() > 1) {
    card.lines.emplace_back(QStringLiteral("one of"),
                            QStringLiteral("%1 alike").arg(formatCounted(alike.size(), "rank")));
  }
  if (!content_.hosts[place->rank].isEmpty()) {
    card.lines.emplace_back(QStringLiteral("host"), content_.hosts[place->rank]);
  }
  card.lines.emplace_back(QStringLiteral("at"), iterationsAt(place->column));
  const RankFigure figure = map_.figure();
  card.lines.emplace_back(
      titleOf(figure), content_.table.has(figure)
                           ? textOf(figure, content_.table.at(figure, place->rank, place->column))
                           : QStringLiteral("unknown"));
  const std::vector<float>& means = content_.of(figure).means;
  if (!means.empty()) {
    card.lines.emplace_back(QStringLiteral("mean"), textOf(figure, means[place->rank]));
  }
  for (const diagnosis::UnlikeRanks& unlike : content_.likeness.unlike) {
    if (std::binary_search(unlike.ranks.begin(), unlike.ranks.end(), rank)) {
      card.sentences.append(QString::fromStdString(diagnosis::phraseOf(unlike)));
    }
  }
  drawCard(list, frame_.size, *frame_.pointer, card, palette_);
}

std::optional<std::size_t> RanksScene::unlikeAt(QPointF position) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i].contains(position)) {
      return i;
    }
  }
  return std::nullopt;
}

std::optional<RankPlace> RanksScene::placeAt(QPointF position) const {
  if (plot_.isEmpty() || !plot_.contains(position)) {
    return std::nullopt;
  }
  const auto y = static_cast<std::size_t>((position.y() - plot_.top()) / rowHeight_);
  const auto x = static_cast<std::size_t>((position.x() - plot_.left()) / columnWidth_);
  return map_.worstAt(std::min(y, map_.height() - 1), std::min(x, map_.width() - 1));
}

std::optional<QPointF> RanksScene::positionOfUnlike(std::size_t index) const {
  return index < names_.size() ? std::optional(names_[index].center()) : std::nullopt;
}

std::optional<QPointF> RanksScene::positionOf(const RankPlace& place) const {
  return plot_.isEmpty()
             ? std::nullopt
             : std::optional(
                   QPointF(plot_.left() +
                               columnWidth_ * (static_cast<double>(map_.xOf(place.column)) + 0.5),
                           rowRect(map_.yOf(place.rank)).center().y()));
}

}  // namespace lockstep::ui
