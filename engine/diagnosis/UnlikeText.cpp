#include <fmt/format.h>

#include "engine/base/NumberText.h"
#include "engine/diagnosis/UnlikeRanks.h"

namespace lockstep::diagnosis {
namespace {

/// "12.10 ms a step", or of what strikes in some steps "30.00 ms in every 10th step (step 20 is
/// one)".
std::string amountOf(const UnlikeRanks& unlike) {
  return unlike.period ? fmt::format("{} ms in every {}th step (step {} is one)",
                                     base::msText(unlike.strikeMs), unlike.period->every,
                                     unlike.period->first)
                       : base::msText(unlike.ms) + " ms a step";
}

std::string timesOf(const UnlikeRanks& unlike) {
  constexpr double kMostTold = 100;
  return unlike.period || unlike.ratio <= 1 || unlike.ratio > kMostTold
             ? ""
             : fmt::format(" ({:.2f} times)", unlike.ratio);
}

std::string subjectOf(const UnlikeRanks& unlike) {
  constexpr std::size_t kMostNamed = 8;
  return unlike.host ? fmt::format("host {} ({} of its {}: {})", *unlike.host, unlike.ranks.size(),
                                   base::countedText(unlike.ofHost, "rank"),
                                   base::numberedText("rank", unlike.ranks, kMostNamed))
                     : base::ranksText(unlike.ranks);
}

}  // namespace

std::string phraseOf(const UnlikeRanks& unlike) {
  const std::string amount = amountOf(unlike);
  switch (unlike.kind) {
    case Unlikeness::kComputing:
      return fmt::format("{} computes {} longer than the middle rank{}", subjectOf(unlike), amount,
                         timesOf(unlike));
    case Unlikeness::kTransfer:
      return fmt::format("{} transfers {} longer than the middle rank{}", subjectOf(unlike), amount,
                         timesOf(unlike));
    case Unlikeness::kLate:
      break;
  }
  return fmt::format("{} comes {} later than the others", subjectOf(unlike), amount);
}

std::string unlikeText(const RankLikeness& likeness) {
  if (likeness.ranks < 2) {
    return "there is no other rank to compare with";
  }
  if (!likeness.judged) {
    return "too few steps were measured to tell ranks apart";
  }
  const std::string all = base::countedText(likeness.ranks, "rank");
  if (likeness.unlike.empty()) {
    return fmt::format("none of {} stands out beyond chance", all);
  }
  // More than anybody reads in a line; JSON and the studio have them all.
  constexpr std::size_t kMost = 12;
  std::string text;
  std::size_t ranks = 0;
  for (std::size_t i = 0; i < likeness.unlike.size(); ++i) {
    ranks += likeness.unlike[i].ranks.size();
    if (i < kMost) {
      text += fmt::format("{}{}", i == 0 ? "" : "; ", phraseOf(likeness.unlike[i]));
    }
  }
  if (likeness.unlike.size() > kMost) {
    text += fmt::format("; and {} more", likeness.unlike.size() - kMost);
  }
  return fmt::format("{}; the other {} of {} do not stand out", text,
                     base::countText(likeness.ranks - ranks), all);
}

}  // namespace lockstep::diagnosis
