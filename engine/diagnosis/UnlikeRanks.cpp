#include "engine/diagnosis/UnlikeRanks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <utility>

#include "engine/cost/BlockBootstrap.h"
#include "engine/cost/Sample.h"
#include "engine/diagnosis/StruckHosts.h"

namespace lockstep::diagnosis {
namespace {

using analysis::Landscape;
using analysis::RankFigure;

constexpr std::size_t kKinds = 3;
constexpr std::array<RankFigure, kKinds> kFigures{RankFigure::kComputing, RankFigure::kTransfer,
                                                  RankFigure::kLate};
// Of a rank's lateness, what must be explained by its computing or its transfers.
constexpr double kExplains = 0.4;
// The standard deviation of a normal distribution whose median distance from the median is 1.
constexpr double kNormalSpread = 1.4826;

std::size_t at(Unlikeness kind) {
  return static_cast<std::size_t>(kind);
}

/// A figure of one rank against the middle of all, step by step.
struct Profile {
  std::vector<std::uint32_t> steps;
  std::vector<double> excess;  // of each of them
  double mean = 0;             // of the excess
  double own = 0;              // the mean of the figure itself
};

/// A figure of all ranks.
struct Profiles {
  std::vector<Profile> ranks;  // by rank index; all empty: not known
  double spread = 0;           // of the ranks' means
  double middle = 0;           // the mean of the middle value
};

/// The middle of sorted values, but for one that is `own`.
double middleOfOthers(const std::vector<double>& sorted, double own) {
  const auto place = static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), own) -
                                              sorted.begin());
  const auto other = [&](std::size_t i) { return sorted[i < place ? i : i + 1]; };
  const std::size_t others = sorted.size() - 1;
  return (other((others - 1) / 2) + other(others / 2)) / 2;
}

// A step counts where most ranks have it whole: of fewer the middle may be another's.
constexpr double kMostOfRanks = 0.75;

Profiles profilesOf(const Landscape& table, RankFigure figure) {
  Profiles profiles{std::vector<Profile>(table.ranks.size())};
  if (!table.has(figure)) {
    return profiles;
  }
  std::size_t columns = 0;
  for (std::size_t step = 0; step < table.columns; ++step) {
    std::vector<double> known;
    for (std::size_t rank = 0; rank < table.ranks.size(); ++rank) {
      if (const float value = table.at(figure, rank, step); !std::isnan(value)) {
        known.push_back(value);
      }
    }
    if (static_cast<double>(known.size()) <
        std::max(2.0, kMostOfRanks * static_cast<double>(table.ranks.size()))) {
      continue;
    }
    std::sort(known.begin(), known.end());
    profiles.middle += cost::sortedQuantile(known, 0.5);
    ++columns;
    for (std::size_t rank = 0; rank < table.ranks.size(); ++rank) {
      if (const double value = table.at(figure, rank, step); !std::isnan(value)) {
        Profile& of = profiles.ranks[rank];
        of.steps.push_back(table.steps.first + static_cast<std::uint32_t>(step));
        of.excess.push_back(value - middleOfOthers(known, value));
        of.own += value;
      }
    }
  }
  profiles.middle /= std::max<double>(1, static_cast<double>(columns));
  std::vector<double> means;
  for (Profile& of : profiles.ranks) {
    if (!of.steps.empty()) {
      const auto count = static_cast<double>(of.steps.size());
      of.mean = std::accumulate(of.excess.begin(), of.excess.end(), 0.0) / count;
      of.own /= count;
      means.push_back(of.mean);
    }
  }
  if (means.size() < kFewestForSpread) {
    return profiles;
  }
  const double middle = cost::median(means).value_or(0);
  for (double& mean : means) {
    mean = std::abs(mean - middle);
  }
  profiles.spread = kNormalSpread * cost::median(std::move(means)).value_or(0);
  return profiles;
}

