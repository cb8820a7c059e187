#include <algorithm>

#include "ui/model/Format.h"
#include "ui/views/divergence/ParameterScene.h"
#include "ui/views/divergence/StripScene.h"

// What the replicas are, in words: the verdict over the heat map, and the facts of a cell.
namespace lockstep::ui {
namespace {

QString losses(const analysis::Divergence& divergence) {
  const auto& bad = divergence.firstBadLoss;
  return bad ? QStringLiteral("The loss of rank %1 was no finite number, first in iteration %2. ")
                   .arg(bad->rank)
                   .arg(bad->step)
             : QString();
}

QString findings(const analysis::Divergence& divergence) {
  if (divergence.findings.empty()) {
    return {};
  }
  const analysis::SanityFinding& first = divergence.findings.front();
  return QStringLiteral("Gradients of rank %1 held %2 in iteration %3, before they were averaged. ")
      .arg(first.rank)
      .arg(first.nans > 0 ? QStringLiteral("NaN") : QStringLiteral("Inf"))
      .arg(first.step);
}

QString cost(const analysis::Divergence& divergence) {
  if (!divergence.cost) {
    return {};
  }
  return QStringLiteral("Sampling took %1 of the step time.")
      .arg(formatPercent(
          divergence.cost->fingerprintPercent + divergence.cost->gradientCheckPercent, 2));
}

QString lost(const DivergenceFacts& facts) {
  const auto& lost = facts.divergence.lost;
  return lost ? QStringLiteral(
                    "%1 of rank %2 held numbers that are not finite, first seen at "
                    "iteration %3. ")
                    .arg(nameOfParameter(facts, lost->parameter))
                    .arg(lost->rank)
                    .arg(lost->step)
              : QString();
}

/// How far the replicas were from their mean when all of them were last measured.
QString distance(const analysis::Divergence& divergence) {
  const analysis::ConsensusSample* const last = divergence.lastOfAll();
  if (last == nullptr) {
    return {};
  }
  // A spread of 0 is exact (Note [Replicas]); any other is known as well as sketches are.
  return last->spread == 0
             ? QStringLiteral("At iteration %1 they were equal again. ").arg(last->step)
             : QStringLiteral(
                   "At iteration %1 they were %2 from their mean (Euclidean, root mean square over "
                   "ranks; ± %3 %). ")
                   .arg(last->step)
                   .arg(formatValue(last->spread))
                   .arg(100 * divergence.consensusRelativeError, 0, 'f', 0);
}

Verdict drifting(const DivergenceFacts& facts, const analysis::FirstDifference& first) {
  Verdict verdict;
  verdict.kind = Verdict::Kind::kDrift;
  verdict.title = facts.hook.isEmpty()
                      ? QStringLiteral("Replicas drift by design")
                      : QStringLiteral("Replicas drift by design of hook %1").arg(facts.hook);
  verdict.more = QStringLiteral("First seen apart at iteration %1. ").arg(first.step) +
                 distance(facts.divergence);
  return verdict;
}

/// The first iteration of which something is known to be no finite number.
std::uint32_t firstUnsound(const analysis::Divergence& divergence) {
  std::uint32_t first = ~std::uint32_t{0};
  if (!divergence.findings.empty()) {
    first = divergence.findings.front().step;
  }
  if (divergence.firstBadLoss) {
    first = std::min(first, divergence.firstBadLoss->step);
  }
  return divergence.lost ? std::min(first, divergence.lost->step) : first;
}

Verdict differing(const DivergenceFacts& facts, const analysis::FirstDifference& first) {
  Verdict verdict;
  verdict.kind = Verdict::Kind::kDiffer;
  verdict.title = QStringLiteral("Replicas differ, first seen at iteration %1").arg(first.step);
  QString where = nameOfParameter(facts, first.parameter);
  if (first.parametersDiffering > 1) {
    where += QStringLiteral(" and %1 more").arg(first.parametersDiffering - 1);
  }
  // Without a majority either side may be wrong, so both are named.
  std::vector<int> others;
  for (const int rank : facts.divergence.replicas.ranks) {
    if (std::find(first.ranks.begin(), first.ranks.end(), rank) == first.ranks.end()) {
      others.push_back(rank);
    }
  }
  const QString who =
      first.majority
          ? QStringLiteral("on %1 against the majority").arg(formatRanks(first.ranks))
          : QStringLiteral("on %1 against %2; which of them is wrong the hashes cannot tell")
                .arg(formatRanks(first.ranks), formatRanks(others));
  verdict.more = where + QLatin1Char(' ') + who + QStringLiteral(". ");
  if (first.lastEqualStep) {
    verdict.more += QStringLiteral("Last seen equal at iteration %1. ").arg(*first.lastEqualStep);
  }
  return verdict;
}

}  // namespace

// Note [The verdict on replicas]
//
// The first of these that holds:
//
//    ranks differ, and the hook lets replicas drift      kDrift     how far apart, and no alarm
//    ranks differ                                        kDiffer    where, who, and since when
//    every whole sample is equal                         kEqual     over how many iterations
//    samples are equal, none of them of all ranks        kUnknown   equal as far as is known
//    nothing to compare                                  kUnknown   why, and how to record it
//
// Then, unless ranks differ against their hook: a loss, gradient or parameter that is no finite
// number makes it kUnsound, for equal bits of NaN are no health. What was found before becomes the
// second sentence. Findings, losses and the cost of sampling are added in every case.
Verdict verdictOf(const DivergenceFacts& facts) {
  const analysis::Divergence& divergence = facts.divergence;
  const analysis::ReplicaMatrix& replicas = divergence.replicas;
  const std::vector<std::uint32_t> whole = replicas.wholeSteps();
  Verdict verdict;
  if (divergence.first) {
    verdict =
        facts.drifts ? drifting(facts, *divergence.first) : differing(facts, *divergence.first);
  } else if (!whole.empty() && replicas.ranks.size() > 1) {
    // Equal bits that are not finite prove nothing, so iterations are counted up to there.
    const std::uint32_t last =
        divergence.lost ? std::min(divergence.lost->step, whole.back()) : whole.back();
    const std::uint32_t iterations = last - std::min(last, whole.front());
    verdict.kind = Verdict::Kind::kEqual;
    verdict.title = QStringLiteral("All ranks equal for %1")
                        .arg(formatCounted(std::max<std::uint32_t>(iterations, 1), "iteration"));
    verdict.more = QStringLiteral("%1 parameters hashed on %2 ranks at %3 iterations. ")
                       .arg(formatCount(replicas.parameters))
                       .arg(replicas.ranks.size())
                       .arg(formatCount(whole.size()));
  } else if (divergence.compared()) {
    verdict.title = QStringLiteral("No iteration was hashed on all ranks");
    verdict.more = QStringLiteral("Where two or more can be compared, they were equal. ");
  } else if (replicas.steps.empty()) {
    verdict.title = QStringLiteral("This run recorded no fingerprints");
    verdict.more =
        facts.observed
            ? QStringLiteral(
                  "Whether the replicas of this job are equal is not known: lockstep record "
                  "--check-replicas 10 compares them. ")
            : QStringLiteral(
                  "Whether its replicas are equal is not known. Set fingerprint_every = "
                  "10 under [capture] in the experiment and run it again. ");
  } else {
    verdict.title = QStringLiteral("There is nothing to compare");
    verdict.more = replicas.ranks.size() < 2
                       ? QStringLiteral("Fingerprints of one rank alone are in this run. ")
                       : QStringLiteral("No two ranks left fingerprints of one iteration. ");
  }
  // What is not finite outweighs all but a difference, which has its own verdict.
  const bool sound = divergence.findings.empty() && !divergence.firstBadLoss && !divergence.lost;
  if (!sound && verdict.kind != Verdict::Kind::kDiffer) {
    verdict.kind = Verdict::Kind::kUnsound;
    verdict.more = verdict.title + QStringLiteral(". ") + verdict.more;
    verdict.title = QStringLiteral("Not everything is a finite number, first seen at iteration %1")
                        .arg(firstUnsound(divergence));
  }
  verdict.more += findings(divergence) + losses(divergence) + lost(facts) + cost(divergence);
  return verdict;
}

QString fingerprintSetting() {
  return QStringLiteral("[capture]\nfingerprint_every = 10\ngradient_check_every = 10\n");
}

std::vector<Fact> factsBetween(const DivergenceFacts& facts, const ReplicaPlace& last) {
  const auto& steps = facts.divergence.replicas.steps;
  Facts lines;
  lines.add("Iterations",
            QStringLiteral("between samples: equal at %1, %2 at %3")
                .arg(formatCount(steps[last.sample]),
                     facts.drifts ? QStringLiteral("apart") : QStringLiteral("no more"),
                     formatCount(steps[last.sample + 1])));
  lines.add("Replicas", QStringLiteral("not known: nobody compared them here"));
  return lines;
}

std::vector<Fact> factsOf(const DivergenceFacts& facts, const ReplicaPlace& place) {
  const analysis::ReplicaMatrix& replicas = facts.divergence.replicas;
  const analysis::ReplicaCell& cell = replicas.cell(place.sample, place.parameter);
  Facts lines;
  lines.add(
      "Iteration",
      QStringLiteral("%1, before its forward").arg(formatCount(replicas.steps[place.sample])));
  QString verdict = QStringLiteral("equal on all ranks");
  if (cell.unknown()) {
    verdict = QStringLiteral("not compared: fewer than two ranks left a hash");
  } else if (cell.differing > 0 && facts.drifts) {
    verdict = QStringLiteral("apart, by design of the hook");
  } else if (cell.differing > 0) {
    verdict = formatRanks(replicas.differingRanks(place.sample, place.parameter)) +
              (cell.majority ? QStringLiteral(" against the majority")
                             : QStringLiteral(" against the others, without a majority"));
  }
  if (cell.notFinite > 0) {
    verdict += QStringLiteral(", not finite");
  }
  lines.add("Replicas", verdict);
  const double difference = normDifference(replicas, place.sample, place.parameter);
  // Equal norms are not worth a line, and below 0 they are not known.
  if (difference > 0) {
    lines.add("Norms apart", formatValue(difference * 100) + QStringLiteral(" %"));
  }
  constexpr std::size_t kRanksShown = 8;
  for (std::size_t i = 0; i < std::min(replicas.ranks.size(), kRanksShown); ++i) {
    const std::size_t at = replicas.at(place.sample, place.parameter, i);
    const bool absent = replicas.classes[at] == analysis::ReplicaMatrix::kAbsent;
    const QString norm = replicas.norms[at] < 0
                             ? QStringLiteral("no finite norm")
                             : QStringLiteral("norm ") + formatValue(replicas.norms[at]);
    lines.push_back({QStringLiteral("Rank %1").arg(replicas.ranks[i]),
                     absent ? QStringLiteral("no record")
                            : QStringLiteral("%1, hash %2")
                                  .arg(norm)
                                  .arg(replicas.hashes[at], 16, 16, QLatin1Char('0'))});
  }
  if (replicas.ranks.size() > kRanksShown) {
    lines.push_back({QString(), QStringLiteral("and %1").arg(formatCounted(
                                    replicas.ranks.size() - kRanksShown, "more rank"))});
  }
  return lines;
}

}  // namespace lockstep::ui
