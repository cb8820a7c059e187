#pragma once

#include <QString>
#include <QStringList>
#include <functional>

namespace lockstep::ui {

class HookCatalog;
class SetupDraft;

/// Writes what a draft stands for into files, one a run, and returns their paths: the draft's own
/// file where it is saved and varies nothing, else files in `folder`, which is made. Empty after
/// `failed` was called with the reason, a sentence.
QStringList writeRuns(const SetupDraft& draft, const HookCatalog& catalog, const QString& folder,
                      const std::function<void(const QString& sentence)>& failed);

}  // namespace lockstep::ui
