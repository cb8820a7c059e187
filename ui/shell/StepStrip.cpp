#include "ui/shell/StepStrip.h"

#include <QPainter>
#include <QPushButton>

#include "ui/model/Format.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/shell/Icons.h"

namespace lockstep::ui {
namespace {

constexpr int kTickMs = 100;
constexpr int kMark = 18;
constexpr int kMargin = 14;

}  // namespace

StepStrip::StepStrip(QWidget* parent)
    : QWidget(parent),
      cancel_(named(new QPushButton(tr("Cancel")), "cancelRun", {}, tr("Stop this run"))) {
  setObjectName("stepStrip");
  setAccessibleName(tr("Start-up of the run"));
  setFixedHeight(fontMetrics().height() * 2 + 18);
  fill(this, inRow({Part::rest(), cancel_}), {kMargin, 0, 8, 0});
  connect(cancel_, &QPushButton::clicked, this, &StepStrip::cancelRequested);
  tick_.setInterval(kTickMs);
  connect(&tick_, &QTimer::timeout, this, qOverload<>(&QWidget::update));
  hide();
}

void StepStrip::begin(trace::RunKind kind) {
  progress_ = kind == trace::RunKind::kObserved ? startOfJob() : startupProgress(nullptr);
  activeSince_.start();
  tick_.start();
  show();
  update();
}

void StepStrip::setProgress(StartupProgress progress) {
  if (progress.active() != progress_.active()) {
    activeSince_.start();
  }
  progress_ = std::move(progress);
  update();
}

void StepStrip::end() {
  tick_.stop();
  hide();
}

void StepStrip::paintEvent(QPaintEvent* /*event*/) {
  const Palette& colors = currentPalette();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  painter.fillRect(QRect(0, height() - 1, width(), 1), colors.gridStrong);

  QFont small = font();
  small.setPointSizeF(small.pointSizeF() * 0.9);
  const std::size_t active = progress_.active();
  const int textTop = (height() - fontMetrics().height() * 2) / 2;
  int x = kMargin;
  for (std::size_t i = 0; i < progress_.stages.size(); ++i) {
    const auto& stage = progress_.stages[i];
    const QRect mark(x, (height() - kMark) / 2, kMark, kMark);
    if (stage.done) {
      icon(Glyph::kCheck).paint(&painter, mark);
    } else {
      painter.setPen(QPen(i == active ? currentAccent() : colors.gridStrong, 2));
      painter.setBrush(Qt::NoBrush);
      painter.drawEllipse(QRectF(mark).adjusted(3, 3, -3, -3));
      if (i == active) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(currentAccent());
        painter.drawEllipse(QRectF(mark).adjusted(6, 6, -6, -6));
      }
    }
    QString below;
    if (stage.done) {
      below = stage.seconds > 0 ? formatDuration(stage.seconds * 1e9) : QString();
    } else if (i == active) {
      below = formatMs(static_cast<double>(activeSince_.elapsed()));
      if (progress_.ranks > 1) {
        below += tr(" · %1 of %2").arg(stage.ranksDone).arg(progress_.ranks);
      }
    }
    const QFontMetrics smallMetrics(small);
    // Room for what the line below may grow to, so that marks stand still while it counts.
    const int width = qMax(fontMetrics().horizontalAdvance(stage.name),
                           smallMetrics.horizontalAdvance(tr("00.0 s · 0 of 0")));
    const int textX = x + kMark + 6;
    painter.setFont(font());
    painter.setPen(i <= active ? colors.text : colors.textMuted);
    painter.drawText(QRect(textX, textTop, width, fontMetrics().height()),
                     Qt::AlignLeft | Qt::AlignVCenter, stage.name);
    painter.setFont(small);
    painter.setPen(colors.textMuted);
    painter.drawText(QRect(textX, textTop + fontMetrics().height(), width + 8,
                           fontMetrics().height()),
                     Qt::AlignLeft | Qt::AlignVCenter, below);
    x = textX + width + 14;
  }
}

}  // namespace lockstep::ui
