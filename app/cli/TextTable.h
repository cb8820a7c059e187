#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

/// Rows of text under headings, as wide as their widest cell. The last column is left-aligned
/// and never padded; a column whose cells are all numbers is right-aligned.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> headings) { rows_.push_back(std::move(headings)); }

  /// Adds a row with as many cells as there are headings.
  void add(std::vector<std::string> cells);

  /// Returns the table, each line indented by two blanks.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace lockstep::cli
