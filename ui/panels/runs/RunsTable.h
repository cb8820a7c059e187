#pragma once

#include <QHash>
#include <QString>
#include <QStringList>
#include <cstddef>
#include <vector>

#include "ui/panels/runs/RunEntry.h"
#include "ui/panels/runs/RunGroups.h"
#include "ui/table/TableRows.h"

namespace lockstep::ui {

/// The rows of a scan, in the order of their paths. A row that stays keeps its selection.
class RunsTable : public TableRows {
 public:
  enum Cell : std::size_t {
    kState,
    kName,
    kExposed,
    kCourse,
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
    kTags,
    kNote,
    kGroup,  ///< what it has in common with those of its group
    kColumnCount
  };

  /// Beside the texts, for whoever draws the cells (RunCells): of the state its StateMark; of the
  /// name its subtitle, and the letter and colour of a run that is compared; of the steps their
  /// course.
  enum Role : int {
    kMarkRole = Qt::UserRole + 1,
    kSubtitleRole,
    kLetterRole,
    kColourRole,
    kCourseRole
  };

  /// `groupBy`: a key of RunGroups, or nothing; `compared`: the paths of A, B, and so on.
  explicit RunsTable(std::vector<RunEntry> entries = {}, const QString& groupBy = {},
                     const QStringList& compared = {});

  /// A text as wide as those that a column usually holds, its title among them.
  static QString widestText(std::size_t column);

  [[nodiscard]] const RunEntry& entry(std::size_t row) const { return entries_[row]; }
  [[nodiscard]] const std::vector<RunEntry>& entries() const { return entries_; }
  /// The text of a cell in full, where `text` shortens it.
  [[nodiscard]] QString fullText(std::size_t row, std::size_t column) const;

  [[nodiscard]] std::size_t size() const override { return entries_.size(); }
  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override;
  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override;
  [[nodiscard]] std::optional<std::size_t> groupedBy() const override;
  [[nodiscard]] QString tip(std::size_t row, std::size_t column) const override;
  [[nodiscard]] QVariant look(std::size_t row, std::size_t column, int role) const override;
  [[nodiscard]] bool continues(const TableRows&) const override { return true; }
  [[nodiscard]] std::optional<std::size_t> placeOf(const TableRows& before,
                                                   std::size_t row) const override;

 private:
  [[nodiscard]] QString nameInFull(const RunEntry& run) const;

  std::vector<RunEntry> entries_;
  RunGroups groups_;
  QHash<QString, int> compared_;  // by path: 0 is A
};

/// The word of a state as the list, the title and the status bar show it.
QString stateText(trace::RunState state);

/// Filters runs by a line such as "mlp backend:gloo world>2 ddp.bucket_cap_mb<=5": a bare word must
/// occur in any text column; `column:word` in that one; `column<number` and its kin compare. So do
/// they with any setting of an experiment.
class RunsFilter {
 public:
  explicit RunsFilter(const QString& line);

  [[nodiscard]] bool accepts(const RunsTable& runs, std::size_t row) const;

 private:
  struct Term {
    std::optional<std::size_t> column;  ///< none: any
    QString setting;                    ///< a key, in place of a column
    QString compare;                    ///< "", ":", "<", "<=", ">", ">=", "="
    QString word;
    double number = 0;
  };
  static bool accepts(const Term& term, const RunsTable& runs, std::size_t row);
  static bool holds(const Term& term, double value);

  std::vector<Term> terms_;
};

}  // namespace lockstep::ui
