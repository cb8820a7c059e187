#include "engine/process_group/NoticeBoard.h"

#include <fmt/format.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include "engine/base/Thread.h"

namespace lockstep::process_group {

// Shared with the thread, which may be stuck in a store that does not answer when the board
// goes: then it ends by itself once the store's own time limit has passed.
struct NoticeBoard::State {
  explicit State(std::shared_ptr<store::Store> store) : store(std::move(store)) {}

  void work() {
    base::nameThisThread("notices");
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [this] { return stopping || !tasks.empty(); });
      if (tasks.empty() || stopping) {
        break;
      }
      Task task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      try {
        task(*store);
      } catch (const std::exception&) {
        // Notices help to explain a failure; a dead store is the failure's own matter.
      }
      task = nullptr;
      lock.lock();
    }
    ended = true;
    wake.notify_all();
  }

  const std::shared_ptr<store::Store> store;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Task> tasks;
  bool stopping = false;
  bool ended = true;
};

namespace {

std::string stuckKey(const std::string& prefix, std::uint64_t sequence, int rank) {
  return fmt::format("{}stuck/{}/{}", prefix, sequence, rank);
}

std::string reasonKey(const std::string& prefix, int rank) {
  return fmt::format("{}failed/{}", prefix, rank);
}

std::string placeKey(const std::string& prefix, int rank) {
  return fmt::format("{}place/{}", prefix, rank);
}

// "<number>|<text>"
std::string numbered(int number, const std::string& text) {
  return fmt::format("{}|{}", number, text);
}

std::pair<int, std::string> takeNumber(const std::string& text) {
  const std::size_t bar = text.find('|');
  return {std::atoi(text.c_str()), bar == std::string::npos ? text : text.substr(bar + 1)};
}

}  // namespace

NoticeBoard::NoticeBoard(std::shared_ptr<store::Store> store, const std::string& group, int rank,
                         int size)
    : state_(std::make_shared<State>(std::move(store))),
      prefix_(group + "/"),
      rank_(rank),
      size_(size) {}

NoticeBoard::~NoticeBoard() {
  // A store that does not answer may hold the thread longer; it has its own share of the state.
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->wake.notify_all();
  state_->wake.wait_for(lock, std::chrono::seconds(2), [this] { return state_->ended; });
}

void NoticeBoard::post(Task task) {
  std::lock_guard lock(state_->mutex);
  if (state_->stopping) {
    return;
  }
  state_->tasks.push_back(std::move(task));
  if (state_->ended) {  // most groups never need the thread
    std::thread([state = state_] { state->work(); }).detach();
    state_->ended = false;
  }
  state_->wake.notify_all();
}

// Runs a task on the board's thread and waits for it; false when it took longer, threw, or the
// board is going.
bool NoticeBoard::run(Task task, std::chrono::milliseconds patience) {
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> future = done->get_future();
  post([task = std::move(task), done](store::Store& store) {
    task(store);
    done->set_value();
  });
  if (future.wait_for(patience) != std::future_status::ready) {
    return false;
  }
  try {
    future.get();
  } catch (const std::future_error&) {  // the task threw, or the board is closing
    return false;
  }
  return true;
}

void NoticeBoard::compare(std::uint64_t sequence, const std::string& note,
                          const std::optional<Place>& place, std::function<void(Told)> done) {
  // By value: the task may run when the board is gone.
  post([=, prefix = prefix_, rank = rank_, size = size_](store::Store& store) {
    store.set(stuckKey(prefix, sequence, rank), note);
    if (place) {
      store.set(placeKey(prefix, rank), numbered(place->peer, place->call));
    }
    Told told;
    for (int other = 0; other < size; ++other) {
      if (other == rank) {
        continue;
      }
      // A look before each get(): get() would wait for a key that nobody wrote.
      if (const auto key = stuckKey(prefix, sequence, other); store.check({key})) {
        told.notes.emplace_back(other, store.get(key));
      }
      if (const auto key = placeKey(prefix, other); store.check({key})) {
        const auto [peer, call] = takeNumber(store.get(key));
        told.places[other] = Place{call, peer};
      }
    }
    done(std::move(told));
  });
}

void NoticeBoard::withdraw(std::uint64_t sequence, bool place) {
  post([=, prefix = prefix_, rank = rank_](store::Store& store) {
    store.deleteKey(stuckKey(prefix, sequence, rank));
    if (place) {
      store.deleteKey(placeKey(prefix, rank));
    }
  });
}

bool NoticeBoard::announce(const Failure& reason, std::chrono::milliseconds patience) {
  const std::string text =
      numbered(static_cast<int>(reason.kind), numbered(reason.peer, reason.what));
  return run([key = reasonKey(prefix_, rank_), text](store::Store& store) { store.set(key, text); },
             patience);
}

NoticeBoard::Reasons NoticeBoard::reasons(std::chrono::milliseconds patience) {
  auto reasons = std::make_shared<Reasons>();
  const bool read = run(
      [reasons, prefix = prefix_, rank = rank_, size = size_](store::Store& store) {
        for (int other = 0; other < size; ++other) {
          if (other != rank && store.check({reasonKey(prefix, other)})) {
            const auto [kind, rest] = takeNumber(store.get(reasonKey(prefix, other)));
            const auto [peer, what] = takeNumber(rest);
            reasons->emplace_back(other, Failure{what, peer, static_cast<CommErrorKind>(kind)});
          }
        }
      },
      patience);
  return read ? *reasons : Reasons{};
}

}  // namespace lockstep::process_group
