#pragma once

class QTableView;

namespace lockstep::ui {

/// Lets Ctrl+C put the selected rows of a table on the clipboard, all of them when none is
/// selected: tab-separated, the titles of the columns first, as shown and in the shown order.
/// [ui-thread]
void makeCopyable(QTableView& table);

}  // namespace lockstep::ui
