#pragma once

#include <QObject>
#include <QString>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/experiment/ExperimentText.h"
#include "engine/experiment/Parse.h"
#include "engine/experiment/Schema.h"

namespace lockstep::ui {

/// The experiment that the form edits: the text of its file, what the parser makes of it, and
/// the steps that can be undone. Every answer about mistakes is the parser's. [ui-thread]
class SetupDraft : public QObject {
  Q_OBJECT

 public:
  explicit SetupDraft(QObject* parent = nullptr);

  /// Files below this folder came with an installation or a source tree, and are only read.
  void setShipped(const QString& folder);

  /// Starts anew with a text that has no file yet; empty: with an experiment that runs as it is.
  /// `title`: what it is called until it is saved.
  void begin(std::string text = {}, const QString& title = {});
  /// Reads a file; one with mistakes is opened too, as long as it is TOML. Undo begins anew.
  base::Status open(const QString& path);
  /// Writes the text to `path`, which is the draft's file from then on. Errors: it is one of those
  /// that are only read; it cannot be written.
  base::Status save(const QString& path);

  /// Absolute; empty for an experiment that has no file yet.
  [[nodiscard]] QString path() const { return path_; }
  /// Whether a file is one of those that are only read.
  [[nodiscard]] bool isShipped(const QString& path) const;
  /// Whether `save` may write the draft's own file: it has one, the user may replace it, and it is
  /// none of those that are only read.
  [[nodiscard]] bool canSaveInPlace() const;
  /// The file to offer for a copy: the draft's own where it can be replaced, else one of its name
  /// in the user's documents.
  [[nodiscard]] QString placeForACopy() const;
  /// The file's name, or what stands for it.
  [[nodiscard]] QString title() const;
  [[nodiscard]] bool isDirty() const { return current().text.text() != saved_; }
  [[nodiscard]] bool canUndo() const { return at_ > 0; }
  [[nodiscard]] bool canRedo() const { return at_ + 1 < steps_.size(); }

  [[nodiscard]] const experiment::ExperimentText& text() const { return current().text; }
  /// The experiment, or mistakes and defaults.
  [[nodiscard]] const experiment::ParseOutcome& parsed() const { return parsed_; }
  /// How many runs the experiment stands for: every combination of what it varies.
  [[nodiscard]] std::size_t runCount() const;
  /// Everything that is wrong: the parser's, then what `addMistakes` was given.
  [[nodiscard]] const std::vector<experiment::Mistake>& mistakes() const { return mistakes_; }
  /// What is wrong with one key that the sweep varies, or with its list of values.
  [[nodiscard]] QString mistakeOfAxis(const std::string& key) const;
  /// The folder that relative paths in the experiment start from.
  [[nodiscard]] QString folder() const;
  /// What is wrong with one key; empty when nothing is.
  [[nodiscard]] QString mistakeOf(const std::string& key) const;
  /// The same for a key of one fault ("kind"), or of the fault as a whole ("").
  [[nodiscard]] QString mistakeOfFault(std::size_t fault, const std::string& leaf) const;
  /// A choice as it stands, by the file or by default: "model.kind" gives "mlp".
  [[nodiscard]] std::string choice(const std::string& key) const;
  /// Whether the key has a meaning for the choices made.
  [[nodiscard]] bool applies(const experiment::Field& field) const;

  /// Writes a key; an empty value or the default takes it out. Changes of one key in a row are
  /// one step to undo. Keys that lose their meaning by a choice go with it.
  void setKey(const experiment::Field& field, const std::string& toml);
  /// Changes the text; `step` names what is changed, so that a row of changes is one step.
  void edit(const std::string& step,
            const std::function<void(experiment::ExperimentText&)>& change);
  void undo();
  void redo();
  void undoOrRedo(bool redoes) { redoes ? redo() : undo(); }

  /// Adds what plugins and the runs of its sweep say against the text as it stands, in place of
  /// what was added before. The parser's own mistakes may be among them.
  void addMistakes(std::vector<experiment::Mistake> mistakes);

 signals:
  /// The text or what is known of it changed.
  void changed();

 private:
  struct Step {
    std::string name;
    experiment::ExperimentText text;
  };

  [[nodiscard]] const Step& current() const { return steps_[at_]; }
  [[nodiscard]] QString firstMistake(
      const std::function<bool(const experiment::Mistake&)>& matches) const;
  void restart(std::string text);
  void read();

  QString shipped_;  // folder whose files are only read; empty: there is none
  QString path_;
  QString untitled_;  // what it is called without a file; empty: it is a new one
  std::string saved_;
  std::vector<Step> steps_;
  std::size_t at_ = 0;
  experiment::ParseOutcome parsed_;
  std::vector<experiment::Mistake> mistakes_;
};

}  // namespace lockstep::ui