/// What is told of a rank at least, in ms: as of one that is late (Note [Lateness]).
double leastToTell(const analysis::RunAnalysis& run, const analysis::StepRange& steps) {
  double stepMs = 0;
  std::size_t stepsOfRanks = 0;
  std::map<std::uint32_t, double> longestWaits;
  analysis::eachFrom(run.stepRows, steps.first, [&](const analysis::StepTicks& row) {
    if (steps.contains(row.step) && !row.incomplete) {
      const analysis::StepTimes step = analysis::timesOf(row, run.nsPerTick, run.stolenShare);
      stepMs += step.stepMs;
      ++stepsOfRanks;
      double& longest = longestWaits[step.step];
      longest = std::max(longest, step.coreWaitMs);
    }
  });
  double waitMs = 0;
  for (const auto& [number, longest] : longestWaits) {
    waitMs += longest / static_cast<double>(longestWaits.size());
  }
  stepMs /= std::max<double>(1, static_cast<double>(stepsOfRanks));
  return std::max({analysis::kLateMs, analysis::kLateShare * stepMs,
                   analysis::kCoreWaits * (waitMs + run.stolenShare * stepMs)});
}

/// Makes a RankLikeness.
class Comparison {
 public:
  Comparison(const analysis::RunAnalysis& run, const std::vector<trace::RankInfo>& ranks,
             const std::vector<trace::HostState>& hosts)
      : run_(run), hosts_(hosts), steps_(analysis::allSteps(run)) {
    steps_.first = std::max(steps_.first, run.warmUp.firstMeasured);
    steps_.end = std::max(steps_.first, steps_.end);
    steps_.first = std::max(steps_.first, steps_.end - std::min(steps_.end, kJudgedSteps));
    table_ = analysis::landscape(run, steps_);
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      profiles_[kind] = profilesOf(table_, kFigures[kind]);
    }
    least_ = leastToTell(run, steps_);
    result_.ranks = table_.ranks.size();
    result_.order = table_.ranks;
    result_.hosts.assign(table_.ranks.size(), trace::kRecordingHost);
    for (const trace::RankInfo& rank : ranks) {
      if (const auto index = table_.indexOf(rank.rank)) {
        result_.hosts[*index] = rank.host;
      }
    }
  }

  RankLikeness compare() && {
    std::vector<One> ones;
    for (std::size_t rank = 0; rank < result_.ranks; ++rank) {
      if (auto one = judge(rank)) {
        ones.push_back(std::move(*one));
      }
    }
    for (const Profiles& of : profiles_) {
      result_.judged =
          result_.judged || std::any_of(of.ranks.begin(), of.ranks.end(), [](const Profile& rank) {
            return rank.steps.size() >= cost::kFewestForBootstrap;
          });
    }
    classify(ones);
    tell(ones);
    return std::move(result_);
  }

 private:
  struct One {
    std::size_t rank = 0;  // index
    UnlikeRanks unlike;
  };

  [[nodiscard]] const Profile& profile(Unlikeness kind, std::size_t rank) const {
    return profiles_[at(kind)].ranks[rank];
  }

  /// Whether an excess is beyond chance and beyond its peers, by Note [Ranks unlike the rest].
  [[nodiscard]] bool tells(Unlikeness kind, std::size_t rank) const {
    const Profile& of = profile(kind, rank);
    if (table_.ranks.size() < kFewestForSpread ||
        of.mean <= std::max(least_, kSpreads * profiles_[at(kind)].spread)) {
      return false;
    }
    constexpr double kFiguresJudged = 2;
    const auto interval = cost::meanInterval(
        of.excess,
        cost::kAccusedByChance / (kFiguresJudged * static_cast<double>(table_.ranks.size())));
    return interval && interval->low > least_;
  }

  [[nodiscard]] std::optional<One> judge(std::size_t rank) const {
    std::optional<Unlikeness> kind;
    for (const Unlikeness of : {Unlikeness::kComputing, Unlikeness::kTransfer}) {
      if (tells(of, rank) && (!kind || profile(of, rank).mean > profile(*kind, rank).mean)) {
        kind = of;
      }
    }
    if (!kind && run_.isLate(table_.ranks[rank])) {
      const double late = profile(Unlikeness::kLate, rank).mean;
      kind = Unlikeness::kLate;
      for (const Unlikeness of : {Unlikeness::kComputing, Unlikeness::kTransfer}) {
        // More than any other, too, or it is no reason for this rank alone to be late.
        const double excess = profile(of, rank).mean;
        if (excess >= kExplains * late && excess > kSpreads * profiles_[at(of)].spread &&
            (*kind == Unlikeness::kLate || excess > profile(*kind, rank).mean)) {
          kind = of;
        }
      }
    }
    if (!kind) {
      return std::nullopt;
    }
    const Profile& of = profile(*kind, rank);
    // How late it is, is said everywhere by the same figure.
    const auto late = std::find_if(
        run_.lateness.begin(), run_.lateness.end(),
        [&](const analysis::RankLateness& one) { return one.rank == table_.ranks[rank]; });
    const double ms = *kind == Unlikeness::kLate ? late->meanMs : of.mean;
    const double middle = profiles_[at(*kind)].middle;
    One one{rank, {{table_.ranks[rank]}, std::nullopt, 0, *kind, ms, 0, std::nullopt, 0}};
    one.unlike.ratio = middle > 0 ? of.own / middle : 0;
    one.unlike.period = periodOf(of.steps, of.excess);
    if (one.unlike.period) {
      const Period& period = *one.unlike.period;
      std::size_t strikes = 0;
      for (std::size_t i = 0; i < of.steps.size(); ++i) {
        if (of.steps[i] >= period.first && (of.steps[i] - period.first) % period.every == 0) {
          one.unlike.strikeMs += of.excess[i];
          ++strikes;
        }
      }
      one.unlike.strikeMs /= static_cast<double>(strikes);
    }
    return one;
  }

  /// The middle of all is no rank's own: what its distance is measured by, in each figure.
  [[nodiscard]] double tolerance(std::size_t kind) const {
    return std::max(least_, kSpreads * profiles_[kind].spread);
  }

  [[nodiscard]] bool alike(std::size_t a, std::size_t b) const {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      const auto& ranks = profiles_[kind].ranks;
      if (std::abs(ranks[a].mean - ranks[b].mean) > tolerance(kind)) {
        return false;
      }
    }
    return true;
  }

  /// How far a rank is from the middle of all, in what is told of a rank: 1 and less is typical.
  [[nodiscard]] double distance(std::size_t rank) const {
    double most = 0;
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      most = std::max(most, std::abs(profiles_[kind].ranks[rank].mean) / tolerance(kind));
    }
    return most;
  }

  // Each class is led by the first of its ranks: a rank joins the first leader that it is like. The
  // typical ones are led by the middle of all.
  void classify(const std::vector<One>& ones) {
    std::vector<const One*> unlikeAt(result_.ranks, nullptr);
    for (const One& one : ones) {
      unlikeAt[one.rank] = &one;
    }
    std::vector<std::size_t> leaders;
    result_.classes.emplace_back();
    for (std::size_t rank = 0; rank < result_.ranks; ++rank) {
      const One* one = unlikeAt[rank];
      const double away = distance(rank);
      if (one == nullptr && away <= 1) {
        result_.classes.front().ranks.push_back(table_.ranks[rank]);
        if (!result_.middle || away < distance(*table_.indexOf(*result_.middle))) {
          result_.middle = table_.ranks[rank];
        }
        continue;
      }
      const auto leader = std::find_if(leaders.begin(), leaders.end(), [&](std::size_t other) {
        const One* led = unlikeAt[other];
        const bool sameWay = (led == nullptr) == (one == nullptr) &&
                             (one == nullptr || (led->unlike.kind == one->unlike.kind &&
                                                 everyOf(led->unlike) == everyOf(one->unlike)));
        return sameWay && alike(other, rank);
      });
      if (leader == leaders.end()) {
        leaders.push_back(rank);
        result_.classes.push_back({{table_.ranks[rank]}, one != nullptr});
      } else {
        result_.classes[static_cast<std::size_t>(leader - leaders.begin()) + 1].ranks.push_back(
            table_.ranks[rank]);
      }
    }
    if (result_.classes.front().ranks.empty()) {
      result_.classes.erase(result_.classes.begin());
      std::stable_sort(result_.classes.begin(), result_.classes.end(), largerFirst);
    } else {
      std::stable_sort(result_.classes.begin() + 1, result_.classes.end(), largerFirst);
    }
  }

  static bool largerFirst(const AlikeRanks& a, const AlikeRanks& b) {
    return a.ranks.size() > b.ranks.size();
  }
  static std::uint32_t everyOf(const UnlikeRanks& unlike) {
    return unlike.period ? unlike.period->every : 0;
  }

  /// Puts those of a host together where it is the host's, and the largest first.
  void tell(const std::vector<One>& ones) {
    std::map<int, int> hostOf;
    for (std::size_t rank = 0; rank < result_.ranks; ++rank) {
      hostOf[table_.ranks[rank]] = result_.hosts[rank];
    }
    for (std::size_t i = 0; i < kKinds; ++i) {
      const auto kind = static_cast<Unlikeness>(i);
      std::map<int, const UnlikeRanks*> told;
      std::vector<int> ranks;
      for (const One& one : ones) {
        if (one.unlike.kind == kind) {
          told[one.unlike.ranks.front()] = &one.unlike;
          ranks.push_back(one.unlike.ranks.front());
        }
      }
      for (StruckHost& host : struckHosts(ranks, hostOf, hosts_)) {
        UnlikeRanks all{{}, std::move(host.name), host.size, kind, 0, 0, std::nullopt, 0};
        const auto share = static_cast<double>(host.ranks.size());
        for (const int rank : host.ranks) {
          all.ms += told[rank]->ms / share;
          all.ratio += told[rank]->ratio / share;
          told.erase(rank);
        }
        all.ranks = std::move(host.ranks);
        result_.unlike.push_back(std::move(all));
      }
      for (const auto& [rank, one] : told) {
        result_.unlike.push_back(*one);
      }
    }
    std::stable_sort(result_.unlike.begin(), result_.unlike.end(),
                     [](const UnlikeRanks& a, const UnlikeRanks& b) { return a.ms > b.ms; });
  }

  const analysis::RunAnalysis& run_;
  const std::vector<trace::HostState>& hosts_;
  analysis::StepRange steps_;
  Landscape table_;
  std::array<Profiles, kKinds> profiles_;
  double least_ = 0;
  RankLikeness result_;
};

}  // namespace

