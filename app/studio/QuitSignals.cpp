#include "app/studio/QuitSignals.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <QCoreApplication>
#include <array>
#include <cstdint>

namespace lockstep::studio {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

// Of the handler, which may only touch what is safe in one.
volatile sig_atomic_t received = 0;
volatile sig_atomic_t wakeFd = -1;

void restore(int signal) {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
}

void onSignal(int signal) {
  received = signal;
  for (const int other : kSignals) {
    restore(other);
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wakeFd, &one, sizeof one);
}

}  // namespace

QuitSignals::QuitSignals() {
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) {
    return;  // signals end the program at once, as they do without this
  }
  wakeFd = fd;
  notifier_ = std::make_unique<QSocketNotifier>(fd, QSocketNotifier::Read);
  QObject::connect(notifier_.get(), &QSocketNotifier::activated, notifier_.get(), [this] {
    notifier_->setEnabled(false);
    QCoreApplication::quit();
  });
  for (const int signal : kSignals) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (signal == SIGHUP && before.sa_handler == SIG_IGN) {
      continue;
    }
    struct sigaction ours {};
    ours.sa_handler = onSignal;
    ours.sa_flags = SA_RESTART;
    sigaction(signal, &ours, nullptr);
  }
}

QuitSignals::~QuitSignals() {
  if (notifier_ == nullptr) {
    return;
  }
  for (const int signal : kSignals) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler == onSignal) {
      restore(signal);
    }
  }
  notifier_.reset();
  close(wakeFd);
  wakeFd = -1;
}

int QuitSignals::exitCode(int without) const {
  return received == 0 ? without : 128 + static_cast<int>(received);
}

}  // namespace lockstep::studio
