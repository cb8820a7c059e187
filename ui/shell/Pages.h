#pragma once

#include <QStackedWidget>
#include <QString>

namespace lockstep::ui {

class EmptyState;
class Stages;
class StartPage;

/// The middle of the window, and the ways through it: the start page, the views of the open run,
/// or a sentence about a run that comes up. [ui-thread]
class Pages : public QStackedWidget {
  Q_OBJECT

 public:
  enum class Page { kStart, kViews, kComingUp };

  /// Takes both. The views are in sight at first.
  Pages(StartPage* start, Stages* stages, QWidget* parent = nullptr);

  void turnTo(Page page);
  [[nodiscard]] Page page() const { return page_; }

  /// Shows a view, or while a run comes up what is said of that.
  void showView(const QString& name);

  void beginComingUp(const QString& sentence);
  /// The run is there, or never will be. Turns no page.
  void endComingUp() { comesUp_ = false; }

 signals:
  /// The start page comes or goes: before the page is turned.
  void runInSight(bool inSight);

 private:
  StartPage* start_;
  Stages* stages_;
  EmptyState* comingUp_;
  Page page_ = Page::kViews;
  bool comesUp_ = false;
};

}  // namespace lockstep::ui
