#include "engine/report/html/Page.h"

#include <fmt/format.h>

#include <array>

#include "engine/report/html/Markup.h"
#include "engine/report/html/Resources.h"
#include "engine/report/html/Sections.h"
#include "engine/report/html/Timeline.h"

namespace lockstep::report::html {
namespace {

struct PagePart {
  std::string_view id;
  std::string_view title;
  std::string html;  ///< "": the run has nothing of it
};

std::string linksTo(const std::vector<PagePart>& parts) {
  std::string html;
  for (const PagePart& part : parts) {
    if (!part.html.empty()) {
      html += fmt::format("<a href=\"#{}\">{}</a>\n", part.id, escaped(part.title));
    }
  }
  return "<nav>\n" + html + "</nav>\n";
}

}  // namespace

std::string page(const ReportedRun& run) {
  const Figures of(run);
  const std::vector<PagePart> parts{
      {"verdict", "Verdict", verdict(of)},
      {"figures", "Figures", figures(of)},
      {"pictures", "Pictures",
       stepPicture(of) + partsPicture(of) + bucketPicture(of) + lossPicture(of)},
      {"timeline", "Iterations, span by span", timeline(of, run)},
      {"tables", "Tables",
       causeTable(of) + rankTable(of) + bucketTable(of) + hookTable(of) + collectiveTable(of)},
      {"problems", "Problems", problemTable(of)},
      {"origin", "What it was run with", origin(of)}};
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{} - "
      "Lockstep</title>\n<style>\n{}</style>\n</head>\n<body>\n<header>\n{}{}</header>\n"
      "<main>\n",
      escaped(run.report.info.name), kStyle, heading(of), linksTo(parts));
  for (const PagePart& part : parts) {
    html += section(part.id, part.title, part.html);
  }
  return html + fmt::format(
                    "</main>\n<footer>Made by <code>lockstep report</code> of run {}.</footer>\n"
                    "<script>\n{}</script>\n<script>\n{}</script>\n</body>\n</html>\n",
                    escaped(run.report.info.runId), kTables, kTimeline);
}

}  // namespace lockstep::report::html
