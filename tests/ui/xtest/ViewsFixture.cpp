#include "tests/ui/xtest/ViewsFixture.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QComboBox>
#include <QMenu>
#include <QMenuBar>
#include <QTabBar>
#include <algorithm>

#include "ui/canvas/Renderer.h"
#include "ui/shell/Stages.h"

namespace lockstep::tests {

void ViewsFixture::SetUp() {
  if (std::string(GetParam()) == "gl" && !ui::probeGl().usable) {
    GTEST_SKIP() << "no OpenGL here: " << ui::probeGl().device.toStdString();
  }
  setenv("LOCKSTEP_RENDERER", GetParam(), 1);
  std::filesystem::create_directories(folder_ / "runs");
  input_.moveTo(kScreenWidth - 2, kScreenHeight - 2);
}

// Not closed but ended: a form that was changed would ask what is to become of it.
void ViewsFixture::TearDown() {
  window_.reset();
  appearance_.reset();
  setenv("LOCKSTEP_RENDERER", "raster", 1);
}

std::filesystem::path ViewsFixture::runPath(const std::string& file) {
  return folder_ / "runs" / file;
}

QString ViewsFixture::openDemo(const ui::test::DemoOptions& options) {
  const auto path = runPath("demo.lockstep");
  const base::Status written = ui::test::writeDemoRun(path, options);
  EXPECT_TRUE(written.ok());
  openPath(QString::fromStdString(path.string()));
  return QString::fromStdString(path.string());
}

std::unique_ptr<SampleRun> ViewsFixture::openLive(int steps) {
  constexpr std::uint32_t kPlanned = 200;
  const auto path = runPath("live.lockstep");
  auto run = std::make_unique<SampleRun>(path, kPlanned);
  run->startUp();
  run->steps(steps);
  openPath(QString::fromStdString(path.string()));
  return run;
}

void ViewsFixture::openPath(const QString& path) {
  window().openRun(path);
  ASSERT_TRUE(waitUntil(
      [this] { return window().session() != nullptr && window().session()->model()->isLoaded(); }));
}

void ViewsFixture::showStage(const QString& name) {
  auto* stages = find<ui::Stages>("stages");
  const auto number = stages->names().indexOf(name);
  ASSERT_GE(number, 0);
  press(static_cast<xcb_keysym_t>('1' + number), {kKeyControl});
  ASSERT_TRUE(waitUntil([&] { return stage() == name && stages->currentView()->isVisible(); }))
      << name.toStdString();
}

QString ViewsFixture::stage() {
  return find<ui::Stages>("stages")->current();
}

ui::Span ViewsFixture::spanOf(trace::EventKind kind, std::uint32_t step, int rank,
                              std::optional<std::uint16_t> bucket) {
  for (const ui::Lane& lane : model().lanes()) {
    for (std::size_t row = 0; row < lane.rows.size(); ++row) {
      for (std::size_t i = 0; i < lane.rows[row].size(); ++i) {
        const ui::Span span = model().spanAt(lane.id, static_cast<int>(row), i);
        if (span.kind == kind && span.step == step && span.rank() == rank &&
            (!bucket || span.bucket == *bucket)) {
          return span;
        }
      }
    }
  }
  ADD_FAILURE() << "no such span in iteration " << step << " of rank " << rank;
  return {};
}

QPoint ViewsFixture::at(const QWidget* widget, const Place& place) {
  const QPoint found = middleOf(widget, [&] {
    const auto now = place();
    return now && widget->rect().contains(now->toPoint()) ? QRect(now->toPoint(), QSize(1, 1))
                                                          : QRect();
  });
  EXPECT_TRUE(place().has_value()) << "not in sight";
  return found;
}

void ViewsFixture::point(const QWidget* widget, const Place& place) {
  const QPoint to = at(widget, place);
  input_.moveTo(to.x() + 1, to.y());  // a pointer that is there already would not move
  input_.moveTo(to.x(), to.y());
}

void ViewsFixture::clickAt(const QWidget* widget, const Place& place, std::uint8_t button,
                           const Keys& held) {
  const QPoint to = at(widget, place);
  input_.click(to.x(), to.y(), button, held);
}

void ViewsFixture::doubleClickAt(const QWidget* widget, const Place& place) {
  doubleClick(at(widget, place));
}

void ViewsFixture::wheelAt(const QWidget* widget, const Place& place, int direction,
                           const std::function<bool()>& enough, const Keys& held) {
  // The first notch after the pointer has come to a window only tells Qt where the wheel stands.
  constexpr int kNotchesAtMost = 30;
  const QPoint to = at(widget, place);
  for (int notch = 0; notch < kNotchesAtMost && !enough(); ++notch) {
    input_.wheel(to.x(), to.y(), direction, held);
    waitUntil(enough, std::chrono::milliseconds(60));
  }
  ASSERT_TRUE(waitUntil(enough)) << "by turning the wheel";
}

void ViewsFixture::dragAt(const QWidget* widget, const Place& from, QPoint by, std::uint8_t button,
                          const Keys& held) {
  const QPoint start = at(widget, from);
  input_.drag(start.x(), start.y(), start.x() + by.x(), start.y() + by.y(), button, held);
}

void ViewsFixture::clickCell(QAbstractItemView* table, int row, int column, const Keys& held) {
  const QPoint to = middleOf(table->viewport(), [=] {
    return table->visualRect(table->model()->index(row, column)) & table->viewport()->rect();
  });
  input_.click(to.x(), to.y(), 1, held);
}

void ViewsFixture::clickTab(QWidget* tabBar, int index) {
  auto* tabs = qobject_cast<QTabBar*>(tabBar);
  ASSERT_NE(tabs, nullptr);
  // Panels that come up beside the tabs move them, also between a look and a click.
  ASSERT_TRUE(waitUntil([&] {
    const QPoint to = middleOf(tabs, [=] { return tabs->tabRect(index); });
    input_.click(to.x(), to.y());
    return waitUntil([=] { return tabs->currentIndex() == index; }, std::chrono::seconds(2));
  }));
}

void ViewsFixture::chooseIn(const char* comboBox, const QString& entry) {
  auto* box = find<QComboBox>(comboBox);
  const int index = box->findText(entry, Qt::MatchStartsWith);
  ASSERT_GE(index, 0) << entry.toStdString();
  // For as long as a double click may take, a list leaves the release of the click that opened it
  // alone.
  QApplication::setDoubleClickInterval(kDoubleClickMs);
  // What comes up beside the box moves it, also between a look and a click.
  ASSERT_TRUE(waitUntil([&] {
    click(box);
    return waitUntil([=] { return box->view()->isVisible(); }, std::chrono::seconds(2));
  }));
  const QPoint to = middleOf(box->view()->viewport(), [=] {
    return box->view()->visualRect(box->model()->index(index, 0));
  });
  input_.moveTo(to.x() + 2, to.y());
  // A list that has just opened takes no click for a while, lest that which opened it chooses.
  ASSERT_TRUE(waitUntil([&] {
    input_.click(to.x(), to.y());
    return waitUntil([=] { return !box->view()->isVisible(); }, std::chrono::milliseconds(150));
  }));
  QApplication::setDoubleClickInterval(0);
}

QMenu* ViewsFixture::openMenu() {
  QMenu* menu = nullptr;
  EXPECT_TRUE(waitUntil([&] {
    menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    return menu != nullptr && menu->isVisible();
  })) << "no menu opened";
  return menu;
}

void ViewsFixture::chooseFromMenu(const QString& entry) {
  QMenu* menu = openMenu();
  ASSERT_NE(menu, nullptr);
  QAction* wanted = nullptr;
  QStringList texts;
  for (QAction* action : menu->actions()) {
    const QString text = action->text().remove('&');
    texts << text;
    wanted = wanted == nullptr && text.startsWith(entry) ? action : wanted;
  }
  ASSERT_NE(wanted, nullptr) << entry.toStdString() << " among " << texts.join(", ").toStdString();
  const QPoint to = middleOf(menu, [=] { return menu->actionGeometry(wanted); });
  input_.moveTo(to.x() + 1, to.y());
  const bool submenu = wanted->menu() != nullptr;
  input_.click(to.x(), to.y());
  ASSERT_TRUE(waitUntil([&] {
    auto* open = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    return submenu ? open == wanted->menu() : open != menu;
  }));
}

void ViewsFixture::chooseFromMenuBar(const QStringList& path) {
  QMenuBar* bar = window().menuBar();
  QAction* top = nullptr;
  for (QAction* action : bar->actions()) {
    top = action->text().remove('&') == path.front() ? action : top;
  }
  ASSERT_NE(top, nullptr) << path.front().toStdString();
  const QPoint to = middleOf(bar, [=] { return bar->actionGeometry(top); });
  input_.click(to.x(), to.y());
  for (const QString& entry : path.mid(1)) {
    chooseFromMenu(entry);
    if (HasFatalFailure()) return;
  }
}

void ViewsFixture::type(const std::string& text) {
  for (const char letter : text) {
    const bool colon = letter == ':';  // above the semicolon
    press(static_cast<xcb_keysym_t>(colon ? ';' : letter), colon ? Keys{kKeyShift} : Keys{});
  }
}

bool ViewsFixture::says(const ui::DisplayList& list, const QString& part) {
  return std::any_of(list.texts().begin(), list.texts().end(),
                     [&part](const QString& text) { return text.contains(part); });
}

int ViewsFixture::pixelsChangedSince(const Screenshot& before) {
  const Screenshot now = input_.screenshot();
  int changed = 0;
  for (std::size_t i = 0; i < now.pixels.size(); ++i) {
    changed += now.pixels[i] != before.pixels[i] ? 1 : 0;
  }
  return changed;
}

}  // namespace lockstep::tests
