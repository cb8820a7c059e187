#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::report::html {

/// Returns a text as HTML shows it: whatever a run holds, no tag begins in it and no attribute
/// ends. Control characters and bytes that are no UTF-8 are spelt out (base::plainText).
std::string escaped(std::string_view text);

/// A cell of a table.
struct Cell {
  std::string html;
  std::optional<double> order = {};  ///< by which it is sorted; none: by its text
};
Cell textCell(std::string_view text);
/// Empty cells for what is not known.
Cell numberCell(std::optional<double> value, int decimals);
Cell msCell(std::optional<double> ms);
Cell countCell(std::uint64_t count);
Cell bytesCell(std::uint64_t bytes);

struct Column {
  std::string_view title;
  bool number = false;
  std::string_view about = {};  ///< what a pointer over the title explains
};

/// Rows under titles, which the script of the page sorts.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Adds as many cells as there are columns. `style`: a class of style.css.
  void add(const std::vector<Cell>& cells, std::string_view style = {});
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// The table; "" without rows.
  [[nodiscard]] std::string html() const;

 private:
  std::vector<Column> columns_;
  std::string rows_;
};

/// Returns a section of the page; "" where it has nothing to say.
std::string section(std::string_view id, std::string_view title, const std::string& html);

/// Returns a picture or a table with the sentence that says what it is; "" without `html`.
std::string figure(std::string_view title, std::string_view about, const std::string& html);

}  // namespace lockstep::report::html
