#include "ui/views/divergence/SequenceTab.h"

#include <QCheckBox>
#include <QComboBox>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalBlocker>
#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>

#include "engine/trace/Event.h"
#include "ui/chart/Card.h"
#include "ui/model/Format.h"
#include "ui/panels/ElidedLabel.h"
#include "ui/panels/KeyTips.h"
#include "ui/panels/OwnKeys.h"
#include "ui/table/TableView.h"
#include "ui/views/divergence/DivergenceRows.h"

namespace lockstep::ui {
namespace {

using analysis::CallSequence;

constexpr double kRowsANotch = 3;

}  // namespace

// Note [One place, shown three times]
//
// The canvas, the table and the selection of all views show the same call:
//
//   canvas or table ─▶ choose ─▶ selected_, row of the table, ViewState::select
//                                   (of the rank that was clicked, else of the first that called)
//   another view    ─▶ selectionChanged ─▶ its group, number and rank are looked for;
//                                   what was chosen here is found in place, and nothing moves
//
// New facts of a live run are other rows, and calls that were missing may come in between; so may
// groups. Both are found again, the place by its number (placeOf) and the group by what it is
// (setFacts). A mismatch is jumped to once a run, with the first facts that have one: afterwards
// the reader decides what is in sight.
SequenceTab::SequenceTab(QWidget* parent)
    : PlacesTab(tr("Calls of the ranks side by side"), QStringLiteral("call number"), parent),
      groups_(named(new QComboBox, "sequenceGroup", tr("Group whose calls are shown"))),
      suspectsOnly_(new QCheckBox(tr("Only what does not match"))),
      first_(named(new QPushButton(tr("First mismatch")), "firstMismatch")),
      previous_(new QPushButton(tr("Previous"))),
      next_(new QPushButton(tr("Next"))),
      summary_(new ElidedLabel),
      scrollBar_(new QScrollBar(Qt::Vertical, canvas())),
      table_(named(new TableView(tr("Calls of the ranks side by side, as a table")),
                   "sequenceTable")) {
  groups_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  table_->fitOtherColumns();
  keepOwnKeys(groups_);
  fillBar({groups_, first_, previous_, next_, suspectsOnly_, {summary_, 1}});
  summary_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  setBelow(table_, {table_}, 0.33);
  scrollBar_->hide();

  connect(groups_, &QComboBox::activated, this,
          [this](int index) { showSequence(static_cast<std::size_t>(index)); });
  connect(suspectsOnly_, &QCheckBox::toggled, this, [this] {
    scroll_ = 0;
    if (selected_) {
      reveal(selected_->row);
    }
    updateScrollBar();
  });
  connect(first_, &QPushButton::clicked, this, &SequenceTab::showFirstMismatch);
  connect(previous_, &QPushButton::clicked, this, [this] { showMismatch(-1); });
  connect(next_, &QPushButton::clicked, this, [this] { showMismatch(1); });
  connect(scrollBar_, &QScrollBar::valueChanged, this, [this](int line) {
    scroll_ = line * SequenceScene::kRow;
    repaintSoon();
  });
  connect(table_, &TableView::rowChosen, this, [this](std::size_t row) {
    choose({row, selected_ ? selected_->column : std::nullopt});
    reveal(row);
  });
}

void SequenceTab::runChanged() {
  sequence_ = 0;
  scroll_ = 0;
  jumped_ = false;
  PlacesTab::runChanged();
}

void SequenceTab::setCommands(const QAction* first, const QAction* previous, const QAction* next) {
  firstCommand_ = first;
  setTip(previous_, tr("Show the call before this one in which the ranks differ"), previous);
  setTip(next_, tr("Show the next call in which the ranks differ"), next);
  tellKeys();
}

void SequenceTab::tellKeys() {
  const bool any = facts_ == nullptr || facts_->firstMismatch.has_value();
  setTip(first_,
         any ? tr("Show the first call in which the ranks differ")
             : tr("In no group do the ranks differ."),
         any ? firstCommand_ : nullptr);
}

void SequenceTab::setFacts(std::shared_ptr<const DivergenceFacts> facts) {
  const bool any = facts != nullptr && !facts->sequences.empty();
  const QSignalBlocker blocker(groups_);
  groups_->clear();
  if (any) {
    for (const CallSequence& sequence : facts->sequences) {
      const QString state = sequence.mismatches == 0
                                ? tr("all match")
                                : tr("%1 differ").arg(formatCount(sequence.mismatches));
      groups_->addItem(
          tr("%1: %2 calls, %3").arg(nameOf(sequence), formatCount(sequence.rows.size()), state));
    }
  }
  for (QWidget* widget : std::initializer_list<QWidget*>{groups_, suspectsOnly_}) {
    widget->setEnabled(any);
  }
  if (any && shows()) {
    // The group that is shown: another, which made its first call since, may stand before it.
    const auto same = std::ranges::find_if(facts->sequences, [this](const CallSequence& other) {
      return other.group == sequence().group && other.checks == sequence().checks;
    });
    sequence_ = static_cast<std::size_t>(same - facts->sequences.begin());
  }
  sequence_ = any ? std::min(sequence_, facts->sequences.size() - 1) : 0;
  DivergenceTab::setFacts(std::move(facts));
  if (!any) {
    selected_.reset();
    table_->setRows(nullptr);
    summary_->setWords({});
    for (QPushButton* button : {first_, previous_, next_}) {
      button->setEnabled(false);
    }
    updateScrollBar();
    return;
  }
  const bool jump = !jumped_ && facts_->firstMismatch.has_value();
  showSequence(jump ? *facts_->firstMismatch : sequence_);
  if (jump) {
    jumped_ = true;
    reveal(*sequence().first);
  } else {
    selectionChanged();
  }
}

const CallSequence& SequenceTab::sequence() const {
  return facts_->sequences[sequence_];
}

void SequenceTab::showSequence(std::size_t index) {
  // Another group's rows are another table: no place in it means anything here.
  if (index != sequence_) {
    selected_.reset();
    scroll_ = 0;
    table_->setRows(nullptr);
    table_->scrollToTop();
  }
  sequence_ = index;
  auto rows = sequenceRows(facts_, index);
  if (selected_) {
    const auto row = rows->placeOf(*table_->rowsModel().rows(), selected_->row);
    selected_ = row ? std::optional(CallPlace{*row, selected_->column}) : std::nullopt;
  }
  groups_->setCurrentIndex(static_cast<int>(index));
  table_->setRows(std::move(rows));
  if (selected_) {
    table_->showRow(selected_->row);
  }
  summary_->setWords(summaryOf(sequence()));
  first_->setEnabled(facts_->firstMismatch.has_value());
  tellKeys();
  previous_->setEnabled(sequence().mismatches > 0);
  next_->setEnabled(sequence().mismatches > 0);
  updateScrollBar();
  repaintSoon();
}

SequenceFrame SequenceTab::frame(QSizeF size) const {
  const double bar = scrollBar_->isVisible() ? scrollBar_->width() : 0;
  return {QSizeF(size.width() - bar, size.height()),
          sequence_,
          suspectsOnly_->isChecked(),
          scroll_,
          selected_,
          pointer_};
}

void SequenceTab::paintFacts(DisplayList& list, QSizeF size) {
  if (facts_->sequences.empty()) {
    list.fill(QRectF(QPointF(0, 0), size), colours().background);
    drawMessage(list, QRectF(QPointF(0, 0), size), tr("No collective was recorded"),
                tr("The calls of the ranks stand here side by side as soon as they make one. A run "
                   "with its capture off records none."),
                colours().text, colours());
    return;
  }
  updateScrollBar();
  SequenceScene(*facts_, colours(), frame(size)).draw(list);
}

QString SequenceTab::description() const {
  QStringList parts;
  for (const CallSequence& sequence : facts_->sequences) {
    parts << nameOf(sequence) + QStringLiteral(": ") + summaryOf(sequence);
  }
  return parts.join(QStringLiteral(" "));
}

void SequenceTab::updateScrollBar() {
  const bool shown = shows();
  const double most = shown ? scene().maximumScroll() : 0;
  const QSignalBlocker blocker(scrollBar_);
  const int width = scrollBar_->sizeHint().width();
  scrollBar_->setGeometry(canvas()->width() - width, 0, width, canvas()->height());
  scrollBar_->setVisible(most > 0);
  if (most > 0) {
    scrollBar_->raise();
  }
  scroll_ = std::clamp(scroll_, 0.0, most);
  // In lines, as scrolling by the bar is: the pixels of a long run are too many for an int.
  scrollBar_->setRange(0, static_cast<int>(std::ceil(most / SequenceScene::kRow)));
  scrollBar_->setPageStep(std::max(1, static_cast<int>(canvas()->height() / SequenceScene::kRow)));
  scrollBar_->setValue(static_cast<int>(std::lround(scroll_ / SequenceScene::kRow)));
}

void SequenceTab::choose(const CallPlace& place) {
  selected_ = place;
  table_->showRow(place.row);
  std::size_t column = place.column.value_or(0);
  for (std::size_t i = 0; !place.column && i < sequence().ranks.size(); ++i) {
    if (sequence().callAt(place.row, i) != nullptr) {
      column = i;
      break;
    }
  }
  if (const trace::SpanRow* call = sequence().callAt(place.row, column)) {
    select(sequence().ranks[column], *call);
  }
  repaintSoon();
}

void SequenceTab::reveal(std::size_t row) {
  const SequenceScene now = scene();
  const auto rect = now.rectOf({row, std::nullopt});
  const bool seen =
      rect && rect->top() >= SequenceScene::kHeader && rect->bottom() <= canvas()->height();
  if (!seen) {
    scroll_ = now.scrollTo(row);
  }
  updateScrollBar();
  repaintSoon();
}

void SequenceTab::showFirstMismatch() {
  if (facts_ != nullptr && facts_->firstMismatch) {
    showSequence(*facts_->firstMismatch);
    choose({*sequence().first, std::nullopt});
    reveal(*sequence().first);
  }
}

void SequenceTab::showMismatch(int direction) {
  if (!shows() || sequence().mismatches == 0) {
    return;
  }
  const auto& suspects = sequence().suspects;
  const auto differs = [this](std::uint32_t row) {
    return analysis::differs(sequence().rows[row].mismatch);
  };
  const auto from = static_cast<std::uint32_t>(selected_ ? selected_->row : 0);
  if (direction > 0) {
    // Without a selection the first of all, else the next after it; nothing is selected at the
    // ends.
    const auto after =
        selected_ ? std::upper_bound(suspects.begin(), suspects.end(), from) : suspects.begin();
    const auto at = std::find_if(after, suspects.end(), differs);
    if (at != suspects.end()) {
      choose({*at, std::nullopt});
      reveal(*at);
    }
  } else if (selected_) {
    const auto before =
        std::make_reverse_iterator(std::lower_bound(suspects.begin(), suspects.end(), from));
    const auto at = std::find_if(before, suspects.rend(), differs);
    if (at != suspects.rend()) {
      choose({*at, std::nullopt});
      reveal(*at);
    }
  }
}

void SequenceTab::showBefore(std::uint32_t step) {
  if (!shows()) {
    return;
  }
  // In the group of most calls gradients are averaged: what it called last may have made them
  // differ.
  std::size_t most = 0;
  for (std::size_t i = 0; i < facts_->sequences.size(); ++i) {
    most = facts_->sequences[i].rows.size() > facts_->sequences[most].rows.size() ? i : most;
  }
  suspectsOnly_->setChecked(false);
  showSequence(most);
  const auto& rows = sequence().rows;
  std::size_t last = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (sequence().anyCallAt(row).step < step) {
      last = row;
    }
  }
  choose({last, std::nullopt});
  reveal(last);
}

