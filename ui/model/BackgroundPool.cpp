#include "ui/model/BackgroundPool.h"

#include <QCoreApplication>
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

}  // namespace lockstep::ui
