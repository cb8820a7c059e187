#pragma once

#include <QString>
#include <cstddef>
#include <optional>

#include "ui/table/TableRows.h"

namespace lockstep::ui::test {

/// Rows with their number, which of the fourth is not known, and a text that seven of them take in
/// turns.
class Numbers : public TableRows {
 public:
  explicit Numbers(std::size_t size)
      : TableRows({{"Number", "", true}, {"Text", "", false}}), size_(size) {}
  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override {
    return column == 0 ? QString::number(row) : QStringLiteral("row %1").arg(row % 7);
  }
  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t) const override {
    return row == 3 ? std::nullopt : std::optional<double>(row);
  }
  [[nodiscard]] bool continues(const TableRows&) const override { return true; }

 private:
  std::size_t size_;
};

}  // namespace lockstep::ui::test
