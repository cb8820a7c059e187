#include "ui/panels/ProblemsPanel.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QTableView>

#include "ui/panels/EmptyState.h"

namespace lockstep::ui {

ProblemsPanel::ProblemsPanel(QWidget* parent)
    : QWidget(parent), view_(new QTableView), show_(new QPushButton(tr("Show"))) {
  setObjectName("problemsPanel");
  view_->setObjectName("problemsTable");
  view_->setAccessibleName(tr("Problems"));
  view_->setModel(&model_);
  view_->setSelectionBehavior(QAbstractItemView::SelectRows);
  view_->setSelectionMode(QAbstractItemView::SingleSelection);
  view_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  view_->setTabKeyNavigation(false);
  view_->setShowGrid(false);
  view_->setAlternatingRowColors(true);
  view_->verticalHeader()->hide();
  view_->verticalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  view_->horizontalHeader()->setStretchLastSection(true);
  view_->horizontalHeader()->setHighlightSections(false);
  const int em = fontMetrics().horizontalAdvance('m');
  view_->setColumnWidth(ProblemsModel::kSeverity, 7 * em);
  view_->setColumnWidth(ProblemsModel::kRank, 5 * em);
  view_->setColumnWidth(ProblemsModel::kIteration, 7 * em);

  show_->setToolTip(tr("Show the iteration in the timeline"));
  show_->setEnabled(false);
  auto* buttons = new QVBoxLayout;
  buttons->addWidget(show_);
  buttons->addStretch(1);
  auto* content = new QWidget;
  auto* row = new QHBoxLayout(content);
  row->setContentsMargins(6, 6, 6, 6);
  row->addWidget(view_, 1);
  row->addLayout(buttons);

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(new ViewOrEmpty(content, &model_,
                                    new EmptyState(tr("No problems in this run."), QString())));

  connect(view_, &QTableView::activated, this, &ProblemsPanel::show);
  connect(show_, &QPushButton::clicked, this, [this] { show(view_->currentIndex()); });
  const auto enable = [this] {
    const QModelIndex index = view_->currentIndex();
    show_->setEnabled(index.isValid() && model_.problem(index.row()).step.has_value());
  };
  connect(view_->selectionModel(), &QItemSelectionModel::currentChanged, this, enable);
  connect(&model_, &QAbstractItemModel::modelReset, this, [this] { show_->setEnabled(false); });
}

void ProblemsPanel::show(const QModelIndex& index) {
  if (!index.isValid()) {
    return;
  }
  const Problem& problem = model_.problem(index.row());
  if (problem.step) {
    emit showRequested(problem.rank, *problem.step);
  }
}

}  // namespace lockstep::ui
