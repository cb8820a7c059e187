#include "engine/export/Csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "engine/base/Check.h"
#include "engine/export/JsonText.h"
#include "engine/trace/EventRecord.h"

namespace lockstep::exports {

Csv::Csv(OutputFile& file, const std::vector<std::string_view>& titles)
    : file_(file), columns_(titles.size()) {
  for (const std::string_view title : titles) {
    text(title);
  }
  end();
  // end() has counted the titles.
  rows_ = 0;
}

void Csv::separate() {
  if (cells_++ > 0) {
    file_.buffer() += ',';
  }
}

Csv& Csv::text(std::string_view cell) {
  separate();
  std::string& out = file_.buffer();
  // Nearly all cells are, and need no look at each character's bytes.
  const bool ascii =
      std::all_of(cell.begin(), cell.end(), [](char c) { return c > '\0' && c <= '\x7E'; });
  std::string valid;
  if (!ascii) {
    appendText(valid, cell);
    cell = valid;
  }
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += cell;
    return *this;
  }
  out += '"';
  for (const char c : cell) {
    // A quote inside quotes is written twice.
    out.append(c == '"' ? 2 : 1, c);
  }
  out += '"';
  return *this;
}

Csv& Csv::number(std::int64_t cell) {
  separate();
  appendNumber(file_.buffer(), cell);
  return *this;
}

Csv& Csv::real(double cell) {
  separate();
  if (std::isfinite(cell)) {
    appendReal(file_.buffer(), cell);
  }
  return *this;
}

Csv& Csv::ms(double cell) {
  separate();
  // Six decimals of a ms are ns, which is all there is.
  fmt::format_to(std::back_inserter(file_.buffer()), "{:.6f}", cell);
  return *this;
}

Csv& Csv::percent(const std::optional<double>& cell) {
  separate();
  if (cell) {
    fmt::format_to(std::back_inserter(file_.buffer()), "{:.4f}", *cell);
  }
  return *this;
}

Csv& Csv::bucket(std::uint16_t cell) {
  return cell == trace::kNoBucket ? nothing() : number(static_cast<std::int64_t>(cell));
}

void Csv::end() {
  LOCKSTEP_CHECK(cells_ == columns_, "{} cells under {} titles", cells_, columns_);
  cells_ = 0;
  rows_ += 1;
  file_.write("\n");
}

}  // namespace lockstep::exports
