#include "ui/model/BackgroundJob.h"

#include <QThreadPool>

namespace lockstep::ui {
namespace {

QThreadPool* pool = nullptr;

void endPool() {
  delete pool;  // waits
  pool = nullptr;
}

}  // namespace

QThreadPool& backgroundPool() {
  if (pool == nullptr) {
    pool = new QThreadPool;
    qAddPostRoutine(endPool);
  }
  return *pool;
}

void startInBackground(std::function<void()> work) {
  backgroundPool().start(std::move(work));
}

}  // namespace lockstep::ui
