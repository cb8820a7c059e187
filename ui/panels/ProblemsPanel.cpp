#include "ui/panels/ProblemsPanel.h"

#include <QHeaderView>
#include <QPushButton>
#include <memory>
#include <utility>

#include "ui/panels/CurrentPalette.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/Spacing.h"
#include "ui/table/WrittenTable.h"

namespace lockstep::ui {
namespace {

enum Cell { kSeverity, kRank, kIteration };

std::shared_ptr<const TableRows> rowsOf(const std::vector<Problem>& problems) {
  const auto tr = [](const char* text) { return ProblemsPanel::tr(text); };
  std::vector<WrittenRows::Row> rows;
  const WrittenRows::Ink error = [] { return currentPalette().error; };
  const WrittenRows::Ink warning = [] { return currentPalette().warning; };
  for (const Problem& problem : problems) {
    const auto step = problem.step ? std::optional<double>(*problem.step) : std::nullopt;
    rows.push_back(
        {{problem.error ? tr("error") : tr("warning"),
          {},
          problem.text,
          problem.error ? error : warning},
         {problem.rank < 0 ? tr("–") : QString::number(problem.rank), problem.rank, problem.text},
         {step ? QString::number(*problem.step) : tr("–"), step, problem.text},
         {problem.text}});
  }
  return std::make_shared<WrittenRows>(std::vector<TableRows::Column>{{tr("Severity")},
                                                                      {tr("Rank"), {}, true},
                                                                      {tr("Iteration"), {}, true},
                                                                      {tr("What happened")}},
                                       std::move(rows));
}

}  // namespace

ProblemsPanel::ProblemsPanel(QWidget* parent)
    : QWidget(parent),
      view_(named(new TableView(tr("Problems")), "problemsTable")),
      show_(named(new QPushButton(tr("Show")), "", {}, tr("Show the iteration in the timeline"))) {
  setObjectName("problemsPanel");
  view_->setSelectionMode(QAbstractItemView::SingleSelection);
  view_->setWordWrap(true);
  view_->verticalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  view_->setRows(rowsOf(problems_));
  const int em = fontMetrics().horizontalAdvance('m');
  view_->setColumnWidth(kSeverity, 7 * em);
  view_->setColumnWidth(kRank, 5 * em);
  view_->setColumnWidth(kIteration, 7 * em);

  show_->setEnabled(false);
  page_ = new ViewOrEmpty(
      ui::fill(new QWidget, inRow({{view_, 1}, inColumn({show_, Part::rest()})}), {kSpace, kSpace, kSpace, kSpace}),
      new EmptyState(tr("No problems in this run. A rank that dies, events that are lost and runs "
                        "that cannot be read are listed here."),
                     QString()));
  ui::fill(this, inColumn({page_}));

  connect(view_, &TableView::rowActivated, this, &ProblemsPanel::show);
  connect(show_, &QPushButton::clicked, this, [this] {
    if (const auto current = view_->currentRow()) {
      show(*current);
    }
  });
  connect(view_->selectionModel(), &QItemSelectionModel::currentChanged, this, [this] {
    const auto current = view_->currentRow();
    show_->setEnabled(current && problems_[*current].step.has_value());
  });
}

void ProblemsPanel::clear() {
  problems_.clear();
  show_->setEnabled(false);
  fill();
}

void ProblemsPanel::add(Problem problem) {
  problems_.push_back(std::move(problem));
  fill();
}

void ProblemsPanel::fill() {
  view_->setRows(rowsOf(problems_));
  page_->setEmpty(problems_.empty());
  emit changed();
}

void ProblemsPanel::show(std::size_t row) {
  if (const Problem& problem = problems_[row]; problem.step) {
    emit showRequested(problem.rank, *problem.step);
  }
}

}  // namespace lockstep::ui
