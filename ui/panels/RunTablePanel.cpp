#include "ui/panels/RunTablePanel.h"

#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QStackedLayout>

#include "ui/model/SpanQuery.h"
#include "ui/panels/ElidedLabel.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/Labels.h"
#include "ui/panels/RangeButton.h"
#include "ui/panels/RunRefresh.h"
#include "ui/panels/Spacing.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

constexpr int kRestPerWork = 9;  // a tenth of a core at most

}  // namespace

RunTablePanel::RunTablePanel(const Words& words, TableView* table, QWidget* parent)
    : QWidget(parent),
      refresh_(new RunRefresh(*this, kRestPerWork)),
      table_(table),
      filter_(filterLine("", words.filterHint, words.filterCalled)),
      range_(new RangeButton(words.rangeTip)),
      words_(new ElidedLabel),
      stack_(new QStackedLayout(new QWidget(this))),
      nothing_(new EmptyState(QString(), QString())),
      noMatch_(new EmptyState(QString(), tr("Clear the filter"))),
      outOfRange_(new EmptyState(QString(), words.wholeRun)) {
  const QString name = QLatin1String(words.name);
  setObjectName(name + "Panel");
  table_->setObjectName(name + "Table");
  filter_->setObjectName(name + "Filter");
  range_->setObjectName(name + "Range");
  words_->setObjectName(name + "Words");
  filter_->setToolTip(SpanQuery::help());
  filter_->setMinimumWidth(18 * fontMetrics().averageCharWidth());
  for (QWidget* page : std::initializer_list<QWidget*>{table_, nothing_, noMatch_, outOfRange_}) {
    stack_->addWidget(page);
  }
  const auto wholeRun = [this] {
    if (state_ != nullptr) {
      state_->setFilter(std::nullopt);
    }
  };
  connect(range_, &RangeButton::clicked, this, wholeRun);
  connect(outOfRange_, &EmptyState::activated, this, wholeRun);
  connect(noMatch_, &EmptyState::activated, filter_, &QLineEdit::clear);
}

void RunTablePanel::layOut(std::initializer_list<Part> before, std::initializer_list<Part> behind,
                           QWidget* below) {
  QHBoxLayout* bar = inRow(before);
  add(*bar, {{filter_, 1}, range_, words_});
  add(*bar, behind);
  QVBoxLayout* column = inColumn({bar, {stack_->parentWidget(), 1}}, kSpace);
  if (below != nullptr) {
    add(*column, {below});
  }
  fill(this, column, {kSpace, kSpace, kSpace, kSpace});
}

void RunTablePanel::setFilter(const QString& query) {
  filter_->setText(query);
  refresh_->ask();
}

// Ranks, iterations and times in it were those of that run.
void RunTablePanel::takeRun(RunModel* model, ViewState* state) {
  if (run_ != nullptr && run_ != model) {
    const QSignalBlocker silent(filter_);  // a new run is searched anyway
    filter_->clear();
  }
  run_ = model;
  state_ = state;
}

bool RunTablePanel::busy() const {
  return refresh_->waiting();
}

QString RunTablePanel::filterText() const {
  return filter_->text().trimmed();
}

void RunTablePanel::showRange() {
  range_->setRange(open() ? state_->filter() : std::optional<TimeRange>());
}

void RunTablePanel::showTable(bool empty, const Reasons& why) {
  // Why there is nothing, from the outside in: no run, an empty run, a filter that nothing matches,
  // a range in which nothing lies. The first of these that holds is shown, with the button that
  // helps: a filter is cleared before the range is widened.
  QWidget* shown = table_;
  const auto say = [&](EmptyState* page, const QString& sentence) {
    page->setSentence(sentence);
    shown = page;
  };
  if (empty && !open()) {
    say(nothing_, why.noRun);
  } else if (empty && run_->spanCount() == 0) {
    say(nothing_, run_->isLive() ? why.notYet : tr("This run recorded no events."));
  } else if (empty && !filterText().isEmpty()) {
    say(noMatch_, why.noMatch);
  } else if (empty && why.outOfRange && state_->filter()) {
    say(outOfRange_, tr("Nothing was recorded in %1.").arg(range_->words()));
  } else if (empty) {
    say(nothing_, why.none);
  }
  if (stack_->currentWidget() != shown) {
    stack_->setCurrentWidget(shown);
  }
}

}  // namespace lockstep::ui
