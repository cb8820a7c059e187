#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <QString>
#include <vector>

#include "ui/panels/RunEntry.h"

namespace lockstep::ui {

/// The table of runs. [ui-thread]
class RunsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    kState,
    kName,
    kExposed,
    kStarted,
    kOverlap,
    kStepsPerSecond,
    kBucketCap,
    kWorld,
    kModel,
    kBackend,
    kHook,
    kDrops,
    kSweep,
    kColumnCount
  };
  /// Sorts and filters by value, where the display role has text.
  static constexpr int kValueRole = Qt::UserRole + 1;
  /// The text in full, where the display role shortens it.
  static constexpr int kFullTextRole = Qt::UserRole + 2;

  using QAbstractTableModel::QAbstractTableModel;

  /// A text as wide as those that a column usually holds, its title among them.
  static QString widestText(int column);

  /// Takes the rows of a scan. Rows that stay keep their indexes, so that selection and
  /// scroll position survive.
  void setEntries(std::vector<RunEntry> entries);

  [[nodiscard]] const RunEntry& entry(int row) const { return entries_.at(row); }
  [[nodiscard]] const std::vector<RunEntry>& entries() const { return entries_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  [[nodiscard]] QVariant value(const RunEntry& entry, int column) const;
  [[nodiscard]] QString text(const RunEntry& entry, int column) const;

  std::vector<RunEntry> entries_;
};

/// The word of a state as the list, the title and the status bar show it.
QString stateText(trace::RunState state);

/// Filters runs by a line such as "mlp backend:gloo world>2 cap<=5": a bare word must occur
/// in any text column; `column:word` in that one; `column<number` and its kin compare.
class RunsFilter : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit RunsFilter(QObject* parent = nullptr);

  void setLine(const QString& line);

 protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  struct Term {
    int column = -1;   ///< -1: any
    QString compare;   ///< "", ":", "<", "<=", ">", ">=", "="
    QString word;
    double number = 0;
  };
  [[nodiscard]] bool accepts(const Term& term, int row) const;

  std::vector<Term> terms_;
};

}  // namespace lockstep::ui
