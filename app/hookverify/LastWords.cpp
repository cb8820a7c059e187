#include "app/hookverify/LastWords.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "engine/base/CrashNote.h"

namespace lockstep::hookverify {

namespace {

int resultsFd = -1;

/// Async-signal-safe.
void writeNote() {
  if (const char* note = base::CrashNote::current(); note != nullptr) {
    // In place of the JSON, and not beside it: who reads finds a sentence where an object should
    // be.
    (void)!write(resultsFd, note, std::strlen(note));
  }
}

void crashed(int signal) {
  writeNote();
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  raise(signal);  // takes effect on return
}

/// Static objects are not destroyed: other threads are at work with them.
void exited(int status, void*) {
  writeNote();
  std::_Exit(status);
}

}  // namespace

void sayWhereItEnds(int results) {
  resultsFd = results;
  for (const int signal : std::array{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    struct sigaction action {};
    action.sa_handler = crashed;
    sigaction(signal, &action, nullptr);
  }
  on_exit(exited, nullptr);
}

}  // namespace lockstep::hookverify
