#pragma once

#include <QString>

namespace lockstep::ui {

// Note [Disabled hooks]
// A disabled hook is not offered by the setup form. It is a wish of the user of this studio and is
// kept with the studio's settings: an experiment file that names the hook still runs, here and
// from the command line, since a file must mean the same everywhere.

/// Whether the user has disabled the hook `id` of the library at `path`. Note [Disabled hooks].
/// [ui-thread]
bool isHookDisabled(const QString& id, const QString& path);

/// Remembers it from now on.
void setHookDisabled(const QString& id, const QString& path, bool disabled);

}  // namespace lockstep::ui
