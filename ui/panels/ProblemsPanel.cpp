#include "ui/panels/ProblemsPanel.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QPushButton>
#include <utility>

#include "ui/panels/CurrentPalette.h"
#include "ui/panels/EmptyState.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

class ProblemRows : public TableRows {
 public:
  enum Cell : std::size_t { kSeverity, kRank, kIteration, kText };

  explicit ProblemRows(std::vector<Problem> problems)
      : TableRows({{tr("Severity")},
                   {tr("Rank"), {}, true},
                   {tr("Iteration"), {}, true},
                   {tr("What happened")}}),
        problems_(std::move(problems)) {}

  [[nodiscard]] std::size_t size() const override { return problems_.size(); }

  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override {
    const Problem& problem = problems_[row];
    switch (column) {
      case kSeverity:
        return problem.error ? tr("error") : tr("warning");
      case kRank:
        return problem.rank < 0 ? tr("–") : QString::number(problem.rank);
      case kIteration:
        return problem.step ? QString::number(*problem.step) : tr("–");
      default:
        return problem.text;
    }
  }

  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override {
    const Problem& problem = problems_[row];
    return column == kRank ? std::optional<double>(problem.rank)
           : problem.step  ? std::optional<double>(*problem.step)
                           : std::nullopt;
  }

  [[nodiscard]] QString tip(std::size_t row, std::size_t) const override {
    return problems_[row].text;
  }

  [[nodiscard]] QVariant look(std::size_t row, std::size_t column, int role) const override {
    const Palette& colors = currentPalette();
    return role == Qt::ForegroundRole && column == kSeverity
               ? QVariant(problems_[row].error ? colors.error : colors.warning)
               : QVariant();
  }

  [[nodiscard]] bool continues(const TableRows& before) const override {
    return size() >= before.size();
  }

 private:
  std::vector<Problem> problems_;
};

}  // namespace

ProblemsPanel::ProblemsPanel(QWidget* parent)
    : QWidget(parent), view_(new TableView(tr("Problems"))), show_(new QPushButton(tr("Show"))) {
  setObjectName("problemsPanel");
  view_->setObjectName("problemsTable");
  view_->setSelectionMode(QAbstractItemView::SingleSelection);
  view_->setWordWrap(true);
  view_->verticalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  view_->setRows(std::make_shared<ProblemRows>(problems_));
  const int em = fontMetrics().horizontalAdvance('m');
  view_->setColumnWidth(ProblemRows::kSeverity, 7 * em);
  view_->setColumnWidth(ProblemRows::kRank, 5 * em);
  view_->setColumnWidth(ProblemRows::kIteration, 7 * em);

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

  page_ = new ViewOrEmpty(content, new EmptyState(tr("No problems in this run."), QString()));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(page_);

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
  view_->setRows(std::make_shared<ProblemRows>(problems_));
  page_->setEmpty(problems_.empty());
  emit changed();
}

void ProblemsPanel::show(std::size_t row) {
  if (const Problem& problem = problems_[row]; problem.step) {
    emit showRequested(problem.rank, *problem.step);
  }
}

}  // namespace lockstep::ui
