#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep::ui {

/// One row of the Problems list: from a run file, or from the studio itself.
struct Problem {
  bool error = false;            ///< else a warning
  int rank = -1;                 ///< -1: the supervisor or the studio
  std::optional<std::uint32_t> step;
  QString text;
};

/// The table of problems. [ui-thread]
class ProblemsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kSeverity, kRank, kIteration, kText, kColumnCount };

  using QAbstractTableModel::QAbstractTableModel;

  void clear();
  void add(Problem problem);

  [[nodiscard]] const Problem& problem(int row) const { return problems_.at(row); }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  std::vector<Problem> problems_;
};

}  // namespace lockstep::ui
