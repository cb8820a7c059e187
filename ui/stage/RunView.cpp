#include "ui/stage/RunView.h"

#include <QComboBox>
#include <QEvent>
#include <QFileInfo>
#include <QScrollBar>
#include <QStackedLayout>
#include <QTimer>
#include <algorithm>
#include <cmath>

#include "ui/panels/EmptyState.h"

namespace lockstep::ui {

void setScrollable(QScrollBar& bar, double most, int page, int singleStep) {
  bar.setRange(0, static_cast<int>(std::ceil(most)));
  bar.setPageStep(std::max(1, page));
  bar.setSingleStep(singleStep);
  bar.setVisible(bar.maximum() > 0);
}

RunView::RunView(QWidget* parent) : CanvasPart(parent), later_(new QTimer(this)) {
  later_->setSingleShot(true);
  connect(later_, &QTimer::timeout, this, [this] { refreshSoon(0); });
}

void RunView::setRun(const OpenRun& run) {
  take(run);
  later_->stop();
  // So that the first refresh of the new run comes at once.
  refreshed_.invalidate();
  failure_.clear();
  if (pages_ != nullptr) {
    pages_->setCurrentIndex(run.any() ? 1 : 0);
  }
  if (model_ != nullptr) {
    connect(model_, &RunModel::failed, this, [this](const QString& sentence) {
      failure_ = sentence;
      refresh();
      repaintSoon();
    });
  }
  // Without its model or state a run is none. This is called again then, with nothing.
  for (QObject* part : {static_cast<QObject*>(run.model), static_cast<QObject*>(run.state)}) {
    if (part != nullptr) {
      connect(part, &QObject::destroyed, this, [this] { setRun({}); });
    }
  }
  runChanged();
  refreshSoon(0);
}

void RunView::setPages(const QString& sentence, const QString& button, Offer offer,
                       const QList<QWidget*>& pages) {
  auto* empty = new EmptyState(sentence, button);
  connect(empty, &EmptyState::activated, this,
          offer == Offer::kDemo ? &RunView::demoRequested : &RunView::openRequested);
  pages_ = new QStackedLayout(this);
  pages_->setContentsMargins(0, 0, 0, 0);
  pages_->addWidget(empty);
  for (QWidget* page : pages) {
    pages_->addWidget(page);
  }
}

Canvas* RunView::makeCanvas(const QString& name, QWidget* holder) {
  canvas_ = new Canvas(this, holder);
  canvas_->setAccessibleName(name);
  keyed_ = holder == nullptr ? canvas_ : holder;
  keyed_->setFocusPolicy(Qt::StrongFocus);
  if (holder != nullptr) {
    canvas_->setFocusProxy(holder);
  }
  return canvas_;
}

QHBoxLayout* RunView::makeScrollBar() {
  scrollBar_ = new QScrollBar(Qt::Vertical);
  return inRow({{canvas_, 1}, scrollBar_}, 0);
}

void RunView::setScrollable(double most, int singleStep) {
  ui::setScrollable(*scrollBar_, most, canvas_->height(), singleStep);
}

QAction* RunView::makeAction(const QString& text, const QList<QKeySequence>& keys,
                             const std::function<void()>& act) {
  auto* action = new QAction(text, this);
  connect(action, &QAction::triggered, this, [this, act] {
    // A shortcut would otherwise act on a view that shows the page of no run.
    if (takesKeys()) {
      act();
      acted();
    }
  });
  addKeyed(action, keys);
  return action;
}

void RunView::makeZoomActions(const std::function<void(double)>& zoom,
                              const std::function<void(double)>& pan, bool arrows) {
  const auto with = [arrows](Qt::Key letter, Qt::Key arrow) {
    return arrows ? QList<QKeySequence>{letter, arrow} : QList<QKeySequence>{letter};
  };
  makeAction(tr("Zoom in"), {Qt::Key_W, Qt::Key_Plus}, [zoom] { zoom(kZoomStep); });
  makeAction(tr("Zoom out"), {Qt::Key_S, Qt::Key_Minus}, [zoom] { zoom(1 / kZoomStep); });
  makeAction(tr("Move left"), with(Qt::Key_A, Qt::Key_Left), [pan] { pan(-kPanStep); });
  makeAction(tr("Move right"), with(Qt::Key_D, Qt::Key_Right), [pan] { pan(kPanStep); });
}

void RunView::addKeyed(QAction* action, const QList<QKeySequence>& keys) {
  action->setShortcuts(keys);
  // Only with the focus in this view: views share keys, such as + and -.
  action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  keyed_->addAction(action);
  actions_.push_back(action);
}

// Note [When a view refreshes]
//
// Runs grow many times a second, and a view takes longer to read one than to draw it. So a view is
// brought up to date
//
// - only while it is in sight: refreshSoon does nothing otherwise, and showEvent makes up for it;
// - at most once in `everyMs`: the first call acts at once, a call that comes too early is put off
//   by the one timer `later_`, and calls that find it running add nothing.
//
// A put-off call ends in refreshSoon(0), and so looks again whether the view is still in sight.
void RunView::refreshSoon(int everyMs) {
  if (!isVisible()) {
    return;
  }
  const qint64 since = refreshed_.isValid() ? refreshed_.elapsed() : everyMs;
  if (since >= everyMs) {
    refreshed_.start();
    refresh();
  } else {
    refreshIn(static_cast<int>(everyMs - since));
  }
}

void RunView::refreshIn(int ms) {
  // The earlier of two wishes stands.
  if (!later_->isActive() || later_->remainingTime() > ms) {
    later_->start(ms);
  }
}

void RunView::offerRuns(QComboBox& box, const QString& first, const QStringList& paths) const {
  box.clear();
  box.addItem(first, QString());
  const QString open =
      model_ == nullptr ? QString() : QString::fromStdString(model_->path().string());
  for (const QString& path : paths) {
    if (path != open) {
      box.addItem(QFileInfo(path).completeBaseName(), path);
      box.setItemData(box.count() - 1, path, Qt::ToolTipRole);
    }
  }
}

void RunView::showPage(QWidget* page) {
  // Without a run the page of none stays.
  if (model_ != nullptr) {
    pages_->setCurrentWidget(page);
  }
}

void RunView::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refreshSoon(0);
}

void RunView::canvasPainted() {
  emit framePainted();
}

void RunView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  // Canvases draw texts themselves, and fonts come to them through the application.
  if (event->type() == QEvent::FontChange) {
    repaintSoon();
  }
}

}  // namespace lockstep::ui
