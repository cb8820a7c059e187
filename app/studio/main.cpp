#include <QApplication>
#include <QIcon>
#include <QLatin1String>
#include <QPainter>
#include <QPixmap>
#include <QSurfaceFormat>
#include <QSvgRenderer>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "app/studio/Figures.h"
#include "app/studio/Options.h"
#include "app/studio/Pictures.h"
#include "app/studio/QuitSignals.h"
#include "engine/base/ExitCodes.h"
#include "engine/base/Priority.h"
#include "engine/trace/RunFile.h"
#include "ui/canvas/Typeface.h"
#include "ui/shell/Appearance.h"
#include "ui/shell/MainWindow.h"
#include "ui/shell/Settings.h"

namespace {

using lockstep::studio::Options;

bool hasDisplay() {
  const char* x11 = std::getenv("DISPLAY");
  const char* wayland = std::getenv("WAYLAND_DISPLAY");
  return (x11 != nullptr && *x11 != '\0') || (wayland != nullptr && *wayland != '\0');
}

// Re-docking a GL canvas keeps its context only when contexts are shared; asked for before the
// application is made.
void prepareGl() {
  QCoreApplication::setAttribute(Qt::AA_ShareOpenGLContexts);
  QSurfaceFormat format = QSurfaceFormat::defaultFormat();
  format.setVersion(3, 3);
  format.setProfile(QSurfaceFormat::CoreProfile);
  format.setDepthBufferSize(0);
  format.setStencilBufferSize(0);
  QSurfaceFormat::setDefaultFormat(format);
}

/// Drawn here: what Qt reads an icon in SVG with is a plugin, which Debian 13 has in a package of
/// its own.
QIcon windowIcon() {
  QSvgRenderer drawing(QStringLiteral(":/lockstep-studio.svg"));
  QIcon icon;
  for (const int size : {16, 24, 32, 48, 64, 128}) {
    QPixmap pixmap(size, size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    drawing.render(&painter);
    painter.end();
    icon.addPixmap(pixmap);
  }
  return icon;
}

QtMessageHandler usualMessages = nullptr;

/// Qt tells whoever has no XDG_RUNTIME_DIR which folder it takes instead. Nothing here needs one,
/// and this program's lines on stderr are its own.
void tellMessage(QtMsgType type, const QMessageLogContext& context, const QString& text) {
  if (!text.startsWith(QLatin1String("QStandardPaths: "))) {
    usualMessages(type, context, text);
  }
}

int runStudio(const Options& options, QApplication& application) {
  using lockstep::ui::Appearance;
  lockstep::ui::Settings settings;
  Appearance appearance;
  appearance.moveAsDesktopDoes();
  appearance.setChoice(options.theme.empty()
                           ? settings.theme()
                           : lockstep::ui::themeFromName(QString::fromStdString(options.theme)));
  lockstep::ui::MainWindow window({.experiments = QString::fromStdString(options.experiments),
                                   .runs = QString::fromStdString(options.runsFolder),
                                   .experiment = QString::fromStdString(options.experiment),
                                   .programs = QString::fromStdString(options.programs)},
                                  appearance);
  // After the window, and so ended before it: no signal reaches a window that is being destroyed.
  const lockstep::studio::QuitSignals quitSignals;
  window.show();
  window.activateWindow();
  QStringList runs;
  for (const std::string& run : options.runs) {
    runs.append(QString::fromStdString(run));
  }
  window.openRuns(runs);
  if (options.restore || (options.runs.empty() && options.experiment.empty())) {
    window.restoreSession(options.restore);
  }
  std::optional<lockstep::studio::Figures> figures;
  if (!options.figures.empty()) {
    // It ends before the window does, whose timeline it looks at.
    figures.emplace(*window.findChild<lockstep::ui::TimelineView*>(),
                    QString::fromStdString(options.figures));
  }
  return quitSignals.exitCode(application.exec());
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = lockstep::studio::parseOptions(argc, argv, LOCKSTEP_VERSION);
  if (const int* exitCode = std::get_if<int>(&parsed)) {
    return *exitCode;
  }
  const auto& options = std::get<Options>(parsed);

  // What is wrong with a file is said where the command was typed, before any window.
  for (const std::string& run : options.runs) {
    if (const auto summary = lockstep::trace::readRunSummary(run); !summary.ok()) {
      std::fprintf(stderr, "lockstep-studio: %s\n", summary.error().message().c_str());
      return static_cast<int>(summary.error().code);
    }
  }

  const bool pictures = !options.pictures.empty();
  if (pictures) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    qunsetenv("DISPLAY");  // on which that platform would look for OpenGL: 60 MB for nothing
  } else if (!hasDisplay() && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) {
    std::fprintf(stderr,
                 "lockstep-studio: there is no display (DISPLAY and WAYLAND_DISPLAY are not set); "
                 "--picture draws without one\n");
    return static_cast<int>(lockstep::base::ExitCode::kEnvironment);
  }
  // With less right to a core than the ranks, which train on this machine: a studio that draws must
  // not slow down what it shows.
  if (!pictures) {
    lockstep::base::stepProgramBehind();
  }
  usualMessages = qInstallMessageHandler(tellMessage);
  // What Qt reads as the application is made comes before that.
  prepareGl();
  if (!pictures && qEnvironmentVariableIsEmpty("QT_SCALE_FACTOR")) {
    // Qt reads it once, as the application is made.
    const double scale = lockstep::ui::Settings().scale() / 100.0;
    qputenv("QT_SCALE_FACTOR", QByteArray::number(scale));
  }
  QCoreApplication::setApplicationName(QStringLiteral("lockstep-studio"));
  QCoreApplication::setApplicationVersion(QStringLiteral(LOCKSTEP_VERSION));
  // By the name of its desktop entry a desktop knows the window.
  QGuiApplication::setDesktopFileName(QStringLiteral("lockstep-studio"));
  QApplication application(argc, argv);
  lockstep::ui::useTypeface();
  QApplication::setWindowIcon(windowIcon());
  return pictures ? lockstep::studio::drawPictures(options) : runStudio(options, application);
}
