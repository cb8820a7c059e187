#pragma once

#include <QPointF>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tests/ui/model/DemoRun.h"
#include "tests/ui/shell/MainWindowFixture.h"
#include "ui/canvas/DisplayList.h"
#include "ui/model/Span.h"
#include "ui/model/ViewState.h"

class QAbstractItemView;
class QMenu;
class QModelIndex;

namespace lockstep::tests {

/// The studio's window with a run open, drawn by GL or raster as the parameter says, and worked by
/// a pointer and a keyboard behind the X server. Places to click are asked from the view that drew
/// them, and are clicked once they stand still.
class ViewsFixture : public MainWindowFixture, public testing::WithParamInterface<const char*> {
 protected:
  /// A place in a widget, asked again until it stands still; nothing: not in sight yet.
  using Place = std::function<std::optional<QPointF>()>;
  using Keys = XTestClient::Keys;

  void SetUp() override;
  void TearDown() override;

  /// Writes the made-up run of the views' tests and opens it.
  QString openDemo(const ui::test::DemoOptions& options = {});
  void openPath(const QString& path);
  /// Writes a run that goes on, with so many iterations, and opens it.
  std::unique_ptr<SampleRun> openLive(int steps);
  /// A path in the folder of runs.
  [[nodiscard]] std::filesystem::path runPath(const std::string& file);
  /// Goes to a stage by its key, Ctrl and its number.
  void showStage(const QString& name);
  [[nodiscard]] QString stage();
  template <typename View>
  View& view() {
    return *window().findChild<View*>();
  }
  [[nodiscard]] ui::RunModel& model() { return *window().session()->model(); }
  [[nodiscard]] ui::ViewState& state() { return *window().session()->state(); }
  [[nodiscard]] std::optional<ui::Span> selection() { return state().selection(); }
  /// The first span of a kind in an iteration of a rank.
  [[nodiscard]] ui::Span spanOf(trace::EventKind kind, std::uint32_t step, int rank,
                                std::optional<std::uint16_t> bucket = std::nullopt);

  // --- the pointer ---
  QPoint at(const QWidget* widget, const Place& place);
  QPoint at(const QWidget* widget, QPointF place) {
    return at(widget, [place] { return std::optional(place); });
  }
  void point(const QWidget* widget, const Place& place);
  void clickAt(const QWidget* widget, const Place& place, std::uint8_t button = 1,
               const Keys& held = {});
  void doubleClickAt(const QWidget* widget, const Place& place);
  /// Turns the wheel notch by notch, away from the user when `direction` is 1, until `enough`.
  void wheelAt(const QWidget* widget, const Place& place, int direction,
               const std::function<bool()>& enough, const Keys& held = {});
  void dragAt(const QWidget* widget, const Place& from, QPoint by, std::uint8_t button = 1,
              const Keys& held = {});
  void clickCell(QAbstractItemView* table, int row, int column, const Keys& held = {});
  void clickTab(QWidget* tabBar, int index);
  /// Opens a combo box and clicks its entry.
  void chooseIn(const char* comboBox, const QString& entry);
  /// The menu that is open; fails when none opens.
  QMenu* openMenu();
  /// Clicks the entry of the open menu that begins so.
  void chooseFromMenu(const QString& entry);
  /// Goes through menus of the menu bar by clicks: {"Go", "Timeline", "Zoom in"}.
  void chooseFromMenuBar(const QStringList& path);

  // --- the keyboard ---
  /// Small letters, digits, blanks and what needs no Shift; and colons.
  void type(const std::string& text);
  void press(xcb_keysym_t key, const Keys& held = {}) { input_.key(key, held); }

  /// Whether the texts of a frame contain this.
  static bool says(const ui::DisplayList& list, const QString& part);
  /// How many pixels of the screen differ from an earlier look at it.
  int pixelsChangedSince(const Screenshot& before);
};

/// The painters that every test of a view runs on.
#define LOCKSTEP_ON_BOTH_PAINTERS(fixture)                                     \
  INSTANTIATE_TEST_SUITE_P(Painters, fixture, testing::Values("raster", "gl"), \
                           [](const auto& info) { return std::string(info.param); })

}  // namespace lockstep::tests