std::string_view name(Unlikeness kind) {
  switch (kind) {
    case Unlikeness::kComputing:
      return "computing";
    case Unlikeness::kTransfer:
      return "transfer";
    case Unlikeness::kLate:
      break;
  }
  return "late";
}

bool RankLikeness::isUnlike(int rank) const {
  return std::any_of(unlike.begin(), unlike.end(), [rank](const UnlikeRanks& of) {
    return std::binary_search(of.ranks.begin(), of.ranks.end(), rank);
  });
}

std::vector<int> RankLikeness::outliers() const {
  std::vector<int> ranks;
  for (const UnlikeRanks& of : unlike) {
    for (const int rank : of.ranks) {
      if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) {
        ranks.push_back(rank);
      }
    }
  }
  return ranks;
}

std::optional<int> RankLikeness::neighbourOf(int rank) const {
  const auto own = std::lower_bound(order.begin(), order.end(), rank);
  if (own == order.end() || classes.empty()) {
    return std::nullopt;
  }
  const auto hostOf = [this](int of) {
    return hosts[static_cast<std::size_t>(std::lower_bound(order.begin(), order.end(), of) -
                                          order.begin())];
  };
  std::optional<int> best;
  const auto away = [&](int other) {
    return std::pair(hostOf(other) != hostOf(rank), std::abs(other - rank));
  };
  for (const int other : classes.front().ranks) {
    if (other != rank && (!best || away(other) < away(*best))) {
      best = other;
    }
  }
  return best;
}

std::vector<int> RankLikeness::besides(int rank) const {
  std::vector<int> shown{rank};
  for (const std::optional<int>& other : {neighbourOf(rank), middle}) {
    if (other && std::find(shown.begin(), shown.end(), *other) == shown.end()) {
      shown.push_back(*other);
    }
  }
  return shown;
}

RankLikeness rankLikeness(const analysis::RunAnalysis& run,
                          const std::vector<trace::RankInfo>& ranks,
                          const std::vector<trace::HostState>& hosts) {
  return Comparison(run, ranks, hosts).compare();
}

}  // namespace lockstep::diagnosis
