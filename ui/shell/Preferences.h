#pragma once

#include <QObject>

class QWidget;

namespace lockstep::ui {

class Appearance;
struct Commands;
class KeyBindings;
class KeyEditor;
class MessageBar;
class Settings;

/// What users have as they like it: theme, scale, keys, and whether the last run is opened at the
/// start. Their commands act here. [ui-thread]
class Preferences : public QObject {
  Q_OBJECT

 public:
  /// `window` owns this; the others outlive it.
  Preferences(QWidget& window, const Commands& commands, KeyBindings& keys, Appearance& appearance,
              Settings& settings, MessageBar& messages);

 private:
  void setScale(int percent);
  void startAgain();
  void changeKeys();

  QWidget& window_;
  KeyBindings& keys_;
  Settings& settings_;
  MessageBar& messages_;
  KeyEditor* keyEditor_ = nullptr;
};

}  // namespace lockstep::ui
