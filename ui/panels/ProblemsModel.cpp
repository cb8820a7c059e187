#include "ui/panels/ProblemsModel.h"

#include "ui/panels/CurrentPalette.h"

namespace lockstep::ui {

void ProblemsModel::clear() {
  beginResetModel();
  problems_.clear();
  endResetModel();
}

void ProblemsModel::add(Problem problem) {
  const int row = static_cast<int>(problems_.size());
  beginInsertRows({}, row, row);
  problems_.push_back(std::move(problem));
  endInsertRows();
}

int ProblemsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(problems_.size());
}

int ProblemsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QVariant ProblemsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) {
    return {};
  }
  const Problem& problem = problems_.at(index.row());
  if (role == Qt::DisplayRole) {
    switch (index.column()) {
      case kSeverity: return problem.error ? tr("error") : tr("warning");
      case kRank: return problem.rank < 0 ? tr("–") : QString::number(problem.rank);
      case kIteration: return problem.step ? QString::number(*problem.step) : tr("–");
      case kText: return problem.text;
      default: return {};
    }
  }
  if (role == Qt::ForegroundRole && index.column() == kSeverity) {
    const Palette& colors = currentPalette();
    return problem.error ? colors.error : colors.warning;
  }
  if (role == Qt::ToolTipRole) {
    return problem.text;
  }
  if (role == Qt::TextAlignmentRole && (index.column() == kRank || index.column() == kIteration)) {
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  }
  return {};
}

QVariant ProblemsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) {
    return {};
  }
  if (role == Qt::TextAlignmentRole) {
    return QVariant(section == kRank || section == kIteration ? Qt::AlignRight | Qt::AlignVCenter
                                                              : Qt::AlignLeft | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kSeverity: return tr("Severity");
    case kRank: return tr("Rank");
    case kIteration: return tr("Iteration");
    case kText: return tr("What happened");
    default: return {};
  }
}

}  // namespace lockstep::ui
