#include "app/cli/TextTable.h"

#include <algorithm>
#include <cctype>

#include "engine/base/Check.h"

namespace lockstep::cli {
namespace {

bool looksLikeNumber(const std::string& cell) {
  return cell.empty() || cell == "-" ||
         std::all_of(cell.begin(), cell.end(), [](unsigned char c) {
           return std::isdigit(c) != 0 || c == '.' || c == ',' || c == '-';
         });
}

std::size_t columnsOf(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](unsigned char c) {
    return (c & 0xC0) != 0x80;  // continuation bytes of UTF-8 take no column
  }));
}

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  LOCKSTEP_CHECK(cells.size() == rows_.front().size(), "{} cells under {} headings", cells.size(),
                 rows_.front().size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  const std::size_t columns = rows_.front().size();
  std::vector<std::size_t> widths(columns, 0);
  std::vector<bool> numbers(columns, true);
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const std::string& cell = rows_[row][column];
      widths[column] = std::max(widths[column], columnsOf(cell));
      // Row 0 holds the headings, which are words over columns of numbers, too.
      numbers[column] = numbers[column] && (row == 0 || looksLikeNumber(cell));
    }
  }
  std::string result;
  for (const auto& row : rows_) {
    for (std::size_t column = 0; column < columns; ++column) {
      const std::string padding(widths[column] - columnsOf(row[column]), ' ');
      // Blanks at the end of a line would wrap it on a narrow terminal, for nothing.
      const bool last = column + 1 == columns;
      result += "  ";
      result += numbers[column] && !last ? padding + row[column]
                : last                   ? row[column]
                                         : row[column] + padding;
    }
    result += '\n';
  }
  return result;
}

}  // namespace lockstep::cli
