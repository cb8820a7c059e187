#pragma once

#include <QAbstractTableModel>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "ui/views/overlap/OverlapContent.h"
#include "ui/views/overlap/OverlapScene.h"

namespace lockstep::ui {

/// A table over the overlap view's content, sorted by any column; times are ms with three
/// decimals, the same in every locale. [ui-thread]
class OverlapTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  struct Column {
    QString title;
    QString tip;  ///< what it means, with its unit
    bool number = true;
  };

  void setContent(std::shared_ptr<const OverlapContent> content);
  /// Where the content's row stands now; -1 when it is not there.
  [[nodiscard]] int lineOf(std::size_t row) const;
  [[nodiscard]] std::size_t rowAt(int line) const { return order_[static_cast<std::size_t>(line)]; }
  /// What a row is about, for the canvas; nothing when it is about no step.
  [[nodiscard]] virtual std::optional<OverlapStep> stepOf(std::size_t row) const = 0;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;
  void sort(int column, Qt::SortOrder order) override;

 protected:
  explicit OverlapTable(std::vector<Column> columns, QObject* parent);

  [[nodiscard]] virtual std::size_t rows(const OverlapContent& content) const = 0;
  /// The number of a cell; NaN where there is none.
  [[nodiscard]] virtual double number(std::size_t row, std::size_t column) const = 0;
  /// The text of a cell that is no number of ms.
  [[nodiscard]] virtual std::optional<QString> text(std::size_t row, std::size_t column) const = 0;
  [[nodiscard]] const OverlapContent& content() const { return *content_; }

  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

 private:
  [[nodiscard]] QString textOf(std::size_t row, std::size_t column) const;
  void order();

  const std::vector<Column> columns_;
  std::shared_ptr<const OverlapContent> content_;
  std::vector<std::uint32_t> order_;  // by line
  int sortColumn_ = -1;
  Qt::SortOrder direction_ = Qt::AscendingOrder;
};

/// A row a step and rank.
class OverlapSteps final : public OverlapTable {
 public:
  explicit OverlapSteps(QObject* parent = nullptr);
  [[nodiscard]] std::optional<OverlapStep> stepOf(std::size_t row) const override;
  /// The row of a step; nothing when it is not there.
  [[nodiscard]] std::optional<std::size_t> rowOf(const OverlapStep& step) const;

 protected:
  [[nodiscard]] std::size_t rows(const OverlapContent& content) const override;
  [[nodiscard]] double number(std::size_t row, std::size_t column) const override;
  [[nodiscard]] std::optional<QString> text(std::size_t row, std::size_t column) const override;
};

/// A row a cause of exposed time, over all ranks.
class OverlapCauses final : public OverlapTable {
 public:
  explicit OverlapCauses(QObject* parent = nullptr);
  [[nodiscard]] std::optional<OverlapStep> stepOf(std::size_t row) const override;

 protected:
  [[nodiscard]] std::size_t rows(const OverlapContent& content) const override;
  [[nodiscard]] double number(std::size_t row, std::size_t column) const override;
  [[nodiscard]] std::optional<QString> text(std::size_t row, std::size_t column) const override;
};

/// A row a rank, of its medians; and another with the warm-up in them.
class OverlapRanks final : public OverlapTable {
 public:
  explicit OverlapRanks(QObject* parent = nullptr);
  [[nodiscard]] std::optional<OverlapStep> stepOf(std::size_t row) const override;

 protected:
  [[nodiscard]] std::size_t rows(const OverlapContent& content) const override;
  [[nodiscard]] double number(std::size_t row, std::size_t column) const override;
  [[nodiscard]] std::optional<QString> text(std::size_t row, std::size_t column) const override;

 private:
  [[nodiscard]] const std::optional<analysis::RankOverlap>& of(std::size_t row) const;
};

}  // namespace lockstep::ui
