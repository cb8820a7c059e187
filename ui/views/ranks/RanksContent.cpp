#include "ui/views/ranks/RanksContent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/base/NumberText.h"
#include "engine/trace/Event.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

constexpr float kNoValue = std::numeric_limits<float>::quiet_NaN();
// Of the cells, those that are beyond the colours at either end.
constexpr double kBeyond = 0.001;

struct FigureWords {
  const char* title;
  const char* definition;
};

FigureWords wordsOf(RankFigure figure) {
  switch (figure) {
    case RankFigure::kStep:
      return {"Step time", "An iteration of the rank, from its start to its end."};
    case RankFigure::kComputing:
      return {"Computing", "Forward, backward until the last gradient, and optimizer."};
    case RankFigure::kExposed:
      return {"Exposed", "Communication in flight while the rank did not compute."};
    case RankFigure::kTransfer:
      return {
          "Transfer",
          "Its collectives, from when all ranks had come until they were done on the rank; those "
          "beside each other add up."};
    case RankFigure::kLate:
      return {"Lateness", "How long after the first rank it came to the collectives."};
    case RankFigure::kCaused:
      return {"Waiting caused",
              "What all other ranks waited in collectives to which this one came last."};
    case RankFigure::kDiffering:
      return {"Other parameters",
              "How many parameters are not those of the majority of ranks, where sampled."};
    case RankFigure::kMemory:
      break;
  }
  return {"Memory", "What is resident of the rank's process."};
}

/// The figures of the steps after the warm-up, and how far colours go.
RanksContent::OfFigure judged(const RanksContent& content, RankFigure figure) {
  const analysis::Landscape& table = content.table;
  RanksContent::OfFigure of;
  if (!table.has(figure)) {
    return of;
  }
  std::vector<float> known;
  float largestMean = 0;
  for (std::size_t rank = 0; rank < table.ranks.size(); ++rank) {
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t column = content.firstMeasured; column < table.columns; ++column) {
      if (const float value = table.at(figure, rank, column); !std::isnan(value)) {
        known.push_back(value);
        sum += value;
        ++count;
      }
    }
    of.means.push_back(count == 0 ? kNoValue
                                  : static_cast<float>(sum / static_cast<double>(count)));
    largestMean = count == 0 ? largestMean : std::max(largestMean, of.means.back());
  }
  if (known.empty()) {
    return of;
  }
  const auto at = [&known](double part) {
    const auto place =
        known.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(known.size() - 1));
    std::nth_element(known.begin(), place, known.end());
    return *place;
  };
  of.low = at(kBeyond);
  // A rank that is above the rest throughout lies within the colours, however few they are.
  of.high = std::max({at(1 - kBeyond), largestMean, of.low + std::abs(of.low) * 1e-3f + 1e-6f});
  return of;
}

QString hostName(const std::vector<trace::HostState>& hosts, int host) {
  const auto found = std::find_if(hosts.begin(), hosts.end(), [host](const trace::HostState& of) {
    return of.info.host == host;
  });
  return found == hosts.end() ? QString() : QString::fromStdString(found->info.name);
}

}  // namespace

QString titleOf(RankFigure figure) {
  return QString::fromUtf8(wordsOf(figure).title);
}

QString definitionOf(RankFigure figure) {
  return QString::fromUtf8(wordsOf(figure).definition);
}

QString textOf(RankFigure figure, double value) {
  if (std::isnan(value)) {
    return QStringLiteral("unknown");
  }
  switch (figure) {
    case RankFigure::kDiffering:
      return formatCounted(static_cast<std::uint64_t>(std::llround(value)), "parameter");
    case RankFigure::kMemory:
      return formatBytes(value * base::kMiB);
    default:
      return formatMs(value);
  }
}

QString lastMostOften(const analysis::LastRanks& last) {
  if (last.steps == 0) {
    return {};
  }
  const auto most = last.mostOften();
  return most ? QStringLiteral("Rank %1 was the last most often: in %2 of %3")
                    .arg(*most)
                    .arg(formatCount(last.ranks.at(*most).steps),
                         formatCounted(last.steps, "iteration"))
              : QStringLiteral("No rank was the last more often than all others, in %1")
                    .arg(formatCounted(last.steps, "iteration"));
}

