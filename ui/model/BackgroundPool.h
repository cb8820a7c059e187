#pragma once

class QThreadPool;

namespace lockstep::ui {

/// Threads for what takes long: reading, analysing, searching. Not Qt's own pool: painting hands
/// parts of its work to that and waits for them, behind whatever is there already. Ends with the
/// application, after what was started. [ui-thread]
QThreadPool& backgroundPool();

}  // namespace lockstep::ui
