#include "ui/panels/runs/RunCells.h"

#include <QApplication>
#include <QPainter>
#include <vector>

#include "ui/canvas/PainterBackend.h"
#include "ui/chart/LineChart.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/panels/runs/RunsTable.h"
#include "ui/panels/runs/StateMark.h"

namespace lockstep::ui {
namespace {

constexpr int kChip = 16;

// The cell as the style draws it, without a text.
void paintGround(QPainter& painter, QStyleOptionViewItem option) {
  option.text.clear();
  const QStyle* style = option.widget != nullptr ? option.widget->style() : QApplication::style();
  style->drawControl(QStyle::CE_ItemViewItem, &option, &painter, option.widget);
}

QColor inkOf(const QStyleOptionViewItem& option, bool muted) {
  const bool selected = option.state.testFlag(QStyle::State_Selected);
  const auto group =
      option.state.testFlag(QStyle::State_Active) ? QPalette::Active : QPalette::Inactive;
  return selected ? option.palette.color(group, QPalette::HighlightedText)
         : muted  ? currentPalette().textMuted
                  : option.palette.color(group, QPalette::Text);
}

void paintWords(QPainter& painter, const QStyleOptionViewItem& option, const QRect& place,
                const QString& words, bool muted, Qt::Alignment across = Qt::AlignLeft) {
  painter.setPen(inkOf(option, muted));
  painter.drawText(place, static_cast<int>(across | Qt::AlignVCenter) | Qt::TextSingleLine,
                   painter.fontMetrics().elidedText(words, Qt::ElideRight, place.width()));
}

}  // namespace

void RunCells::paint(QPainter* painter, const QStyleOptionViewItem& given,
                     const QModelIndex& index) const {
  QStyleOptionViewItem option = given;
  initStyleOption(&option, index);
  painter->save();
  painter->setFont(option.font);
  switch (index.column()) {
    case RunsTable::kState:
      paintState(*painter, option, index);
      break;
    case RunsTable::kName:
      paintName(*painter, option, index);
      break;
    case RunsTable::kCourse:
      paintCourse(*painter, option, index);
      break;
    case RunsTable::kGroup:
      paintGroup(*painter, option, index);
      break;
    default:
      QStyledItemDelegate::paint(painter, given, index);
  }
  painter->restore();
}

void RunCells::paintState(QPainter& painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const {
  paintGround(painter, option);
  const QRect place = option.rect.adjusted(kInset, 0, -kInset, 0);
  const QRect words = place.adjusted(kMark + kInset, 0, 0, 0);
  const bool inWords = painter.fontMetrics().horizontalAdvance(option.text) <= words.width();
  drawStateMark(painter, QRectF(place.left(), place.center().y() - kMark / 2.0, kMark, kMark),
                static_cast<StateMark>(index.data(RunsTable::kMarkRole).toInt()),
                index.data(Qt::ForegroundRole).value<QColor>());
  if (inWords) {
    paintWords(painter, option, words, option.text, false);
  }
}

void RunCells::paintName(QPainter& painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
  paintGround(painter, option);
  QRect place = option.rect.adjusted(kInset, 0, -kInset, 0);
  if (const QString letter = index.data(RunsTable::kLetterRole).toString(); !letter.isEmpty()) {
    const auto colour = index.data(RunsTable::kColourRole).value<QColor>();
    const QRect chip(place.left(), place.center().y() - kChip / 2, kChip, kChip);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    painter.drawRoundedRect(chip, 3, 3);
    painter.setPen(Palette::textOn(colour));
    painter.drawText(chip, Qt::AlignCenter, letter);
    place.setLeft(chip.right() + 1 + kInset);
  }
  const QString subtitle = index.data(RunsTable::kSubtitleRole).toString();
  const int line = painter.fontMetrics().height();
  if (subtitle.isEmpty() || place.height() < 2 * line) {
    paintWords(painter, option, place, option.text, false);
    return;
  }
  const int top = place.center().y() - line;
  paintWords(painter, option, {place.left(), top, place.width(), line}, option.text, false);
  paintWords(painter, option, {place.left(), top + line, place.width(), line}, subtitle, true);
}

void RunCells::paintCourse(QPainter& painter, const QStyleOptionViewItem& option,
                           const QModelIndex& index) const {
  paintGround(painter, option);
  const QRect place = option.rect.adjusted(kInset, 2, -kInset, -2);
  const auto course = index.data(RunsTable::kCourseRole).value<std::vector<float>>();
  const bool both = course.size() < 2 || painter.fontMetrics().horizontalAdvance(option.text) <=
                                             place.width() * (1 - kCoursePart);
  const int width = both ? static_cast<int>(place.width() * kCoursePart) : place.width();
  if (course.size() > 1) {
    DisplayList list;
    drawSparkline(list, QRectF(place.left(), place.top(), width, place.height()),
                  {course.begin(), course.end()},
                  (option.state & QStyle::State_Selected) != 0
                      ? option.palette.color(QPalette::HighlightedText)
                      : currentPalette().measure);
    ui::paint(list, painter);
  }
  if (both) {
    paintWords(painter, option, place.adjusted(width, 0, 0, 0), option.text, false, Qt::AlignRight);
  }
}

void RunCells::paintGroup(QPainter& painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const {
  paintGround(painter, option);
  const QModelIndex above = index.sibling(index.row() - 1, index.column());
  const bool begins = !above.isValid() || above.data() != index.data();
  if (!begins) {
    return;
  }
  QFont font = option.font;
  font.setBold(true);
  painter.setFont(font);
  paintWords(painter, option, option.rect.adjusted(kInset, 0, -kInset, 0), option.text, false);
  if (above.isValid()) {
    painter.fillRect(option.rect.left(), option.rect.top(), option.rect.width(), 1,
                     currentPalette().gridStrong);
  }
}

}  // namespace lockstep::ui
