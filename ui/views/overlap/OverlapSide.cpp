#include <algorithm>
#include <array>

#include "ui/canvas/TextMetrics.h"
#include "ui/model/Format.h"
#include "ui/model/Terms.h"
#include "ui/views/overlap/OverlapScene.h"
#include "ui/views/overlap/OverlapWords.h"

// What stands beside the bars: causes, bounds, cards.
namespace lockstep::ui {

namespace {

constexpr double kLadderTitle = 28;
constexpr double kRung = 20;
constexpr int kRungs = 4;
constexpr double kWordsBelow = kLadderTitle + kRungs * kRung + 4;  // from the top of the ladder
constexpr double kWordsLine = 15;
constexpr double kReasonWords = 28;  // from the top of a cause
constexpr double kBelowReason = 4;

QString causeName(analysis::TailCause cause) {
  const std::string_view name = analysis::name(cause);
  return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

}  // namespace

const OverlapContent::Rank* OverlapScene::ladderRank() const {
  // Without a transfer, or before anything is measured, the ladder has nothing to say.
  const auto told = [](const OverlapContent::Rank* rank) {
    return rank != nullptr && rank->measured && rank->measured->exposedMs ? rank : nullptr;
  };
  if (frame_.rank) {
    return told(content_.rank(*frame_.rank));
  }
  // The slowest rank sets the pace of all.
  const OverlapContent::Rank* slowest = nullptr;
  for (const OverlapContent::Rank& rank : content_.ranks) {
    if (rank.measured &&
        (slowest == nullptr || rank.measured->stepMs > slowest->measured->stepMs)) {
      slowest = &rank;
    }
  }
  return told(slowest);
}

double OverlapScene::reasonHeight(const analysis::TailReason& reason, double width) {
  const QStringList lines = brokenInto(QString::fromStdString(analysis::explanation(reason.mean)),
                                       width, FontRole::kSmall);
  return kReasonWords + kWordsLine * static_cast<double>(lines.size()) + kBelowReason;
}

double OverlapScene::ladderHeight(double width) const {
  const OverlapContent::Rank* rank = ladderRank();
  const QStringList lines = rank == nullptr ? QStringList()
                                            : brokenInto(overlap_words::verdict(*rank->measured),
                                                         width, FontRole::kSmall);
  return kWordsBelow + kWordsLine * static_cast<double>(lines.size() + 1);
}

void OverlapScene::drawSide(DisplayList& list) const {
  if (side_.isEmpty()) {
    return;
  }
  const bool beside = side_.left() > 0;
  list.fill(side_, palette_.surface);
  list.fill(beside ? QRectF(side_.left(), side_.top(), 1, side_.height())
                   : QRectF(side_.left(), side_.top(), side_.width(), 1),
            palette_.gridStrong);
  list.title(QRectF(side_.left() + 14, side_.top() + 6, side_.width() - 28, 22),
             overlap_words::reasonsTitle(content_, frame_.rank), palette_);
  for (const ReasonBox& box : reasons_) {
    drawReason(list, box);
  }
  if (reasonsLeftOut_ > 0) {
    list.note(leftOut_, QStringLiteral("and %1 more with less effect").arg(reasonsLeftOut_),
              palette_);
  }
  drawLadder(list);
}

void OverlapScene::drawReason(DisplayList& list, const ReasonBox& box) const {
  const analysis::TailReason& reason = content_.reasonsOf(frame_.rank)[box.index];
  const QRectF rect = box.rect.adjusted(0, 1, 0, -3);
  if (frame_.pointer && box.rect.contains(*frame_.pointer)) {
    list.fill(rect.adjusted(-6, 0, 6, 0), palette_.raised, 4);
  }
  // A cause has the colour of the part of the bars that its time lies in.
  const bool waiting = reason.mean.cause == analysis::TailCause::kLateRank ||
                       reason.mean.cause == analysis::TailCause::kUnevenRanks;
  const bool undivided = reason.mean.cause == analysis::TailCause::kUnknown ||
                         reason.mean.cause == analysis::TailCause::kCopies;
  const bool noCore = reason.mean.cause == analysis::TailCause::kNoCore;
  const OverlapPart part = waiting     ? OverlapPart::kWaiting
                           : undivided ? OverlapPart::kUndivided
                           : noCore    ? OverlapPart::kNoCore
                                       : OverlapPart::kTransfer;
  const double whole = rect.width();
  list.title(QRectF(rect.left(), rect.top(), whole * 0.6, 17),
             QString::fromStdString(analysis::title(reason.mean)), palette_);
  list.text(QRectF(rect.left() + whole * 0.5, rect.top(), whole * 0.5, 17),
            QStringLiteral("%1  ·  %2")
                .arg(formatMs(reason.mean.ms), formatPercent(reason.share * 100, 0)),
            palette_.text, FontRole::kNormal, kToTheRight);
  const QRectF bar(rect.left(), rect.top() + 19, std::max(2.0, whole * reason.share), 6);
  list.fill(QRectF(bar.left(), bar.top(), whole, bar.height()), palette_.grid, 2);
  drawSwatch(list, bar, swatchOf(part, palette_));
  const auto room = static_cast<qsizetype>((box.rect.height() - kReasonWords) / kWordsLine);
  const QStringList lines = brokenInto(QString::fromStdString(analysis::explanation(reason.mean)),
                                       whole, FontRole::kSmall, room);
  list.lines(QRectF(rect.left(), box.rect.top() + kReasonWords, whole, kWordsLine), lines,
             palette_.textMuted);
}

// The step as it is and as it could be, one under the other.
// From the top, with the figures of Note [Headroom] in engine/analysis:
//
//   no overlap        the step, and on top of it what is hidden now
//   measured          the step
//   perfect overlap   all of the headroom used: what is left is what the backward cannot hide
//   no transfer       the step less its exposed transfer: the noop bound
void OverlapScene::drawLadder(DisplayList& list) const {
  const OverlapContent::Rank* rank = ladder_.isEmpty() ? nullptr : ladderRank();
  if (rank == nullptr) {
    return;
  }
  const analysis::RankOverlap& of = *rank->measured;
  list.title(QRectF(ladder_.left(), ladder_.top() + 4, ladder_.width(), 20),
             QStringLiteral("What overlap gives rank %1").arg(rank->rank), palette_);
  struct Rung {
    QString name;
    std::optional<double> ms;
    QColor colour;
  };
  // From the slowest that this rank could be to the fastest: without overlap what is hidden now
  // would come on top of the step.
  const std::array<Rung, kRungs> rungs{
      {{QStringLiteral("no overlap"),
        of.hiddenMs ? std::optional(of.stepMs + *of.hiddenMs) : std::nullopt, palette_.textMuted},
       {QStringLiteral("measured"), of.stepMs, palette_.text},
       {QStringLiteral("perfect overlap"), of.perfectMs, palette_.measure},
       {QStringLiteral("no transfer"), of.noopMs, palette_.good}}};
  double longest = of.stepMs;
  for (const Rung& rung : rungs) {
    longest = std::max(longest, rung.ms.value_or(0));
  }
  constexpr double kName = 116;
  constexpr double kValue = 62;
  double y = ladder_.top() + kLadderTitle;
  for (const Rung& rung : rungs) {
    const double room = ladder_.width() - kName - kValue;
    list.note(QRectF(ladder_.left(), y, kName, 18), rung.name, palette_);
    if (rung.ms) {
      const QRectF bar(ladder_.left() + kName, y + 4, std::max(1.0, room * *rung.ms / longest), 10);
      list.fill(bar, mixed(rung.colour, palette_.surface, 0.55), 2);
      list.fill(QRectF(bar.right() - 2, bar.top() - 2, 2, 14), rung.colour);
    }
    list.label(QRectF(ladder_.right() - kValue, y, kValue, 18),
               rung.ms ? formatMs(*rung.ms) : QStringLiteral("unknown"), palette_, kToTheRight);
    y += kRung;
  }
  const auto room =
      static_cast<qsizetype>(std::max(1.0, (ladder_.height() - kWordsBelow) / kWordsLine));
  // Elided where there is no room: all of it stands in the card.
  const QStringList lines =
      brokenInto(overlap_words::verdict(of), ladder_.width(), FontRole::kSmall, room);
  list.lines(QRectF(ladder_.left(), ladder_.top() + kWordsBelow, ladder_.width(), kWordsLine),
             lines, palette_.textMuted);
}

void OverlapScene::drawHover(DisplayList& list) const {
  if (const auto card = frame_.pointer ? cardAt(*frame_.pointer) : std::nullopt) {
    drawCard(list, frame_.size, *frame_.pointer, *card, palette_);
  }
}

std::optional<Card> OverlapScene::cardAt(QPointF at) const {
  // Causes lie over everything else; each place has one card.
  if (const auto index = reasonAt(at)) {
    return reasonCard(content_.reasonsOf(frame_.rank)[*index]);
  }
  if (const OverlapContent::Rank* rank = ladderRank(); rank != nullptr && ladder_.contains(at)) {
    return Card{QStringLiteral("What overlap gives rank %1").arg(rank->rank),
                {},
                {},
                {overlap_words::verdict(*rank->measured)}};
  }
  // Rows are scrolled: only what is in sight can be under the pointer.
  const double number = stepOf(at.x());
  if (number >= 0 && charts_.contains(at) && spread_.plot.contains(at)) {
    const auto bar = spreadAt(static_cast<std::uint32_t>(number));
    return bar ? std::optional(spreadCard(*bar)) : std::nullopt;
  }
  for (const Row& row : rows_) {
    if (!charts_.contains(at)) {
      continue;
    }
    if (row.plot.contains(at) && number >= 0) {
      const auto bar = barAt(row, static_cast<std::uint32_t>(number));
      return bar ? std::optional(stepCard(row, *bar)) : std::nullopt;
    }
    if (row.label.contains(at)) {
      return rankCard(row);
    }
  }
  return std::nullopt;
}

QString OverlapScene::headingAt(QPointF position) const {
  if (const auto index = reasonAt(position)) {
    return causeName(content_.reasonsOf(frame_.rank)[*index].mean.cause);
  }
  return ladder_.contains(position) ? QStringLiteral("headroom") : QStringLiteral("exposed time");
}

Card OverlapScene::stepCard(const Row& row, const Bar& bar) const {
  const bool one = bar.begin + 1 == bar.end;
  const QString title =
      one ? QStringLiteral("rank %1, iteration %2").arg(row.rank->rank).arg(bar.first)
          : QStringLiteral("rank %1, iterations %2 to %3 (mean)")
                .arg(row.rank->rank)
                .arg(bar.first)
                .arg(bar.last);
  std::vector<CardLine> lines{{QStringLiteral("step"), formatMs(bar.wholeMs)}};
  // From the top of the bar down, as the eye reads it.
  for (int i = kOverlapParts - 1; i >= 0; --i) {
    const auto part = static_cast<OverlapPart>(i);
    if (const double ms = bar.parts[static_cast<std::size_t>(i)]; ms > 0) {
      lines.push_back({nameOf(part), formatMs(ms), barSwatchOf(part)});
    }
  }
  QStringList sentences;
  if (one) {
    const analysis::StepOverlap& step = row.rank->steps[bar.begin];
    if (step.times.overlapPercent) {
      lines.push_back({QStringLiteral("overlap"), formatPercent(*step.times.overlapPercent)});
    }
    // Worth a sentence from a twentieth of the step on.
    if (step.idleMs > 0.05 * step.times.stepMs) {
      sentences << QStringLiteral(
                       "Idle for %1, in \"other\": the step waits for a bucket and "
                       "nothing is in flight, but a hook works or threads are not woken.")
                       .arg(formatMs(step.idleMs));
    }
    if (!step.tail.empty()) {
      sentences << overlap_words::causeOf(step) + QStringLiteral(": ") +
                       QString::fromStdString(analysis::explanation(step.tail.front()));
    }
    if (step.times.incomplete) {
      sentences << QStringLiteral("Events were dropped here: the figures may be wrong.");
    }
  }
  return {title, {}, lines, sentences};
}

Card OverlapScene::rankCard(const Row& row) {
  std::vector<CardLine> lines;
  const auto add = [&](const char* name, const std::optional<double>& measured,
                       const std::optional<double>& all, bool percent) {
    const auto text = [&](const std::optional<double>& value) {
      return !value ? QStringLiteral("none") : percent ? formatPercent(*value) : formatMs(*value);
    };
    lines.push_back(
        {QString::fromLatin1(name), QStringLiteral("%1   (%2)").arg(text(measured), text(all))});
  };
  if (row.rank->measured && row.rank->all) {
    const analysis::RankOverlap& of = *row.rank->measured;
    const analysis::RankOverlap& all = *row.rank->all;
    add("step", of.stepMs, all.stepMs, false);
    add("in flight", of.inFlightMs, all.inFlightMs, false);
    add("overlap", of.overlapPercent, all.overlapPercent, true);
    add("exposed", of.exposedMs, all.exposedMs, false);
    add("exposed, waiting", of.waitingMs, all.waitingMs, false);
    add("exposed, transfer", of.transferMs, all.transferMs, false);
    add("idle", of.idleMs, all.idleMs, false);
    add("noop bound", of.noopMs, all.noopMs, false);
    add("headroom", of.headroomMs, all.headroomMs, false);
  }
  return {QStringLiteral("rank %1: medians (with warm-up)").arg(row.rank->rank),
          {},
          lines,
          overlap_words::meaningOf(*row.rank)};
}

Card OverlapScene::reasonCard(const analysis::TailReason& reason) {
  Card card{QString::fromStdString(analysis::title(reason.mean)),
            {},
            {{QStringLiteral("a step, mean"), formatMs(reason.mean.ms)},
             {QStringLiteral("of the exposed time"), formatPercent(reason.share * 100)},
             {QStringLiteral("iterations"), QString::number(reason.steps)},
             {QStringLiteral("worst"), QStringLiteral("%1, rank %2, iteration %3")
                                           .arg(formatMs(reason.worst.ms))
                                           .arg(reason.worst.rank)
                                           .arg(reason.worst.step)}},
            {QString::fromStdString(analysis::explanation(reason.mean)),
             QStringLiteral("A click selects the worst of them.")}};
  if (const QString meaning = meaningOf(causeName(reason.mean.cause)); !meaning.isEmpty()) {
    card.sentences << meaning;
  }
  return card;
}

}  // namespace lockstep::ui
