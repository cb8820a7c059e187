#include "ui/panels/events/EventPages.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ui/panels/events/StepStarts.h"

namespace lockstep::ui {
namespace {

std::vector<TableRows::Column> eventColumns() {
  std::vector<TableRows::Column> columns;
  for (int i = 0; i < kEventColumns; ++i) {
    const auto column = static_cast<EventColumn>(i);
    columns.push_back({titleOf(column), meaningOf(column), !isText(column)});
  }
  return columns;
}

}  // namespace

class EventPages::Page : public TableRows {
 public:
  Page(const RunModel* model, std::shared_ptr<const EventRows> rows, EventTerms terms,
       std::size_t first)
      : TableRows(eventColumns()),
        model_(model),
        rows_(std::move(rows)),
        terms_(std::move(terms)),
        first_(first) {}

  [[nodiscard]] std::size_t size() const override {
    return model_ == nullptr || !rows_
               ? 0
               : std::min<std::size_t>(kPageRows, rows_->numbers.size() - first_);
  }

  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override {
    const auto span = spanAt(row);
    return span
               ? textOf(static_cast<EventColumn>(column), terms_, *span, starts_.of(*model_, *span))
               : QString();
  }

  [[nodiscard]] QString tip(std::size_t row, std::size_t column) const override {
    return static_cast<EventColumn>(column) == EventColumn::kName ? text(row, column) : QString();
  }

  [[nodiscard]] std::optional<Span> spanAt(std::size_t row) const {
    if (row >= size()) {
      return std::nullopt;
    }
    if (row != lastRow_) {
      last_ = rows_->slices.spanAt(*model_, rows_->numbers[first_ + row]);
      lastRow_ = row;
    }
    return last_;
  }

 private:
  const RunModel* model_;
  std::shared_ptr<const EventRows> rows_;
  EventTerms terms_;
  std::size_t first_;

  // A table asks for all cells of a row one after the other.
  mutable StepStarts starts_;
  mutable std::optional<Span> last_;
  mutable std::optional<std::size_t> lastRow_;
};

EventPages::EventPages() {
  show();
}

void EventPages::setRows(const RunModel* model, std::shared_ptr<const EventRows> rows) {
  model_ = model;
  rows_ = std::move(rows);
  terms_ = model_ != nullptr ? EventTerms(*model_) : EventTerms();
  page_ = std::min(page_, pages() - 1);
  show();
}

std::size_t EventPages::pages() const {
  return std::max<std::size_t>(1, (total() + kPageRows - 1) / kPageRows);
}

bool EventPages::setPage(std::size_t page) {
  if (page >= pages() || page == page_) {
    return false;
  }
  page_ = page;
  show();
  return true;
}

void EventPages::show() {
  shown_ = std::make_shared<Page>(model_, rows_, terms_, page_ * kPageRows);
}

std::shared_ptr<const TableRows> EventPages::shown() const {
  return shown_;
}

std::optional<Span> EventPages::spanAt(int row) const {
  return row < 0 ? std::nullopt : shown_->spanAt(static_cast<std::size_t>(row));
}

std::optional<std::size_t> EventPages::placeOf(const Span& span) const {
  if (model_ == nullptr || !rows_) {
    return std::nullopt;
  }
  const auto number = rows_->slices.numberOf(*model_, span);
  if (!number) {
    return std::nullopt;
  }
  // One by one, since the rows may be in any order; this is a look at 4 bytes a row.
  const auto at = std::find(rows_->numbers.begin(), rows_->numbers.end(), *number);
  return at == rows_->numbers.end()
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(at - rows_->numbers.begin()));
}

}  // namespace lockstep::ui
