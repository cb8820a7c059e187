#include "engine/report/html/Markup.h"

#include <fmt/format.h>

#include "engine/base/Check.h"
#include "engine/base/NumberText.h"
#include "engine/base/PlainText.h"

namespace lockstep::report::html {

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : base::plainText(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

Cell textCell(std::string_view text) {
  return {escaped(text)};
}

Cell numberCell(std::optional<double> value, int decimals) {
  return value ? Cell{fmt::format("{:.{}f}", *value, decimals), *value} : Cell{};
}

Cell msCell(std::optional<double> ms) {
  return ms ? Cell{base::msText(*ms), *ms} : Cell{};
}

Cell countCell(std::uint64_t count) {
  return {base::countText(count), static_cast<double>(count)};
}

Cell bytesCell(std::uint64_t bytes) {
  return {base::bytesText(static_cast<double>(bytes)), static_cast<double>(bytes)};
}

void Table::add(const std::vector<Cell>& cells, std::string_view style) {
  LOCKSTEP_CHECK(cells.size() == columns_.size(), "{} cells under {} titles", cells.size(),
                 columns_.size());
  rows_ += style.empty() ? "<tr>" : fmt::format("<tr class=\"{}\">", style);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    rows_ += columns_[i].number ? "<td class=\"number\"" : "<td";
    // A cell of nothing sorts behind all others.
    rows_ += cells[i].order ? fmt::format(" data-order=\"{}\">", *cells[i].order) : ">";
    rows_ += cells[i].html + "</td>";
  }
  rows_ += "</tr>\n";
}

std::string Table::html() const {
  if (empty()) {
    return "";
  }
  std::string head;
  for (const Column& column : columns_) {
    head +=
        fmt::format("<th scope=\"col\"{}{}>{}</th>", column.number ? " class=\"number\"" : "",
                    column.about.empty() ? "" : fmt::format(" title=\"{}\"", escaped(column.about)),
                    escaped(column.title));
  }
  return fmt::format(
      "<div class=\"wide\"><table class=\"sortable\"><thead><tr>{}</tr></thead>\n<tbody>\n{}"
      "</tbody></table></div>\n",
      head, rows_);
}

std::string section(std::string_view id, std::string_view title, const std::string& html) {
  return html.empty() ? ""
                      : fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id,
                                    escaped(title), html);
}

std::string figure(std::string_view title, std::string_view about, const std::string& html) {
  return html.empty()
             ? ""
             : fmt::format("<figure>\n<figcaption><h3>{}</h3><p>{}</p></figcaption>\n{}</figure>\n",
                           escaped(title), escaped(about), html);
}

}  // namespace lockstep::report::html
