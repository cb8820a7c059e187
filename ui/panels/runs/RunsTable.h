#pragma once

#include <QString>
#include <cstddef>
#include <vector>

#include "ui/panels/runs/RunEntry.h"
#include "ui/table/TableRows.h"

namespace lockstep::ui {

/// The rows of a scan, in the order of their paths. A row that stays keeps its selection.
class RunsTable : public TableRows {
 public:
  enum Cell : std::size_t {
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

  explicit RunsTable(std::vector<RunEntry> entries = {});

  /// A text as wide as those that a column usually holds, its title among them.
  static QString widestText(std::size_t column);

  [[nodiscard]] const RunEntry& entry(std::size_t row) const { return entries_[row]; }
  [[nodiscard]] const std::vector<RunEntry>& entries() const { return entries_; }
  /// The text of a cell in full, where `text` shortens it.
  [[nodiscard]] QString fullText(std::size_t row, std::size_t column) const;

  [[nodiscard]] std::size_t size() const override { return entries_.size(); }
  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override;
  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override;
  [[nodiscard]] QString tip(std::size_t row, std::size_t column) const override;
  [[nodiscard]] QVariant look(std::size_t row, std::size_t column, int role) const override;
  [[nodiscard]] bool continues(const TableRows&) const override { return true; }
  [[nodiscard]] std::optional<std::size_t> placeOf(const TableRows& before,
                                                   std::size_t row) const override;

 private:
  std::vector<RunEntry> entries_;
};

/// The word of a state as the list, the title and the status bar show it.
QString stateText(trace::RunState state);

/// Filters runs by a line such as "mlp backend:gloo world>2 cap<=5": a bare word must occur
/// in any text column; `column:word` in that one; `column<number` and its kin compare.
class RunsFilter {
 public:
  explicit RunsFilter(const QString& line);

  [[nodiscard]] bool accepts(const RunsTable& runs, std::size_t row) const;

 private:
  struct Term {
    std::optional<std::size_t> column;  ///< none: any
    QString compare;                    ///< "", ":", "<", "<=", ">", ">=", "="
    QString word;
    double number = 0;
  };
  static bool accepts(const Term& term, const RunsTable& runs, std::size_t row);

  std::vector<Term> terms_;
};

}  // namespace lockstep::ui
