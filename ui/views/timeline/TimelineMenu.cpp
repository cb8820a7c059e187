#include "ui/views/timeline/TimelineMenu.h"

#include <QClipboard>
#include <QGuiApplication>
#include <utility>
#include <vector>

#include "ui/model/CounterFacts.h"
#include "ui/model/Format.h"
#include "ui/model/SpanFacts.h"
#include "ui/views/timeline/CounterMenu.h"

namespace lockstep::ui {

TimelineMenu::TimelineMenu(TimelineView& view, QPointF position) : QMenu(&view), view_(view) {
  setObjectName(QStringLiteral("timelineMenu"));
  setAttribute(Qt::WA_DeleteOnClose);
  const auto span = view_.controller_.spanAt(position);
  if (const auto mark = view_.controller_.markAt(position)) {
    addMarkVerbs(*mark);
  }
  addCounterVerbs(position);
  const double ns = view_.controller_.axis().toNs(position.x());
  addPlaces(span, ns);
  addViews(span, ns);
  addManyRanks(span, position);
  // The stretch that was measured, else the one in sight.
  const bool measured = view_.controller_.measured().has_value();
  const TimeRange stretch = view_.controller_.measured().value_or(view_.state_->range());
  const QString which = (measured ? tr("the measured %1") : tr("the visible %1"))
                            .arg(formatDuration(stretch.lengthNs()));
  add(tr("Filter statistics to %1").arg(which),
      [this, stretch] { view_.state_->setFilter(stretch); });
  if (view_.state_->filter()) {
    add(tr("Clear the filter"), [this] { view_.state_->setFilter(std::nullopt); });
  }
  addSeparator();
  if (span) {
    add(tr("Copy as JSON"), [this, span = *span] {
      QGuiApplication::clipboard()->setText(jsonOf(*view_.model_, span));
    });
  }
  add(tr("Export %1…").arg(which), [this, stretch] { emit view_.exportRangeRequested(stretch); });
}

void TimelineMenu::add(const QString& text, std::function<void()> act) {
  connect(addAction(text), &QAction::triggered, &view_, [&view = view_, act = std::move(act)] {
    // The run may have been closed while the menu was open.
    if (view.controller_.ready()) {
      act();
      view.changedByUser();
    }
  });
}

void TimelineMenu::addMarkVerbs(const Mark& mark) {
  const bool note = mark.kind == Mark::Kind::kNote;
  if (note) {
    add(tr("Edit the note"), [this, mark] { view_.notes_->edit(mark); });
  }
  add(note ? tr("Remove the note") : tr("Remove the bookmark"),
      [this, mark] { view_.annotations().remove(mark); });
  addSeparator();
}

void TimelineMenu::addCounterVerbs(QPointF position) {
  const auto hit = view_.controller_.counterAt(position);
  const CounterSeries* series =
      hit ? view_.model_->counters().find(hit->box.name, hit->rank) : nullptr;
  if (series == nullptr) {
    return;
  }
  const QString title = counterFacts(hit->box.name).title;
  if (const auto peak = series->peak(0, series->size())) {
    const double ns = view_.model_->toNs(series->points()[*peak].ticks);
    add(tr("Go to the peak of %1, rank %2").arg(title).arg(hit->rank),
        [this, ns] { view_.goToTime(ns); });
  }
  add(tr("Hide %1").arg(title),
      [this, name = QString::fromStdString(hit->box.name)] { view_.counterMenu_->toggle(name); });
  addSeparator();
}

void TimelineMenu::addPlaces(const std::optional<Span>& span, double ns) {
  if (span) {
    const QString query = queryFor(*span);
    add(tr("Find all: %1").arg(query), [this, query] {
      view_.find(query);
      emit view_.findAllRequested(query);
    });
  }
  add(tr("Bookmark here"), [this, ns] { view_.annotations().toggleBookmark(ns); });
  add(span ? tr("Note on this span…") : tr("Note here…"),
      [this, span, ns] { view_.notes_->editAt(span, ns); });
  addSeparator();
}

void TimelineMenu::addViews(const std::optional<Span>& span, double ns) {
  TimelineController& timeline = view_.controller_;
  add(span ? tr("Zoom to this span") : tr("Zoom here"),
      [&timeline, span, ns] { timeline.zoomTo(span, ns); });
  const std::vector<int>& shown = view_.state_->shownRanks();
  if (span && shown != std::vector{span->rank()}) {
    add(tr("Show rank %1 alone").arg(span->rank()),
        [&timeline, rank = span->rank()] { timeline.showRanks({rank}); });
  }
  if (!shown.empty()) {
    add(tr("Show all ranks"), [&timeline] { timeline.showRanks({}); });
  }
  add(tr("Collapse all ranks"), [&timeline] { timeline.collapseAll(true); });
  add(tr("Expand all ranks"), [&timeline] { timeline.collapseAll(false); });
}

void TimelineMenu::addManyRanks(const std::optional<Span>& span, QPointF position) {
  TimelineController& timeline = view_.controller_;
  if (!timeline.ofMany()) {
    return;
  }
  const std::optional<int> header = timeline.headerAt(position);
  if (const auto rank = span ? std::optional(span->rank()) : header) {
    add(timeline.many().isPinned(*rank) ? tr("Let go of rank %1").arg(*rank)
                                        : tr("Pin rank %1").arg(*rank),
        [&timeline, rank = *rank] { timeline.togglePin(rank); });
  }
  add(timeline.many().listed() ? tr("Fold the ranks to lines") : tr("List all ranks"),
      [&timeline, listed = timeline.many().listed()] { timeline.setListed(!listed); });
}

}  // namespace lockstep::ui
