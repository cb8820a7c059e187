#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ui/table/ColumnRows.h"
#include "ui/views/hooks/HooksContent.h"

namespace lockstep::ui {

/// The table twin of the hooks canvas: a row for each bucket as a whole and for each of its
/// phases, sorted by durations in ms, bytes, share in percent.
class HooksTable : public ColumnRows {
 public:
  enum Place {
    kRun,
    kBucket,
    kPhase,
    kCount,
    kMean,
    kP50,
    kP90,
    kP99,
    kMax,
    kShare,
    kBefore,
    kAfter,
    kRatio,
    kColumnCount
  };

  /// Null: no rows.
  explicit HooksTable(std::shared_ptr<const HooksContent> content);

  [[nodiscard]] std::size_t size() const override { return rows_.size(); }
  [[nodiscard]] QString tip(std::size_t row, std::size_t column) const override;
  [[nodiscard]] bool continues(const TableRows& before) const override;

  [[nodiscard]] const HookPick& pickOf(std::size_t row) const { return rows_[row].pick; }
  /// The row of a pick in the first run that has it; nothing when there is none.
  [[nodiscard]] std::optional<std::size_t> rowOf(const HookPick& pick) const;

 private:
  struct Row {
    std::size_t side = 0;
    HookPick pick;
    bool operator==(const Row&) const = default;
  };

  void addCalls();
  void addBytes();
  [[nodiscard]] const HookSide& sideOf(std::size_t row) const {
    return content_->sides[rows_[row].side];
  }

  std::shared_ptr<const HooksContent> content_;
  std::vector<Row> rows_;
};

}  // namespace lockstep::ui