RankFigure figureOf(diagnosis::Unlikeness kind) {
  return kind == diagnosis::Unlikeness::kComputing  ? RankFigure::kComputing
         : kind == diagnosis::Unlikeness::kTransfer ? RankFigure::kTransfer
                                                    : RankFigure::kLate;
}

std::size_t RanksContent::worstColumn(RankFigure figure, std::size_t rank) const {
  std::size_t worst = std::min(firstMeasured, table.columns == 0 ? 0 : table.columns - 1);
  for (std::size_t column = worst; table.has(figure) && column < table.columns; ++column) {
    // Also where what was the worst so far is unknown.
    if (!(table.at(figure, rank, column) <= table.at(figure, rank, worst)) &&
        !std::isnan(table.at(figure, rank, column))) {
      worst = column;
    }
  }
  return worst;
}

RanksOfRun ranksOfRun(const RunModel& model) {
  RanksOfRun of;
  of.hosts = model.hosts();
  const std::string resident(trace::name(trace::CounterId::kResidentBytes));
  for (const trace::RankInfo& rank : model.ranks()) {
    for (const MetricPoint& point : model.metric(resident, rank.rank)) {
      of.memory.push_back({rank.rank, point.step, static_cast<float>(point.value / base::kMiB)});
    }
  }
  return of;
}

std::shared_ptr<const RanksContent> ranksContent(const AnalysedRun& run, const RanksOfRun& ranks) {
  auto content = std::make_shared<RanksContent>();
  // Where nothing was hashed there is nothing to compare.
  const analysis::Divergence compared =
      run.data.fingerprints.empty() ? analysis::Divergence{} : analysis::divergence(run.data);
  content->table =
      analysis::landscape(run.analysis, analysis::allSteps(run.analysis), &compared.replicas);
  analysis::Landscape& table = content->table;
  for (const RanksOfRun::Memory& memory : ranks.memory) {
    if (const auto index = table.indexOf(memory.rank)) {
      table.add(RankFigure::kMemory, *index, memory.step, memory.mib);
    }
  }
  content->likeness = run.likeness();
  content->last = analysis::lastRanks(run.analysis);
  content->hostNumbers = content->likeness.hosts;
  for (const int host : content->hostNumbers) {
    content->hosts.push_back(hostName(ranks.hosts, host));
  }
  // Of a run that has not come beyond its warm-up all that there is counts.
  content->firstMeasured = table.columnOf(run.analysis.warmUp.firstMeasured).value_or(0);
  for (std::size_t figure = 0; figure < analysis::kRankFigures; ++figure) {
    content->figures[figure] = judged(*content, static_cast<RankFigure>(figure));
  }
  return content;
}

std::vector<std::vector<std::size_t>> rankRows(const RanksContent& content, RankFigure figure,
                                               RankOrder order) {
  std::vector<std::vector<std::size_t>> rows;
  if (order == RankOrder::kAlike) {
    for (const diagnosis::AlikeRanks& alike : content.likeness.classes) {
      std::vector<std::size_t>& row = rows.emplace_back();
      for (const int rank : alike.ranks) {
        row.push_back(*content.table.indexOf(rank));
      }
    }
    return rows;
  }
  std::vector<std::size_t> ranks(content.table.ranks.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  if (order == RankOrder::kFigure) {
    const std::vector<float>& means = content.of(figure).means;
    const auto mean = [&](std::size_t rank) {
      return means.empty() || std::isnan(means[rank]) ? -1.0f : means[rank];
    };
    std::stable_sort(ranks.begin(), ranks.end(),
                     [&](std::size_t a, std::size_t b) { return mean(a) > mean(b); });
  } else if (order == RankOrder::kHost) {
    std::stable_sort(ranks.begin(), ranks.end(), [&](std::size_t a, std::size_t b) {
      return content.hostNumbers[a] < content.hostNumbers[b];
    });
  }
  for (const std::size_t rank : ranks) {
    rows.push_back({rank});
  }
  return rows;
}

}  // namespace lockstep::ui
