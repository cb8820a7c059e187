#include "ui/views/divergence/DivergencePicture.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/chart/Card.h"
#include "ui/model/Format.h"
#include "ui/model/RunTitle.h"
#include "ui/views/divergence/ParameterScene.h"
#include "ui/views/divergence/SequenceScene.h"

namespace lockstep::ui {
namespace {

constexpr double kHeading = 28;
constexpr double kCalls = SequenceScene::kHeader + 9 * SequenceScene::kRow;
constexpr double kGap = 12;

void heading(DisplayList& list, const QRectF& area, const QString& text, const Palette& palette) {
  list.fill(QRectF(area.left(), area.top(), area.width(), 1), palette.gridStrong);
  list.title(area.adjusted(12, 0, -12, 0), text, palette);
}

void drawCalls(DisplayList& list, const DivergenceFacts& facts, const QRectF& area,
               const Palette& palette) {
  const QRectF body = area.adjusted(0, kHeading, 0, 0);
  if (facts.sequences.empty()) {
    heading(list, QRectF(area.topLeft(), QSizeF(area.width(), kHeading)),
            QStringLiteral("Calls side by side"), palette);
    drawMessage(list, body, QStringLiteral("No collective was recorded"), QString(), palette.text,
                palette);
    return;
  }
  SequenceFrame frame;
  frame.size = body.size();
  frame.sequence = facts.firstMismatch.value_or(0);
  const auto& sequence = facts.sequences[frame.sequence];
  // As the tab opens: at the first mismatch, which stands in the middle.
  if (sequence.first) {
    frame.scroll = SequenceScene(facts, palette, frame).scrollTo(*sequence.first);
    // Whole lines.
    frame.scroll -= std::fmod(frame.scroll, SequenceScene::kRow);
  }
  QString text = QStringLiteral("Calls of %1. %2").arg(nameOf(sequence), summaryOf(sequence));
  const auto room =
      static_cast<std::size_t>((body.height() - SequenceScene::kHeader) / SequenceScene::kRow);
  if (sequence.rows.size() > room) {
    text += QStringLiteral(" (%1 shown)").arg(formatCount(room));
  }
  heading(list, QRectF(area.topLeft(), QSizeF(area.width(), kHeading)), text, palette);
  list.clip(body);
  list.append(drawn(SequenceScene(facts, palette, frame)), body.topLeft());
  list.unclip();
}

}  // namespace

Picture divergencePicture(const RunModel& model, std::shared_ptr<const AnalysedRun> run, QSize size,
                          Theme theme) {
  const auto facts = divergenceFacts(factsInput(model, std::move(run)));
  const Palette& palette = Palette::of(theme);
  Picture picture;
  picture.title = titleOfRun(model);

  ParameterFrame top;
  top.firstStep = facts->firstStep;
  top.endStep = facts->lastStep + 1.0;
  top.size = QSizeF(size.width(), 0);
  const double wanted = ParameterScene(*facts, palette, top).comfortableHeight();
  const double below = kHeading + kCalls;
  picture.size = QSizeF(size.width(),
                        size.height() > 0 ? size.height() : kPictureHead + wanted + kGap + below);
  const double rest = picture.size.height() - kPictureHead - kGap;
  // Room that the top does not need goes to the calls.
  const double least = std::min(below, rest * 0.45);
  top.size.setHeight(std::min(wanted + 6, rest - least));

  DisplayList& list = picture.list;
  drawPictureHead(picture,
                  QStringLiteral("%1 ranks  ·  %2 iterations")
                      .arg(model.rankCount())
                      .arg(formatCount(model.stepCount(0))),
                  palette);
  list.append(drawn(ParameterScene(*facts, palette, top)), QPointF(0, kPictureHead));

  const double y = kPictureHead + top.size.height() + kGap;
  const double height = picture.size.height() - y;
  drawCalls(list, *facts, QRectF(0, y, picture.size.width(), height), palette);
  return picture;
}

}  // namespace lockstep::ui
