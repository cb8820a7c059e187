#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/NumberText.h"
#include "engine/base/Scale.h"
#include "engine/report/html/LinePlot.h"
#include "engine/report/html/Markup.h"
#include "engine/report/html/Sections.h"
#include "engine/report/html/ShownRanks.h"

namespace lockstep::report::html {
namespace {

using analysis::StepOverlap;

constexpr std::size_t kMostBars = 16;

/// A part of a step; all of them add up to it (analysis::StepOverlap).
struct Part {
  const char* style;
  const char* name;
  double (*of)(const StepOverlap&);
};
constexpr std::array<Part, 7> kParts{{
    {"alone", "computing, nothing in flight", [](const StepOverlap& s) { return s.aloneMs; }},
    {"overlap", "computing over communication",
     [](const StepOverlap& s) { return s.times.overlapMs; }},
    {"waiting", "exposed: waiting", [](const StepOverlap& s) { return s.waitingMs; }},
    {"transfer", "exposed: transfer", [](const StepOverlap& s) { return s.transferMs; }},
    {"undivided", "exposed: waiting or transfer",
     [](const StepOverlap& s) { return s.undividedMs; }},
    {"nocore", "exposed: no core", [](const StepOverlap& s) { return s.noCoreMs; }},
    {"other", "neither computing nor in flight", [](const StepOverlap& s) { return s.otherMs; }},
}};
using Means = std::array<double, kParts.size()>;

/// The mean of the measured steps of a rank, part by part; all 0 of none.
Means meansOf(const diagnosis::Evidence& evidence, int rank) {
  Means means{};
  double steps = 0;
  for (const StepOverlap& step : analysis::ofRank(evidence.steps, rank)) {
    if (evidence.isMeasured(step.times)) {
      steps += 1;
      for (std::size_t part = 0; part < kParts.size(); ++part) {
        means[part] += kParts[part].of(step);
      }
    }
  }
  for (double& mean : means) {
    mean /= std::max(1.0, steps);
  }
  return means;
}

double sumOf(const Means& means) {
  double sum = 0;
  for (const double mean : means) {
    sum += mean;
  }
  return sum;
}

}  // namespace

std::string partsPicture(const Figures& of) {
  constexpr double kLeft = 150;
  constexpr double kWidth = 1100;
  constexpr double kRow = 24;
  constexpr double kBar = 18;
  const ShownRanks shown = shownRanks(of.report, kMostBars);
  std::vector<Means> means;
  double longest = 0;
  for (const int rank : shown.ranks) {
    means.push_back(meansOf(of.evidence, rank));
    longest = std::max(longest, sumOf(means.back()));
  }
  if (longest <= 0) {
    return "";
  }
  const base::Scale x{0, longest, kLeft, kWidth - 70};
  const double bottom = kRow * static_cast<double>(means.size());
  std::string svg;
  const double tick = base::roundStep(longest, 8);
  for (const double ms : x.ticks(tick)) {
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1:.0f}\"/>"
        "<text x=\"{0:.1f}\" y=\"{2:.0f}\" text-anchor=\"middle\">{3:.{4}f} ms</text>\n",
        x.at(ms), bottom, bottom + 15, ms, base::decimalsOf(tick));
  }
  std::array<bool, kParts.size()> seen{};
  for (std::size_t row = 0; row < means.size(); ++row) {
    const double y = kRow * static_cast<double>(row);
    double at = 0;
    svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>", kLeft - 8,
                       y + 15, escaped(of.nameOf(shown.ranks[row])));
    for (std::size_t part = 0; part < kParts.size(); ++part) {
      const double ms = means[row][part];
      if (ms <= 0) {
        continue;
      }
      seen[part] = true;
      svg += fmt::format(
          "<rect class=\"part {}\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\">"
          "<title>{}, {}: {} ms of {} ms</title></rect>",
          kParts[part].style, x.at(at), y + 3, x.at(at + ms) - x.at(at), kBar,
          escaped(of.nameOf(shown.ranks[row])), kParts[part].name, base::msText(ms),
          base::msText(sumOf(means[row])));
      at += ms;
    }
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\">{}</text>\n", x.at(at) + 6, y + 15,
                       base::msText(at));
  }
  std::vector<std::pair<std::string, std::string>> legend;
  for (std::size_t part = 0; part < kParts.size(); ++part) {
    if (seen[part]) {
      legend.emplace_back(kParts[part].style, kParts[part].name);
    }
  }
  const std::string about =
      "The mean of the measured steps of a rank, in ms. Communication is exposed where the rank "
      "does not compute meanwhile. " +
      shown.text();
  return figure("What a step is made of", about,
                fmt::format("<svg class=\"plot\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n{}"
                            "</svg>\n",
                            kWidth, bottom + 20, svg) +
                    legendOf(legend));
}

}  // namespace lockstep::report::html
