#include "ui/views/overlap/OverlapWords.h"

#include <algorithm>
#include <numeric>

#include "ui/model/Format.h"

namespace lockstep::ui::overlap_words {
namespace {

// Means over the same iterations add up to that of the exposed time.
double meanExposed(const std::vector<analysis::TailReason>& reasons) {
  return std::accumulate(reasons.begin(), reasons.end(), 0.0,
                         [](double ms, const auto& reason) { return ms + reason.mean.ms; });
}

QString whose(std::optional<int> rank) {
  return rank ? QStringLiteral("rank %1").arg(*rank) : QStringLiteral("all ranks");
}

}  // namespace

QString headline(const analysis::RunAnalysis& run) {
  using analysis::RankAnalysis;
  if (!run.overlapPercent || !run.exposedMs) {
    const bool measured = !run.ranks.empty() && run.ranks.front().stepMs;
    return measured ? QStringLiteral("Nothing was communicated in the measured iterations")
                    : QStringLiteral("No iteration after the warm-up yet");
  }
  // The least and the most of a figure over the ranks, with their names; one value where the texts
  // agree.
  const auto spread = [&](std::optional<double> RankAnalysis::*figure, auto text) {
    const RankAnalysis* least = nullptr;
    const RankAnalysis* most = nullptr;
    for (const RankAnalysis& rank : run.ranks) {
      if (const auto& value = rank.*figure) {
        least = least == nullptr || *value < *(least->*figure) ? &rank : least;
        most = most == nullptr || *value > *(most->*figure) ? &rank : most;
      }
    }
    if (least == nullptr) {
      return QString();
    }
    // Compared as texts: 82.31 % and 82.33 % are the same to the reader.
    const QString low = text(*(least->*figure));
    const QString high = text(*(most->*figure));
    return low == high ? high
                       : QStringLiteral("%1 (rank %2) to %3 (rank %4)")
                             .arg(low)
                             .arg(least->rank)
                             .arg(high)
                             .arg(most->rank);
  };
  return QStringLiteral(
             "Overlap %1 of the time in flight  ·  %2 of communication exposed a step (medians)")
      .arg(spread(&RankAnalysis::overlapPercent,
                  [](double percent) { return formatPercent(percent); }),
           spread(&RankAnalysis::exposedMs, formatMs));
}

QString medians(const OverlapContent& content, bool live) {
  std::uint32_t steps = 0;
  // The rank with most steps: others may be one behind.
  for (const auto& rank : content.ranks) {
    steps = std::max(steps, rank.measured ? rank.measured->steps : 0);
  }
  QString text =
      QStringLiteral("%1, each its median over %2%3; %4")
          .arg(formatCounted(content.ranks.size(), "rank"), formatCounted(steps, "iteration"),
               live ? QStringLiteral(" so far") : QString(),
               QString::fromStdString(content.warmUp.reason));
  if (content.incompleteSteps == 1) {
    text += QStringLiteral("; 1 left out because events were dropped in it");
  } else if (content.incompleteSteps > 0) {
    text += QStringLiteral("; %1 left out because events were dropped in them")
                .arg(content.incompleteSteps);
  }
  return text + QLatin1Char('.');
}

QStringList labelOf(const OverlapContent::Rank& rank) {
  if (!rank.measured) {
    return {QStringLiteral("warm-up only")};
  }
  const analysis::RankOverlap& of = *rank.measured;
  QStringList lines{QStringLiteral("step %1").arg(formatMs(of.stepMs))};
  if (!of.overlapPercent) {
    return lines << QStringLiteral("no communication");
  }
  lines << QStringLiteral("overlap %1").arg(formatPercent(*of.overlapPercent))
        << QStringLiteral("exposed %1").arg(formatMs(*of.exposedMs));
  return lines;
}

QStringList meaningOf(const OverlapContent::Rank& rank) {
  QStringList sentences;
  if (rank.measured) {
    sentences << verdict(*rank.measured);
  }
  sentences << QStringLiteral(
      "A click lists the causes of this rank alone, another click those of all ranks.");
  return sentences;
}

QString verdict(const analysis::RankOverlap& of) {
  if (!of.exposedMs) {
    return QStringLiteral("Nothing is in flight: without communication a step would be no faster.");
  }
  constexpr double kWorthASentence = 0.05;
  const QString faster = formatPercent(of.noopFasterPercent);
  QString text = QStringLiteral("Without any transfer there would be %1 %2 more steps a second: ")
                     .arg(!of.bottleneck   ? QStringLiteral("about")
                          : *of.bottleneck ? QStringLiteral("up to")
                                           : QStringLiteral("at most"),
                          faster);
  // Three answers: it is one, it is none, or this run cannot tell.
  if (of.bottleneck) {
    text += *of.bottleneck ? QStringLiteral("transfer is a bottleneck.")
                           : QStringLiteral("below 10 % transfer is not the bottleneck.");
  } else if (of.coreWaitMs > kWorthASentence * of.stepMs) {
    text += QStringLiteral(
                "whether that is 10 % or more, from where transfer counts as a bottleneck, cannot "
                "be told from this run, in which threads had no core for %1 a step.")
                .arg(formatMs(of.coreWaitMs));
  } else {
    text += QStringLiteral(
        "whether that is 10 % or more, from where transfer counts as a bottleneck, cannot be told "
        "from this run.");
  }
  // A late rank is no matter of transfer, so the bound above does not hold for it.
  if (of.waitingMs && *of.waitingMs > kWorthASentence * of.stepMs) {
    text += QStringLiteral(
                " It waits %1 a step for other ranks, which a faster transfer would not shorten.")
                .arg(formatMs(*of.waitingMs));
  }
  if (!of.headroomMs) {
    return text + QStringLiteral(
                      " How much overlap could hide is unknown: waiting and transfer "
                      "cannot be told apart in this run.");
  }
  text += QStringLiteral(
              " The backward can hide at most %1 (%2 of forward, backward and transfer); %3 of "
              "transfer is hidden now, under whatever phase.")
              .arg(formatMs(*of.headroomMs), formatPercent(*of.headroomPercent),
                   formatMs(*of.hiddenMs));
  return text;
}

QString reasonsTitle(const OverlapContent& content, std::optional<int> rank) {
  const auto& reasons = content.reasonsOf(rank);
  if (reasons.empty()) {
    const bool measured =
        std::any_of(content.ranks.begin(), content.ranks.end(),
                    [&](const auto& one) { return one.measured && (!rank || one.rank == *rank); });
    if (!measured) {
      return QStringLiteral("No iteration is measured yet (%1)").arg(whose(rank));
    }
    return QStringLiteral("No communication is exposed (%1)").arg(whose(rank));
  }
  return QStringLiteral("Why %1 a step are exposed (mean, %2)")
      .arg(formatMs(meanExposed(reasons)), whose(rank));
}

QString description(const OverlapContent& content) {
  QStringList parts{content.headline + QLatin1Char('.'), medians(content, false)};
  for (const auto& reason : content.reasons) {
    parts << QStringLiteral("%1: %2 a step. %3")
                 .arg(QString::fromStdString(analysis::title(reason.mean)),
                      formatMs(reason.mean.ms),
                      QString::fromStdString(analysis::explanation(reason.mean)));
  }
  for (const auto& rank : content.ranks) {
    if (rank.measured) {
      parts << QStringLiteral("Rank %1: %2. %3")
                   .arg(rank.rank)
                   .arg(labelOf(rank).join(QStringLiteral(", ")), verdict(*rank.measured));
    }
  }
  return parts.join(QLatin1Char(' '));
}

QString causeOf(const analysis::StepOverlap& step) {
  if (step.tail.empty()) {
    return {};
  }
  const analysis::TailItem& largest = step.tail.front();
  return QStringLiteral("%1, %2").arg(QString::fromStdString(analysis::title(largest)),
                                      formatMs(largest.ms));
}

QString whyNoBuckets(std::size_t ranks, bool communicates) {
  if (ranks == 1) {
    return QStringLiteral(
        "This run has one rank: it sends its buckets to nobody and waits for nobody.");
  }
  return communicates
             ? QStringLiteral(
                   "The collectives of this run belong to no gradient bucket: FSDP and jobs "
                   "without DistributedDataParallel have none.")
             : QStringLiteral(
                   "Rank by bucket appears with the first gradient bucket that the ranks "
                   "exchange.");
}

QString oneBucket() {
  return QStringLiteral(
      "All gradients are in one bucket, which can be sent only when the last of them is ready.");
}

}  // namespace lockstep::ui::overlap_words
