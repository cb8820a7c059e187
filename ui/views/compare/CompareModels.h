#pragma once

#include <QAbstractTableModel>
#include <memory>

#include "engine/trace/Event.h"
#include "ui/canvas/Palette.h"
#include "ui/views/compare/CompareResult.h"

namespace lockstep::ui {

/// Sorts by this role: the figure behind a text.
inline constexpr int kSortRole = Qt::UserRole;

/// A table that shows one side of a comparison. [ui-thread]
class CompareModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  using QAbstractTableModel::QAbstractTableModel;

  /// `other` is the run that is set against A where only one is; null: nothing is compared.
  void show(std::shared_ptr<const CompareResult> result, std::size_t other);
  void setTheme(Theme theme);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] const CompareResult* result() const { return result_.get(); }
  [[nodiscard]] std::size_t other() const { return other_; }

 protected:
  [[nodiscard]] virtual int rows() const = 0;

  std::shared_ptr<const CompareResult> result_;
  std::size_t other_ = 1;
  Theme theme_ = Theme::kLight;
};

/// The keys of the experiments that differ: key, and the value of each run.
class KeysModel : public CompareModel {
  Q_OBJECT

 public:
  using CompareModel::CompareModel;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 protected:
  [[nodiscard]] int rows() const override;
};

/// The delta table: metric, A, the other run, difference, per cent, p, verdict.
class MetricsModel : public CompareModel {
  Q_OBJECT

 public:
  enum Column { kMetric, kA, kOther, kDifference, kPercent, kInterval, kVerdict, kColumns };

  using CompareModel::CompareModel;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 protected:
  [[nodiscard]] int rows() const override;

 private:
  [[nodiscard]] QString text(const analysis::MetricRow& row, int column) const;
  [[nodiscard]] QVariant figure(const analysis::MetricRow& row, int column) const;
  [[nodiscard]] QString tip(const analysis::MetricRow& row) const;
};

/// Why the other run's step is longer or shorter: milliseconds and a sentence, ranked.
class WhyModel : public CompareModel {
  Q_OBJECT

 public:
  enum Column { kDelta, kSentence, kColumns };

  using CompareModel::CompareModel;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;
  /// Null when there is no such row.
  [[nodiscard]] const analysis::Reason* reason(int row) const;

 protected:
  [[nodiscard]] int rows() const override;
};

/// The table twin of the histogram: count and percentiles of each run.
class PercentilesModel : public CompareModel {
  Q_OBJECT

 public:
  enum Column { kRun, kCount, kP50, kP90, kP99, kMaximum, kColumns };

  using CompareModel::CompareModel;
  void setKind(trace::EventKind kind);
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 protected:
  [[nodiscard]] int rows() const override;

 private:
  trace::EventKind kind_ = trace::EventKind::kStep;
};

}  // namespace lockstep::ui
