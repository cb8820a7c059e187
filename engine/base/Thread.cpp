#include "engine/base/Thread.h"

#include <pthread.h>

#include <array>

namespace lockstep::base {

void nameThisThread(const std::string& name) {
  // A longer name would be refused as a whole.
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

std::string thisThreadName() {
  std::array<char, 16> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

}  // namespace lockstep::base
