#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "ui/model/RunModel.h"
#include "ui/panels/events/EventColumns.h"
#include "ui/panels/events/EventSearch.h"
#include "ui/table/TableRows.h"

namespace lockstep::ui {

/// The events of a search, a page of them at a time: a table takes memory and time for each row
/// that it could show, so that it is given half a million at most. A cell is made when it is
/// shown. [ui-thread]
class EventPages {
 public:
  static constexpr std::uint32_t kPageRows = 500'000;

  EventPages();

  /// Takes other rows, on the page that was shown where there still is one. `model` outlives its
  /// use here; null rows: none.
  void setRows(const RunModel* model, std::shared_ptr<const EventRows> rows);
  [[nodiscard]] const std::shared_ptr<const EventRows>& rows() const { return rows_; }
  /// How many events there are on all pages.
  [[nodiscard]] std::size_t total() const { return rows_ ? rows_->numbers.size() : 0; }

  [[nodiscard]] std::size_t page() const { return page_; }
  [[nodiscard]] std::size_t pages() const;
  /// Returns whether that is another page.
  bool setPage(std::size_t page);
  /// The rows of the page, for a table that leaves sorting to the search. Their texts are made on
  /// the UI thread.
  [[nodiscard]] std::shared_ptr<const TableRows> shown() const;

  /// The span of a row of this page; nothing when the run no longer holds it.
  [[nodiscard]] std::optional<Span> spanAt(int row) const;
  /// Where a span stands among all rows.
  [[nodiscard]] std::optional<std::size_t> placeOf(const Span& span) const;

 private:
  class Page;
  void show();

  const RunModel* model_ = nullptr;
  std::shared_ptr<const EventRows> rows_;
  EventTerms terms_;
  std::size_t page_ = 0;
  std::shared_ptr<const Page> shown_;
};

}  // namespace lockstep::ui
