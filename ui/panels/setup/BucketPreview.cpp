#include "ui/panels/setup/BucketPreview.h"

#include <QComboBox>
#include <QEvent>
#include <QScrollArea>
#include <QStackedWidget>
#include <QToolTip>
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "ui/panels/CurrentPalette.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/setup/ModelDescriber.h"
#include "ui/table/WrittenTable.h"

namespace lockstep::ui {
namespace {

/// A bucket a row, in the order of the plan.
std::shared_ptr<const TableRows> rowsOf(const std::vector<buckets::BucketPlan::Bucket>& plan,
                                        const std::vector<ModelParameter>& parameters) {
  const auto column = [](const char* title, bool byNumber) {
    return TableRows::Column{TableRows::tr(title), {}, false, byNumber, Qt::AlignLeft,
                             Qt::AlignHCenter};
  };
  const auto figure = [](auto number) {
    return WrittenRows::Cell{QString::number(number), static_cast<double>(number)};
  };
  std::vector<WrittenRows::Row> rows;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    QStringList names;
    for (const std::uint32_t parameter : plan[i].parameters) {
      // A plan counts only the parameters that are in buckets: their places in the forecast's list,
      // not in that of the model.
      names << parameters[parameter].name;
    }
    rows.push_back({figure(i),
                    // In full, where the picture rounds to KiB or MiB.
                    figure(plan[i].bytes),
                    plan[i].limitBytes == buckets::kUnlimited
                        ? WrittenRows::Cell{TableRows::tr("none")}
                        : figure(plan[i].limitBytes),
                    {QString::fromStdString(plan[i].dtype)},
                    figure(plan[i].parameters.size()),
                    {names.join(QStringLiteral(", "))}});
  }
  return std::make_shared<WrittenRows>(
      std::vector{column("Bucket", true), column("Bytes", true), column("Cap (bytes)", true),
                  column("Type", false), column("Count", true), column("Parameters", false)},
      std::move(rows));
}

}  // namespace

BucketPreview::BucketPreview(const ModelDescriber& describer, QWidget* parent)
    : QWidget(parent), describer_(describer) {
  summary_ = muted({}, "bucketSummary");
  when_ = named(new QComboBox, "", tr("Which buckets are shown"),
                tr("Buckets are built anew after the first iteration, in the order in which "
                   "gradients got ready"));
  when_->addItems({tr("First iteration"), tr("After the rebuild")});
  when_->setCurrentIndex(1);
  asTable_ = toolButton(tr("Table"), tr("Shows the same as a table"), "");
  asTable_->setCheckable(true);

  canvas_ = new Canvas(this, nullptr, {Renderer::kRaster, tr("a small drawing")});
  canvas_->setObjectName(QStringLiteral("bucketPreviewCanvas"));
  canvas_->setAccessibleName(tr("Bucket preview"));
  scroll_ = new QScrollArea;
  scroll_->setWidget(canvas_);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->viewport()->installEventFilter(this);
  table_ = new TableView(tr("Bucket preview as a table"));
  table_->sortFromTheStart(0, Qt::AscendingOrder);
  stack_ = new QStackedWidget;
  stack_->addWidget(scroll_);
  stack_->addWidget(table_);

  fill(this, inColumn({inRow({when_, Part::rest(), asTable_}), summary_, {stack_, 1}}),
       {4, 4, 4, 4});
  connect(when_, &QComboBox::currentIndexChanged, this, &BucketPreview::update);
  connect(asTable_, &QToolButton::toggled, this,
          [this](bool table) { stack_->setCurrentIndex(table ? 1 : 0); });
  showReason(tr("Buckets appear once the model is known."));
}

bool BucketPreview::showsRebuilt() const {
  return when_->currentIndex() == 1;
}

QString BucketPreview::summary() const {
  return summary_->text();
}

void BucketPreview::show(const experiment::Experiment& experiment) {
  if (describer_.isAsking()) {
    showReason(tr("Asking lockstep-rank for the model's shapes…"));
    return;
  }
  if (!describer_.problem().isEmpty()) {
    showReason(describer_.problem());
    return;
  }
  forecast_ = forecastBuckets(describer_.parameters(), experiment);
  update();
}

void BucketPreview::showReason(const QString& sentence) {
  forecast_ = {};
  forecast_.problem = sentence;
  update();
}

void BucketPreview::update() {
  const QString text = forecast_.summary(showsRebuilt());
  summary_->setText(text);
  canvas_->setAccessibleDescription(text);
  const bool there = forecast_.problem.isEmpty();
  stack_->setVisible(there);
  when_->setEnabled(there);
  asTable_->setEnabled(there);
  const int width = std::max(160, scroll_->viewport()->width());
  const BucketPreviewScene scene(forecast_, showsRebuilt(), currentPalette(), width);
  canvas_->setFixedSize(width, static_cast<int>(scene.height()));
  canvas_->repaintSoon();
  fillTable();
}

void BucketPreview::fillTable() {
  const auto& plan = showsRebuilt() ? forecast_.rebuilt : forecast_.first;
  table_->setRows(rowsOf(plan.buckets, forecast_.parameters));
}

bool BucketPreview::eventFilter(QObject* watched, QEvent* event) {
  // The canvas is always as wide as what is seen of it: it scrolls up and down only.
  if (watched == scroll_->viewport() && event->type() == QEvent::Resize) {
    update();
  }
  return QWidget::eventFilter(watched, event);
}

void BucketPreview::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) {
    canvas_->repaintSoon();
  }
  QWidget::changeEvent(event);
}

void BucketPreview::paintCanvas(DisplayList& list, QSizeF size) {
  BucketPreviewScene(forecast_, showsRebuilt(), currentPalette(), size.width()).draw(list);
}

void BucketPreview::pointerMoved(const PointerInput& input) {
  const QString text =
      BucketPreviewScene(forecast_, showsRebuilt(), currentPalette(), canvas_->width())
          .describe(input.position);
  // An empty one hides what is shown.
  QToolTip::showText(canvas_->mapToGlobal(input.position.toPoint()), text, canvas_);
}

void BucketPreview::pointerLeft() {
  QToolTip::hideText();
}

}  // namespace lockstep::ui
