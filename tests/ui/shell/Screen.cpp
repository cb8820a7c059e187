#include "tests/ui/shell/Screen.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QImage>
#include <QWidget>
#include <cmath>
#include <cstdlib>
#include <thread>

namespace lockstep::tests {
namespace {

bool near(std::uint32_t a, std::uint32_t b, int tolerance) {
  for (const int shift : {0, 8, 16}) {
    const int difference = static_cast<int>(a >> shift & 0xFF) - static_cast<int>(b >> shift & 0xFF);
    if (std::abs(difference) > tolerance) return false;
  }
  return true;
}

}  // namespace

bool waitUntil(const std::function<bool()>& condition, std::chrono::milliseconds patience) {
  QElapsedTimer clock;
  clock.start();
  while (!condition()) {
    if (clock.elapsed() > patience.count()) {
      return false;
    }
    QCoreApplication::processEvents(QEventLoop::AllEvents, 10);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

QPoint middleOf(const QWidget* widget) {
  return middleOf(widget, [widget] { return widget->rect(); });
}

QPoint middleOf(const QWidget* widget, const std::function<QRect()>& area) {
  constexpr int kSame = 15;  // looks, over which nothing moved
  QPoint last;
  int same = 0;
  waitUntil([&] {
    const QPoint now = widget->mapToGlobal(area().center());
    const bool there = widget->isVisible() && !area().isEmpty();
    same = there && now == last ? same + 1 : 0;
    last = now;
    return same >= kSame;
  });
  return last;
}

int countPixels(const Screenshot& shot, std::uint32_t color, int tolerance) {
  int count = 0;
  for (const std::uint32_t pixel : shot.pixels) {
    count += near(pixel, color, tolerance) ? 1 : 0;
  }
  return count;
}

QRect findLine(const Screenshot& shot, std::uint32_t color, int minimumWidth) {
  for (int y = 0; y < shot.height; ++y) {
    int width = 0;
    for (int x = 0; x <= shot.width; ++x) {
      if (x < shot.width && near(shot.at(x, y), color, 2)) {
        ++width;
      } else if (width >= minimumWidth) {
        return {x - width, y, width, 1};
      } else {
        width = 0;
      }
    }
  }
  return {};
}

QString programs() {
  const char* folder = std::getenv("LOCKSTEP_BIN");
  return folder != nullptr ? QString::fromLocal8Bit(folder) : QCoreApplication::applicationDirPath();
}

void keep(const Screenshot& shot, const QString& name) {
  const char* folder = std::getenv("LOCKSTEP_TEST_SCREENSHOTS");
  if (folder == nullptr) {
    return;
  }
  const QImage image(reinterpret_cast<const uchar*>(shot.pixels.data()), shot.width, shot.height,
                     QImage::Format_RGB32);
  image.save(QString::fromLocal8Bit(folder) + '/' + name + ".png");
}

}  // namespace lockstep::tests