void SequenceTab::selectionChanged() {
  if (!shows() || state_ == nullptr) {
    return;
  }
  const auto& span = state_->selection();
  const bool check = span && span->kind == trace::EventKind::kChecked;
  const bool call = span && (span->kind == trace::EventKind::kCollective ||
                             span->kind == trace::EventKind::kCollectiveQueued);
  if (!check && !call) {
    return;
  }
  for (std::size_t i = 0; i < facts_->sequences.size(); ++i) {
    const CallSequence& sequence = facts_->sequences[i];
    const auto column = std::find(sequence.ranks.begin(), sequence.ranks.end(), span->rank());
    if (sequence.group != trace::groupOf(span->detail) || sequence.checks != check ||
        column == sequence.ranks.end()) {
      continue;
    }
    // The numbers have 24 bits in the file and go on beyond their wrap here.
    constexpr std::uint64_t kWrap = 1ull << 24;
    const std::uint64_t low = trace::collectiveSequence(span->value);
    for (std::uint64_t number = low; number <= sequence.rows.back().sequence; number += kWrap) {
      const std::size_t row = *std::ranges::partition_point(
          std::views::iota(std::size_t{0}, sequence.rows.size()),
          [&](std::size_t at) { return sequence.rows[at].sequence < number; });
      if (row == sequence.rows.size() || sequence.rows[row].sequence != number ||
          sequence.anyCallAt(row).step != span->step) {
        continue;
      }
      const CallPlace place{row, static_cast<std::size_t>(column - sequence.ranks.begin())};
      if (i == sequence_ && selected_ && selected_->row == row) {
        return;  // chosen here
      }
      if (i != sequence_) {
        showSequence(i);
      }
      selected_ = place;
      table_->showRow(row);
      reveal(row);
      return;
    }
  }
}

void SequenceTab::pointerPressed(const PointerInput& input) {
  canvas()->setFocus(Qt::MouseFocusReason);
  if (!shows() || input.button != Qt::LeftButton) {
    return;
  }
  const SequenceScene now = scene();
  if (const auto row = now.overviewRowAt(input.position)) {
    scroll_ = now.scrollTo(*row);
    updateScrollBar();
    repaintSoon();
  } else if (const auto place = now.placeAt(input.position)) {
    choose(*place);
  }
}

void SequenceTab::pointerMoved(const PointerInput& input) {
  DivergenceTab::pointerMoved(input);
  if (input.buttons.testFlag(Qt::LeftButton) && shows()) {
    const SequenceScene now = scene();
    if (const auto row = now.overviewRowAt(input.position)) {
      scroll_ = now.scrollTo(*row);
      updateScrollBar();
    }
  }
}

void SequenceTab::wheelTurned(const WheelInput& input) {
  if (!shows()) {
    return;
  }
  pointer_ = input.position;
  scroll_ = std::clamp(scroll_ - input.stepsY * kRowsANotch * SequenceScene::kRow, 0.0,
                       scene().maximumScroll());
  updateScrollBar();
  repaintSoon();
}

}  // namespace lockstep::ui
