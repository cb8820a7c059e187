#include "app/studio/QuitSignals.h"

#include <signal.h>

#include <QCoreApplication>
#include <array>
#include <atomic>

namespace lockstep::studio {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

// Of the handler, which may only touch what is safe in one.
volatile sig_atomic_t received = 0;
std::atomic<const posix::WakeUp*> wakeUp = nullptr;
static_assert(std::atomic<const posix::WakeUp*>::is_always_lock_free);

void restore(int signal) {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
}

void onSignal(int signal) {
  // The first signal asks, and the second ends the program: its usual action is back from here on,
  // also where the studio hangs or asks a question that nobody is there to answer.
  received = signal;
  for (const int other : kSignals) {
    restore(other);
  }
  if (const posix::WakeUp* one = wakeUp) {
    one->wake();
  }
}

}  // namespace

QuitSignals::QuitSignals() {
  if (!wakeUp_.open()) {
    return;  // signals end the program at once, as they do without this
  }
  wakeUp = &wakeUp_;
  notifier_ = std::make_unique<QSocketNotifier>(wakeUp_.fd(), QSocketNotifier::Read);
  QObject::connect(notifier_.get(), &QSocketNotifier::activated, notifier_.get(), [this] {
    // The descriptor stays readable, and would call this again in each turn of the event loop.
    notifier_->setEnabled(false);
    QCoreApplication::quit();
  });
  for (const int signal : kSignals) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    // By nohup, so that the program outlives its terminal.
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
  // Only now: the handler, which wakes it, is no longer set.
  notifier_.reset();
  wakeUp = nullptr;
}

int QuitSignals::exitCode(int without) const {
  return received == 0 ? without : 128 + static_cast<int>(received);
}

}  // namespace lockstep::studio
