#pragma once

#include <QObject>
#include <QString>
#include <functional>

namespace lockstep::ui {

struct Commands;
struct Frame;
class HelpDialog;
class KeyBindings;
class Settings;
class Tour;

/// What helps: the help with its keys, views and terms, the glossary at what is under the pointer,
/// and the tour. Their commands act here. [ui-thread]
class Help : public QObject {
  Q_OBJECT

 public:
  /// `runIsOpen` says whether the tour has a run to go over. All outlive this.
  Help(Frame& frame, const Commands& commands, const KeyBindings& keys, Settings& settings,
       std::function<bool()> runIsOpen, QObject* parent);

 signals:
  /// The tour goes over the demo.
  void demoRequested();

 private:
  void openHere();
  void openGlossary();
  void open(const QString& chapter, const QString& title);
  void startTour();
  void forgetOffer();

  Frame& frame_;
  const Commands& commands_;
  const KeyBindings& keys_;
  Settings& settings_;
  std::function<bool()> runIsOpen_;
  HelpDialog* dialog_ = nullptr;
  Tour* tour_ = nullptr;
};

}  // namespace lockstep::ui
