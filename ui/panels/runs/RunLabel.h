#pragma once

#include <QString>
#include <QStringList>
#include <filesystem>
#include <string>

namespace lockstep::ui {

/// What people say of a run: another name than its experiment's, tags, a note.
///
/// It stands beside the run file, in RUN.lockstep.label.json, as bookmarks do (Annotations): so it
/// goes where the run goes and others who see the folder see it. The run file is what was recorded,
/// and stays so.
struct RunLabel {
  QString name;      ///< empty: as the experiment has it
  QStringList tags;  ///< words without commas, sorted, each once
  QString note;

  [[nodiscard]] bool empty() const { return name.isEmpty() && tags.isEmpty() && note.isEmpty(); }
  bool operator==(const RunLabel&) const = default;
};

/// What the label file of a run is called: the run file's name and this.
inline constexpr const char* kLabelEnding = ".label.json";
std::filesystem::path labelFileOf(const std::filesystem::path& run);

/// The tags of a line in which commas divide them.
QStringList tagsOf(const QString& line);

/// Reads the label of a run; empty where there is none, or none that can be read. [any-thread]
RunLabel readRunLabel(const std::filesystem::path& run);

/// What a run is called: as its label says, else `name`. [any-thread]
QString shownName(const std::filesystem::path& run, const std::string& name);

/// Writes it, whole or not at all; an empty one removes the file. Returns a sentence that says what
/// went wrong, or nothing. A file that is no label is left as it is. [any-thread]
QString writeRunLabel(const std::filesystem::path& run, const RunLabel& label);

}  // namespace lockstep::ui
