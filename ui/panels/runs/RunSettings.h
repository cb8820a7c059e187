#pragma once

#include <QMap>
#include <QString>
#include <QStringList>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::ui {

struct RunEntry;

/// What of a run's experiment is not the default, by key: "ddp.bucket_cap_mb" is "5". Of a job of
/// PyTorch what it tells. Values as people type them. [any-thread]
using RunSettings = QMap<QString, QString>;

/// Of a run by what its file says.
RunSettings runSettingsOf(const trace::RunSummary& summary);

/// The value of a key: that of the run, else the default; empty where there is neither.
QString settingText(const RunSettings& settings, const QString& key);

/// The whole name of a key that was written in full or by its last part alone
/// ("bucket_cap_mb"); empty where no experiment has it.
QString settingKey(const QString& written);

/// The keys in which any of these runs differ, in the order of an experiment's file.
QStringList differingSettings(const std::vector<const RunEntry*>& runs);

/// Gives each run whose name others have, too, a subtitle: the settings in which those of the name
/// differ, "bucket_cap_mb 5 · hook powersgd".
void nameDifferences(std::vector<RunEntry>& runs);

}  // namespace lockstep::ui
