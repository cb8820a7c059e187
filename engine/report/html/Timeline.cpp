#include "engine/report/html/Timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/analysis/SpanMeaning.h"
#include "engine/base/NumberText.h"
#include "engine/export/EventTable.h"
#include "engine/report/html/Markup.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::report::html {
namespace {

using Json = nlohmann::ordered_json;
using trace::SpanRow;

/// A span with the rank that it is of.
struct Shown {
  SpanRow span;
  int rank = 0;
};
using ByStep = std::map<std::uint32_t, std::vector<Shown>>;

/// The spans of these steps and ranks, in the order of the file.
ByStep spansOf(const ReportedRun& run, const std::vector<ShownIteration>& iterations,
               const ShownRanks& ranks) {
  ByStep byStep;
  for (const ShownIteration& iteration : iterations) {
    byStep[iteration.step];
  }
  const analysis::RankOfTrack rankOf = run.evidence.data.rankOfTrack();
  // What a rank did before its first step has the number 0, too.
  const auto isShown = [](trace::EventKind kind) { return kind != trace::EventKind::kStartup; };
  for (const run::Spans* spans : {&run.evidence.data.spans, &run.notAnalysed}) {
    spans->eachOf(isShown, 0, [&](const SpanRow& span) {
      const auto step = byStep.find(span.step);
      const auto rank = step == byStep.end() ? rankOf.end() : rankOf.find(span.track);
      if (rank != rankOf.end() && ranks.holds(rank->second)) {
        step->second.push_back({span, rank->second});
      }
    });
  }
  for (auto& [step, shown] : byStep) {
    std::ranges::stable_sort(shown, {}, [](const Shown& one) { return one.span.id; });
  }
  return byStep;
}

/// Leaves out what is too much, and says how many spans that were.
std::size_t thinOut(std::size_t most, std::vector<Shown>& spans) {
  const std::size_t all = spans.size();
  if (all > most) {
    std::erase_if(spans, [](const Shown& one) { return run::has(one.span.kind, run::kFine); });
  }
  if (spans.size() > most) {
    std::ranges::nth_element(spans, spans.begin() + static_cast<std::ptrdiff_t>(most),
                             std::greater<>(),
                             [](const Shown& one) { return one.span.durationTicks; });
    spans.resize(most);
  }
  std::ranges::stable_sort(spans, {}, [](const Shown& one) { return one.span.startTicks; });
  return all - spans.size();
}

/// Builds the object of Note [The timeline of a report].
class Data {
 public:
  explicit Data(const Figures& of) : of_(of) {
    json_ = {{"kinds", Json::array()}, {"texts", Json::array()}, {"iterations", Json::array()}};
  }

  void add(const ShownIteration& iteration, std::vector<Shown> spans, std::size_t most) {
    // From where the iteration begins: what was prepared ahead carries its number, too.
    std::uint64_t begin = ~std::uint64_t{0};
    std::uint64_t end = 0;
    for (const Shown& one : spans) {
      begin = std::min(begin, one.span.startTicks);
      end = std::max(end, one.span.startTicks + one.span.durationTicks);
    }
    if (spans.empty()) {
      return;
    }
    const std::size_t left = thinOut(most, spans);
    Json ranks = Json::array();
    std::map<int, Json> byRank;
    for (const Shown& one : spans) {
      byRank.try_emplace(one.rank, Json::array()).first->second.push_back(spanOf(one.span, begin));
    }
    for (auto& [rank, rows] : byRank) {
      ranks.push_back({{"name", of_.nameOf(rank)}, {"spans", std::move(rows)}});
    }
    std::string about = iteration.why;
    if (left > 0) {
      about += fmt::format("; {} too fine for a report left out", base::countedText(left, "span"));
    }
    json_["iterations"].push_back({{"title", fmt::format("iteration {}", iteration.step)},
                                   {"about", std::move(about)},
                                   {"ns", nsOf(end - begin)},
                                   {"ranks", std::move(ranks)}});
  }

  [[nodiscard]] bool empty() const { return json_["iterations"].empty(); }

