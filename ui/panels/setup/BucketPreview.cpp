#include "ui/panels/setup/BucketPreview.h"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QStackedWidget>
#include <QToolButton>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ui/panels/CurrentPalette.h"
#include "ui/panels/setup/ModelDescriber.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

/// A bucket a row, in the order of the plan.
class PlanRows : public TableRows {
 public:
  PlanRows(std::vector<buckets::BucketPlan::Bucket> plan, std::vector<ModelParameter> parameters)
      : TableRows({figure(tr("Bucket")), figure(tr("Bytes")), figure(tr("Cap (bytes)")),
                   words(tr("Type")), figure(tr("Count")), words(tr("Parameters"))}),
        plan_(std::move(plan)),
        parameters_(std::move(parameters)) {}

  [[nodiscard]] std::size_t size() const override { return plan_.size(); }

  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override {
    const buckets::BucketPlan::Bucket& bucket = plan_[row];
    switch (column) {
      case kBucket:
        return QString::number(row);
      case kBytes:
        return QString::number(bucket.bytes);
      case kCap:
        return bucket.limitBytes == buckets::kUnlimited ? tr("none")
                                                        : QString::number(bucket.limitBytes);
      case kType:
        return QString::fromStdString(bucket.dtype);
      case kCount:
        return QString::number(bucket.parameters.size());
      default: {
        QStringList names;
        for (const std::uint32_t parameter : bucket.parameters) {
          names << parameters_[parameter].name;
        }
        return names.join(QStringLiteral(", "));
      }
    }
  }

  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override {
    const buckets::BucketPlan::Bucket& bucket = plan_[row];
    switch (column) {
      case kBucket:
        return static_cast<double>(row);
      case kBytes:
        return static_cast<double>(bucket.bytes);
      case kCap:
        return bucket.limitBytes == buckets::kUnlimited
                   ? std::nullopt
                   : std::optional(static_cast<double>(bucket.limitBytes));
      default:
        return static_cast<double>(bucket.parameters.size());
    }
  }

  [[nodiscard]] QString tip(std::size_t, std::size_t) const override { return {}; }

 private:
  enum Cell : std::size_t { kBucket, kBytes, kCap, kType, kCount };

  static Column figure(const QString& title) {
    return {title, {}, false, true, Qt::AlignLeft, Qt::AlignHCenter};
  }
  static Column words(const QString& title) {
    return {title, {}, false, false, Qt::AlignLeft, Qt::AlignHCenter};
  }

  std::vector<buckets::BucketPlan::Bucket> plan_;
  std::vector<ModelParameter> parameters_;
};

}  // namespace

BucketPreview::BucketPreview(const ModelDescriber& describer, QWidget* parent)
    : QWidget(parent), describer_(describer) {
  summary_ = new QLabel;
  summary_->setObjectName(QStringLiteral("bucketSummary"));
  summary_->setWordWrap(true);
  summary_->setForegroundRole(QPalette::PlaceholderText);
  when_ = new QComboBox;
  when_->addItems({tr("First iteration"), tr("After the rebuild")});
  when_->setCurrentIndex(1);
  when_->setToolTip(
      tr("Buckets are built anew after the first iteration, in the order in which "
         "gradients got ready"));
  when_->setAccessibleName(tr("Which buckets are shown"));
  asTable_ = new QToolButton;
  asTable_->setText(tr("Table"));
  asTable_->setCheckable(true);
  asTable_->setToolTip(tr("Shows the same as a table"));

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

  auto* top = new QHBoxLayout;
  top->addWidget(when_);
  top->addStretch(1);
  top->addWidget(asTable_);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 4, 4, 4);
  layout->addLayout(top);
  layout->addWidget(summary_);
  layout->addWidget(stack_, 1);
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
  table_->setRows(std::make_shared<PlanRows>(plan.buckets, forecast_.parameters));
}

bool BucketPreview::eventFilter(QObject* watched, QEvent* event) {
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
  if (text.isEmpty()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(canvas_->mapToGlobal(input.position.toPoint()), text, canvas_);
  }
}

void BucketPreview::pointerLeft() {
  QToolTip::hideText();
}

}  // namespace lockstep::ui
