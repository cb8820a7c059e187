#include "engine/process_group/mpi/Inquiry.h"

#include <fmt/format.h>

#include "engine/base/NumberText.h"
#include "engine/process_group/Joining.h"

namespace lockstep::process_group::mpi {
namespace {

constexpr int kAskTag = 4;
constexpr int kTellTag = 5;

}  // namespace

Inquiry::Inquiry(MPI_Comm comm, int rank, int size)
    : comm_(comm), rank_(rank), size_(size), latest_(static_cast<std::size_t>(size), -1) {}

void Inquiry::send(int peer, int tag, std::uint64_t number) {
  sent_.push_back(Message{number, MPI_REQUEST_NULL});
  check(MPI_Isend(&sent_.back().number, 1, MPI_UINT64_T, peer, tag, comm_, &sent_.back().request),
        "MPI_Isend");
}

void Inquiry::ask(Clock::time_point now, std::chrono::milliseconds patience) {
  if (now - askedAt_ < patience) {
    return;
  }
  askedAt_ = now;
  // All at once, and again after as long: a rank may come meanwhile.
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_) {
      send(peer, kAskTag, 0);
    }
  }
}

// Messages are so short that a receive ends as soon as it has begun.
void Inquiry::take(int tag, const std::function<void(int, std::uint64_t)>& handle) {
  for (;;) {
    int found = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm_, &found, &status), "MPI_Iprobe");
    if (found == 0) {
      return;
    }
    std::uint64_t number = 0;
    check(MPI_Recv(&number, 1, MPI_UINT64_T, status.MPI_SOURCE, tag, comm_, MPI_STATUS_IGNORE),
          "MPI_Recv");
    handle(status.MPI_SOURCE, number);
  }
}

void Inquiry::poll(const std::function<std::uint64_t()>& latest) {
  // MPI reads the number until the send has ended.
  sent_.remove_if([](Message& message) {
    int done = 0;
    check(MPI_Test(&message.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  });
  // Questions are answered by the MPI thread, whatever the rank itself is doing.
  take(kAskTag, [&](int peer, std::uint64_t) { send(peer, kTellTag, latest()); });
  take(kTellTag, [&](int peer, std::uint64_t number) {
    latest_[static_cast<std::size_t>(peer)] = static_cast<std::int64_t>(number);
  });
}

Inquiry::Missing Inquiry::missing(std::uint64_t sequence) const {
  std::vector<int> behind;
  std::vector<int> silent;
  for (int rank = 0; rank < size_; ++rank) {
    const std::int64_t latest = latest_[static_cast<std::size_t>(rank)];
    if (rank == rank_ || latest >= static_cast<std::int64_t>(sequence)) {
      continue;
    }
    (latest < 0 ? silent : behind).push_back(rank);
  }
  Missing result;
  // One rank alone is to blame; of several, none more than another.
  if (behind.size() + silent.size() == 1) {
    result.rank = behind.empty() ? silent[0] : behind[0];
  }
  if (!behind.empty()) {
    result.text = fmt::format("waiting for {} to call it", base::ranksText(behind));
  }
  if (!silent.empty()) {
    result.text += fmt::format("{}{} {} not answer", result.text.empty() ? "" : "; ",
                               base::ranksText(silent), silent.size() == 1 ? "does" : "do");
  }
  return result;
}

}  // namespace lockstep::process_group::mpi
