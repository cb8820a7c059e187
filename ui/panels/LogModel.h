#pragma once

#include <QAbstractTableModel>
#include <QRegularExpression>
#include <QSortFilterProxyModel>
#include <QString>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::ui {

/// How much a line of the log matters, as its writer said (base::logLine); what a program printed
/// of itself says nothing of it.
enum class LineLevel { kNone, kDebug, kInfo, kWarning, kError };

/// The lines that ranks and supervisor wrote, in the order of arrival. [ui-thread]
class LogModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kTime, kRank, kLevel, kText, kColumnCount };
  static constexpr int kRankRole = Qt::UserRole + 1;   ///< int; -1: the supervisor
  static constexpr int kLevelRole = Qt::UserRole + 2;  ///< a LineLevel, as int
  static constexpr int kSortRole = Qt::UserRole + 3;

  using QAbstractTableModel::QAbstractTableModel;

  /// Gives the time of a tick in ns since the run began, or nothing while that is not known.
  using Times = std::function<std::optional<double>(std::uint64_t ticks)>;

  void clear();
  /// Lines show their time while `times` is set. Asked when a line is shown, for the clock may
  /// become known after it.
  void setTimes(Times times);
  void append(std::span<const trace::LogRow> rows);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  struct Line {
    int rank = -1;
    std::uint64_t ticks = 0;  // 0: no time
    LineLevel level = LineLevel::kNone;
    QString text;
  };
  [[nodiscard]] QString timeOf(const Line& line) const;

  Times times_;
  std::vector<Line> lines_;
};

/// Keeps the lines of one rank, of a level and above, that contain a text (case does not matter)
/// or match a pattern.
class LogFilter : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit LogFilter(QObject* parent = nullptr);

  /// nullopt: every rank; -1: the supervisor.
  void setRank(std::optional<int> rank);
  /// kNone: every line, also those that say nothing of their level.
  void setLevel(LineLevel lowest);
  /// A pattern that is none lets every line through: see `mistake`.
  void setText(const QString& text, bool isPattern);
  /// What is wrong with the pattern; empty when nothing is.
  [[nodiscard]] QString mistake() const;

 protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  std::optional<int> rank_;
  LineLevel lowest_ = LineLevel::kNone;
  QString text_;
  std::optional<QRegularExpression> pattern_;
};

}  // namespace lockstep::ui
