#include "ui/views/timeline/layers/RanksLayer.h"

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Card.h"
#include "ui/model/Format.h"
#include "ui/model/HostWords.h"
#include "ui/model/SpanFacts.h"

namespace lockstep::ui {
namespace {

using namespace timeline_metrics;

const QString kBetweenFacts = QStringLiteral(" · ");

// What became of a rank. Nobody was left to write that down when the recorder died, and one that
// died is worth its last words: "ended by SIGKILL in iteration 70, 81.3 ms into forward".
QString stateOf(const RunModel& model, const trace::RankInfo& info) {
  const bool over = info.exitCode.has_value() || info.signal != 0;
  if (model.info().state == trace::RunState::kRecorderDied && !over) {
    return QStringLiteral("its end was not recorded");
  }
  if (info.lastWords.empty()) {
    return QString::fromStdString(info.state);
  }
  QString words = QString::fromStdString(info.lastWords).simplified();
  for (const QString& opening :
       {QStringLiteral("rank %1 was ").arg(info.rank), QStringLiteral("rank %1 ").arg(info.rank)}) {
    if (words.startsWith(opening)) {
      words.remove(0, opening.size());
    }
  }
  return words;
}

}  // namespace

void RanksLayer::draw(DisplayList& list) const {
  list.clip(sight_.scrolled());
  for (const auto& rank : sight_.ranksInSight()) {
    drawNames(list, rank);
    drawHeader(list, rank, sight_.yOf(rank.top));
  }
  list.unclip();
  if (sight_.headKept != nullptr) {
    list.clip(sight_.belowRuler().adjusted(0, sight_.worldKept, 0, 0));
    drawHeader(list, *sight_.headKept, sight_.headTop);
    list.unclip();
  }
}

void RanksLayer::drawNames(DisplayList& list, const TimelineLayout::RankBox& rank) const {
  const QRectF column(0, sight_.yOf(rank.top), kLabelWidth, rank.height);
  list.fill(column, palette_.surface);
  for (const auto& lane : rank.lanes) {
    // Its strip is too low for names.
    if (rank.collapsed) {
      break;
    }
    const double top = sight_.yOf(lane.top);
    if (lane.lane != rank.lanes.front().lane) {
      list.fill(QRectF(0, top, frame_.size.width(), 1), palette_.grid);
    }
    list.text(QRectF(24, top, kLabelWidth - 30, lane.height), titleOf(roleOfLane(lane.lane)),
              palette_.text, FontRole::kNormal);
  }
  list.fill(QRectF(kLabelWidth - 1, column.top(), 1, rank.height), palette_.gridStrong);
}

void RanksLayer::drawHeader(DisplayList& list, const TimelineLayout::RankBox& rank,
                            double top) const {
  const QRectF header(0, top, frame_.size.width(), kRankHeader);
  list.fill(header, palette_.raised);
  const double y = header.center().y();
  if (rank.collapsed) {
    list.polygon({{9, y - 4}, {14, y}, {9, y + 4}}, palette_.textMuted);
  } else {
    list.polygon({{7, y - 2.5}, {16, y - 2.5}, {11.5, y + 3}}, palette_.textMuted);
  }
  list.title(QRectF(24, header.top(), kLabelWidth - 28, header.height()),
             rank.pinned ? QStringLiteral("Rank %1, pinned").arg(rank.rank)
                         : QStringLiteral("Rank %1").arg(rank.rank),
             palette_);
  QStringList facts = factsOf(rank.rank);
  facts.resize(fitting(facts));
  list.note(QRectF(kLabelWidth + 8, header.top(), axis_.width() - 16, header.height()),
            facts.join(kBetweenFacts), palette_);
}

qsizetype RanksLayer::fitting(const QStringList& facts) const {
  qsizetype count = facts.size();
  while (count > 1 &&
         textWidth(facts.first(count).join(kBetweenFacts), FontRole::kSmall) > axis_.width() - 16) {
    --count;
  }
  return count;
}

void RanksLayer::drawCard(DisplayList& list, QPointF pointer) const {
  const std::optional<int> rank = headerAt(sight_, pointer);
  const QStringList facts = rank ? factsOf(*rank) : QStringList();
  const bool all = facts.isEmpty() ||
                   textWidth(facts.join(kBetweenFacts), FontRole::kSmall) <= axis_.width() - 16;
  if (!all) {
    ui::drawCard(list, frame_.size, pointer, {QStringLiteral("Rank %1").arg(*rank), {}, {}, facts},
                 palette_);
  }
}

QStringList RanksLayer::factsOf(int rank) const {
  QStringList facts;
  for (const trace::RankInfo& info : model_.ranks()) {
    if (info.rank != rank) {
      continue;
    }
    if (!info.state.empty()) {
      facts << stateOf(model_, info);
    }
    if (const trace::HostState* host = model_.hostOf(info.rank)) {
      facts << QStringLiteral("on ") + hostTitle(*host, model_.info().kind);
    }
    if (info.wireBytes > 0) {
      facts << formatBytes(info.wireBytes) + QStringLiteral(" sent");
    }
    if (info.eventsDropped > 0) {
      facts << formatCount(info.eventsDropped) + QStringLiteral(" events lost");
    }
  }
  if (const std::size_t steps = model_.stepCount(rank); steps > 0) {
    // After what became of the rank, before where it ran and what it sent.
    facts.insert(facts.isEmpty() ? 0 : 1, formatCounted(steps, "iteration"));
  }
  return facts;
}

}  // namespace lockstep::ui
