#pragma once

#include <QAbstractListModel>
#include <QSortFilterProxyModel>
#include <QString>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::ui {

/// The lines that ranks and supervisor wrote, in the order of arrival. [ui-thread]
class LogModel : public QAbstractListModel {
  Q_OBJECT

 public:
  static constexpr int kRankRole = Qt::UserRole + 1;

  using QAbstractListModel::QAbstractListModel;

  /// Gives the time of a tick in ns since the run began, or nothing while that is not known.
  using Times = std::function<std::optional<double>(std::uint64_t ticks)>;

  void clear();
  /// Lines show their time while `times` is set. Asked when a line is shown, for the clock may
  /// become known after it.
  void setTimes(Times times);
  void append(std::span<const trace::LogRow> rows);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 private:
  struct Line {
    int rank = -1;
    std::uint64_t ticks = 0;  // 0: no time
    QString text;
  };
  [[nodiscard]] QString timeOf(const Line& line) const;

  Times times_;
  std::vector<Line> lines_;
};

/// Keeps the lines of one rank that contain a text (case does not matter).
class LogFilter : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;

  /// nullopt: every rank; -1: the supervisor.
  void setRank(std::optional<int> rank);
  void setText(const QString& text);

 protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  std::optional<int> rank_;
  QString text_;
};

}  // namespace lockstep::ui
