#pragma once

#include <QAbstractTableModel>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "ui/model/RunModel.h"
#include "ui/panels/events/EventColumns.h"
#include "ui/panels/events/EventSearch.h"
#include "ui/panels/events/StepStarts.h"

namespace lockstep::ui {

/// The events of a search, a page of them at a time: a table takes memory and time for each row
/// that it could show, so that it is given half a million at most. A cell is made when it is
/// shown. [ui-thread]
class EventsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  static constexpr std::uint32_t kPageRows = 500'000;

  using QAbstractTableModel::QAbstractTableModel;

  /// Shows other rows, on the page that was shown where there still is one. `model` outlives its
  /// use here; null rows: none.
  void setRows(const RunModel* model, std::shared_ptr<const EventRows> rows);
  [[nodiscard]] const std::shared_ptr<const EventRows>& rows() const { return rows_; }
  /// How many events there are on all pages.
  [[nodiscard]] std::size_t total() const { return rows_ ? rows_->numbers.size() : 0; }

  [[nodiscard]] std::size_t page() const { return page_; }
  [[nodiscard]] std::size_t pages() const;
  void setPage(std::size_t page);

  /// The span of a row of this page; nothing when the run no longer holds it.
  [[nodiscard]] std::optional<Span> spanAt(int row) const;
  /// Where a span stands among all rows.
  [[nodiscard]] std::optional<std::size_t> placeOf(const Span& span) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;
  /// Sorting is searching: asks for it.
  void sort(int column, Qt::SortOrder order) override;

 signals:
  void sortWanted(lockstep::ui::EventColumn column, bool descending);

 private:
  const RunModel* model_ = nullptr;
  std::shared_ptr<const EventRows> rows_;
  EventTerms terms_;
  std::size_t page_ = 0;

  // A table asks for all cells of a row one after the other.
  mutable StepStarts starts_;
  mutable std::optional<Span> last_;
  mutable int lastRow_ = -1;
};

}  // namespace lockstep::ui
