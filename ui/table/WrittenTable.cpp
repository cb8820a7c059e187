#include "ui/table/WrittenTable.h"

#include <QFont>
#include <QHeaderView>
#include <QStyle>
#include <algorithm>
#include <memory>

namespace lockstep::ui {

QString WrittenRows::tip(std::size_t row, std::size_t column) const {
  const Cell& cell = rows_[row][column];
  return cell.tip.isEmpty() ? cell.text : cell.tip;
}

QVariant WrittenRows::look(std::size_t row, std::size_t column, int role) const {
  const Cell& cell = rows_[row][column];
  if (role == Qt::ForegroundRole && cell.ink != nullptr) {
    return cell.ink();
  }
  if (role == Qt::BackgroundRole && cell.ground != nullptr) {
    return cell.ground();
  }
  if (role == Qt::FontRole && cell.link) {
    QFont font;
    font.setUnderline(true);
    return font;
  }
  return {};
}

bool WrittenRows::continues(const TableRows& before) const {
  for (std::size_t row = 0; row < before.size(); ++row) {
    if (row >= size() || text(row, 0) != before.text(row, 0)) {
      return false;
    }
  }
  return true;
}

LowTable::LowTable(const QString& name, std::vector<TableRows::Column> columns, int mostRows)
    : TableView(name), columns_(std::move(columns)), mostRows_(mostRows) {
  setRows(std::make_shared<WrittenRows>(columns_));
  connect(this, &TableView::rowActivated, this, &LowTable::follow);
  connect(this, &QTableView::clicked, this, [this](const QModelIndex& index) {
    if (index.column() == 0) {
      follow(rowsModel().rowAt(index.row()));
    }
  });
}

void LowTable::follow(std::size_t row) {
  if (static_cast<const WrittenRows&>(*rowsModel().rows()).isLink(row, 0)) {
    emit followed(row);
  }
}

void LowTable::write(std::vector<WrittenRows::Row> rows) {
  setRows(std::make_shared<WrittenRows>(columns_, std::move(rows)));
  const int stretched = horizontalHeader()->stretchLastSection() ? 1 : 0;
  for (int column = 0; column < model()->columnCount() - stretched; ++column) {
    resizeColumnToContents(column);
  }
  if (wordWrap()) {
    resizeRowsToContents();
  }
  fitHeight();
}

void LowTable::fitHeight() {
  int height = 2 * frameWidth() + 2;
  if (!horizontalHeader()->isHidden()) {
    height += horizontalHeader()->sizeHint().height();
  }
  for (int line = 0; line < std::min(model()->rowCount(), mostRows_); ++line) {
    height += rowHeight(line);
  }
  if (horizontalScrollBarPolicy() != Qt::ScrollBarAlwaysOff) {
    height += style()->pixelMetric(QStyle::PM_ScrollBarExtent);
  }
  setFixedHeight(height);
}

}  // namespace lockstep::ui
