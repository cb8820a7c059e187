#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/export/OutputFile.h"

namespace lockstep::exports {

/// Rows of a table as comma-separated values: RFC 4180 but for plain newlines, a point before
/// decimals whatever the locale, nothing where a value is not known. A cell too few or too many is
/// a defect and aborts.
class Csv {
 public:
  /// Writes the titles; a unit is the last word of its title: "duration_ms".
  Csv(OutputFile& file, const std::vector<std::string_view>& titles);

  /// Valid UTF-8 whatever `cell` holds, see appendText.
  Csv& text(std::string_view cell);
  Csv& number(std::int64_t cell);
  Csv& number(std::uint64_t cell) { return number(static_cast<std::int64_t>(cell)); }
  Csv& number(std::uint32_t cell) { return number(static_cast<std::int64_t>(cell)); }
  Csv& number(int cell) { return number(static_cast<std::int64_t>(cell)); }
  /// The shortest text that is read back as the same; nothing of what is not finite.
  Csv& real(double cell);
  /// Milliseconds, down to the nanosecond.
  Csv& ms(double cell);
  Csv& ms(const std::optional<double>& cell) { return cell ? ms(*cell) : nothing(); }
  Csv& percent(const std::optional<double>& cell);
  /// "1" or "0".
  Csv& flag(bool cell) { return number(cell ? 1 : 0); }
  /// A bucket's number, or nothing.
  Csv& bucket(std::uint16_t cell);
  Csv& nothing() { return text(""); }

  /// Ends the row.
  void end();

  [[nodiscard]] std::uint64_t rows() const { return rows_; }

 private:
  void separate();

  OutputFile& file_;
  std::size_t columns_;
  std::size_t cells_ = 0;
  std::uint64_t rows_ = 0;
};

}  // namespace lockstep::exports
