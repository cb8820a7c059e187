#pragma once

namespace lockstep::ui {

struct Frame;
class TableView;

/// The table that a command for one is about: the one that has the focus, else the first of the
/// view in sight that has rows, else of the docks. Null: none is in sight. [ui-thread]
TableView* tableInSight(const Frame& frame);

}  // namespace lockstep::ui
