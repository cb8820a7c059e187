#pragma once

#include <QStyledItemDelegate>

namespace lockstep::ui {

/// Draws the cells of the list of runs that are more than a text: the mark of a state, with its
/// word where that fits; a name with its subtitle and the letter that the run has in a comparison;
/// the course of its steps, with the figure where both fit; and a group once, where it begins.
/// [ui-thread]
class RunCells : public QStyledItemDelegate {
  Q_OBJECT

 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  static constexpr int kInset = 4;             ///< px left and right of what a cell says
  static constexpr int kMark = 12;             ///< px of the mark of a state
  static constexpr double kCoursePart = 0.48;  ///< of its cell; the figure has the rest

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;

 private:
  void paintState(QPainter& painter, const QStyleOptionViewItem& option,
                  const QModelIndex& index) const;
  void paintName(QPainter& painter, const QStyleOptionViewItem& option,
                 const QModelIndex& index) const;
  void paintCourse(QPainter& painter, const QStyleOptionViewItem& option,
                   const QModelIndex& index) const;
  void paintGroup(QPainter& painter, const QStyleOptionViewItem& option,
                  const QModelIndex& index) const;
};

}  // namespace lockstep::ui
