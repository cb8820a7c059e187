#include <fmt/format.h>

#include "engine/report/html/Markup.h"
#include "engine/report/html/Sections.h"
#include "engine/report/html/ShownRanks.h"

namespace lockstep::report::html {
namespace {

/// A class of style.css: how serious what it says is.
std::string_view toneOf(trace::RunState state) {
  switch (state) {
    case trace::RunState::kFinished:
      return "good";
    case trace::RunState::kStarting:
    case trace::RunState::kRunning:
      return "live";
    case trace::RunState::kStopped:
      return "note";
    case trace::RunState::kFailed:
    case trace::RunState::kDiverged:
    case trace::RunState::kRecorderDied:
      return "wrong";
  }
  return "note";
}

std::string paragraph(std::string_view style, std::string_view text) {
  return text.empty() ? "" : fmt::format("<p class=\"{}\">{}</p>\n", style, escaped(text));
}

std::string settingsOf(const diagnosis::Finding& finding) {
  std::string html;
  for (const diagnosis::Setting& setting : finding.settings) {
    html += fmt::format("<code>{} = {}</code> ", escaped(setting.key), escaped(setting.value));
  }
  return html.empty() ? "" : "<p class=\"settings\">Settings: " + html + "</p>\n";
}

std::string card(const diagnosis::Finding& finding) {
  const std::string remedy = finding.remedy.empty() ? ""
                                                    : fmt::format("<p><b>What to do:</b> {}</p>\n",
                                                                  escaped(finding.remedy));
  return fmt::format(
      "<li class=\"card {0}\"><h3>{1}</h3>\n<span class=\"weight\">{0}</span>\n{2}{3}{4}</li>\n",
      diagnosis::name(finding.weight), escaped(diagnosis::headlineOf(finding)),
      paragraph("sentence", finding.sentence), remedy, settingsOf(finding));
}

/// What ranks that ended badly said last; of many of them the first few.
std::string lastWords(const RunReport& report) {
  constexpr int kMost = 8;
  std::string html;
  int said = 0;
  for (const trace::RankInfo& rank : report.ranks) {
    if (!rank.lastWords.empty() && said < kMost) {
      said += 1;
      html += fmt::format("<li>{}</li>\n", escaped(rank.lastWords));
    }
  }
  return html.empty() ? "" : "<ul class=\"words\">\n" + html + "</ul>\n";
}

}  // namespace

std::string heading(const Figures& of) {
  const trace::RunInfo& info = of.report.info;
  std::string html =
      fmt::format("<h1>{}</h1>\n<p class=\"subtitle\"><b class=\"state {}\">{}</b> {}</p>\n",
                  escaped(info.name), toneOf(info.state), escaped(trace::name(info.state)),
                  escaped(trainingText(of.report)));
  if (trace::isLive(info.state)) {
    html +=
        paragraph("banner live",
                  "This run was still going on when the report was made: all that it says is of "
                  "what had come by then.");
  }
  if (!trace::wasRecorded(info.kind)) {
    const std::string kind(trace::name(info.kind));
    const auto what = info.environment.find(kind);
    html +=
        paragraph("banner note", fmt::format("This run was {} from {}{}{}", kind, info.command,
                                             what == info.environment.end() ? "" : ": ",
                                             what == info.environment.end() ? "" : what->second));
  }
  if (info.divergence) {
    html += paragraph("banner wrong", "Diverged: " + info.divergence->text + ".");
  } else if (!info.failure.empty()) {
    html += paragraph("banner wrong", info.failure);
  }
  return html + lastWords(of.report);
}

std::string verdict(const Figures& of) {
  const diagnosis::Diagnosis& diagnosis = of.report.diagnosis;
  if (diagnosis.findings.empty()) {
    const bool good = diagnosis.canTell && !diagnosis.muchExposed;
    return paragraph(good ? "card good" : "card note", diagnosis.nothing);
  }
  std::string html;
  for (const diagnosis::Finding& finding : diagnosis.findings) {
    html += card(finding);
  }
  return "<ol class=\"findings\">\n" + html + "</ol>\n";
}

}  // namespace lockstep::report::html