  /// As it may stand in a script element: no "<" is in it.
  [[nodiscard]] std::string text() const {
    std::string text;
    for (const char c : json_.dump(-1, ' ', false, Json::error_handler_t::replace)) {
      text += c == '<' ? "\\u003c" : std::string(1, c);
    }
    return text;
  }

 private:
  [[nodiscard]] std::int64_t nsOf(std::uint64_t ticks) const {
    return static_cast<std::int64_t>(static_cast<double>(ticks) * of_.evidence.run.nsPerTick);
  }

  Json spanOf(const SpanRow& span, std::uint64_t begin) {
    Json row{kindOf(span.kind), nsOf(span.startTicks - begin), nsOf(span.durationTicks)};
    const auto bytes =
        span.kind == trace::EventKind::kOffCore
            ? std::optional(span.value)
            : analysis::bytesOf(span.kind, span.detail, span.value, of_.evidence.data.parameters);
    const int text = textOf(span);
    const int bucket = span.bucket == trace::kNoBucket ? -1 : span.bucket;
    if (bucket >= 0 || text >= 0 || bytes) {
      row.push_back(bucket);
    }
    if (text >= 0 || bytes) {
      row.push_back(text);
    }
    if (bytes) {
      row.push_back(*bytes);
    }
    return row;
  }

  std::size_t kindOf(trace::EventKind kind) {
    const auto [at, fresh] = kinds_.try_emplace(kind, kinds_.size());
    if (fresh) {
      const run::KindFacts& facts = run::factsOf(kind);
      json_["kinds"].push_back({{"name", trace::name(kind)},
                                {"lane", static_cast<int>(facts.lane)},
                                {"row", facts.row},
                                {"instant", run::has(kind, run::kInstant)}});
    }
    return at->second;
  }

  /// What a span is beside its kind, or the parameter that it is about.
  int textOf(const SpanRow& span) {
    std::string text = exports::whatOf(span.kind, span.detail, span.value);
    if (const auto parameter = analysis::parameterOf(span.kind, span.detail, span.value)) {
      text = of_.evidence.parameter(static_cast<std::uint32_t>(*parameter));
    }
    if (text.empty()) {
      return -1;
    }
    const auto [at, fresh] = texts_.try_emplace(text, static_cast<int>(texts_.size()));
    if (fresh) {
      json_["texts"].push_back(text);
    }
    return at->second;
  }

  const Figures& of_;
  Json json_;
  std::map<trace::EventKind, std::size_t> kinds_;
  std::map<std::string, int> texts_;
};

/// The last step of which any rank recorded anything.
std::uint32_t lastSeen(const analysis::RunData& data) {
  std::uint32_t last = 0;
  data.eachSpan([&last](int /*rank*/, const SpanRow& span) { last = std::max(last, span.step); });
  return last;
}

}  // namespace

std::string timeline(const Figures& of, const ReportedRun& run) {
  const std::vector<ShownIteration> iterations = shownIterations(run, lastSeen(of.evidence.data));
  const ShownRanks ranks = shownRanks(of.report, kMostTimelineRanks);
  ByStep byStep = spansOf(run, iterations, ranks);
  Data data(of);
  for (const ShownIteration& iteration : iterations) {
    data.add(iteration, std::move(byStep[iteration.step]), kMostSpans / iterations.size());
  }
  if (data.empty()) {
    return std::string();
  }
  return fmt::format(
      "<p>{}Zoom with the wheel or <kbd>+</kbd> <kbd>-</kbd>, move by dragging or with "
      "<kbd>&larr;</kbd> <kbd>&rarr;</kbd>, see all with <kbd>0</kbd> or a double click; a pointer "
      "over a span says what it is.</p>\n"
      "<noscript><p>Without scripts the iterations cannot be drawn.</p></noscript>\n"
      "<div id=\"timeline-view\"></div>\n"
      "<script type=\"application/json\" id=\"timeline-data\">{}</script>\n",
      ranks.complete() ? "" : escaped(ranks.text()) + " ", data.text());
}

}  // namespace lockstep::report::html
