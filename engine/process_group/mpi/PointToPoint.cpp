#include "engine/process_group/mpi/PointToPoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/base/Clock.h"
#include "engine/process_group/mpi/Dispatcher.h"
#include "engine/process_group/mpi/Requests.h"

namespace lockstep::process_group::mpi {
namespace {

constexpr int kOfferTag = 1;
constexpr int kAnswerTag = 2;
constexpr int kDataTag = 3;
// Below what MPIs send without asking the receiver first.
constexpr std::uint64_t kInlineBytes = 2048;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

template <typename T>
std::vector<std::byte> bytesOf(const T& value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <typename T>
T valueOf(const std::vector<std::byte>& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// "3 Float"
std::string amount(std::uint64_t elements, std::int32_t dtype) {
  return fmt::format("{} {}", elements, c10::toString(static_cast<c10::ScalarType>(dtype)));
}

}  // namespace

PointToPoint::Offer PointToPoint::describe(const Transfer& transfer) {
  const Call& call = transfer.flight->call;
  return Offer{0, call.elements, call.bytes, transfer.tag, static_cast<std::int32_t>(call.dtype)};
}

void PointToPoint::add(Transfer transfer) {
  transfer.flight->startTicks.store(base::ticks());
  if (transfer.flight->call.operation == trace::Operation::kSend) {
    offer(std::move(transfer));
  } else {
    wanted_.push_back(std::move(transfer));
    match();
  }
}

void PointToPoint::offer(Transfer transfer) {
  Offer offer = describe(transfer);
  offer.id = ++ids_;
  std::vector<std::byte> message = bytesOf(offer);
  // With its data: a small message is done with one answer.
  if (offer.bytes <= kInlineBytes) {
    message.resize(sizeof(Offer) + offer.bytes);
    transfer.flat.read(0, offer.bytes, message.data() + sizeof(Offer));
  }
  const int peer = transfer.flight->call.root;
  // Kept before it is posted: an answer may come at the next poll.
  offered_.emplace(offer.id, std::move(transfer));
  post(peer, kOfferTag, std::move(message));
}

void PointToPoint::post(int peer, int tag, std::vector<std::byte> bytes) {
  sent_.push_back(Parcel{std::move(bytes), MPI_REQUEST_NULL, -1});
  Parcel& parcel = sent_.back();
  check(MPI_Isend(parcel.bytes.data(), static_cast<int>(parcel.bytes.size()), MPI_BYTE, peer, tag,
                  comm_, &parcel.request),
        "MPI_Isend");
}

// Begins to receive every message of this tag that has come.
void PointToPoint::probe(int tag, std::list<Parcel>& parcels, Client::Activity& activity) {
  // Matched (Improbe) and then received by that match: a plain receive could take another message.
  for (;;) {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check(MPI_Improbe(MPI_ANY_SOURCE, tag, comm_, &found, &message, &status), "MPI_Improbe");
    if (found == 0) {
      return;
    }
    int bytes = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    parcels.push_back(Parcel{std::vector<std::byte>(static_cast<std::size_t>(bytes)),
                             MPI_REQUEST_NULL, status.MPI_SOURCE});
    check(
        MPI_Imrecv(parcels.back().bytes.data(), bytes, MPI_BYTE, &message, &parcels.back().request),
        "MPI_Imrecv");
    activity.moved = true;
  }
}

void PointToPoint::poll(Client::Activity& activity) {
  const auto done = [](MPI_Request& request) {
    int flag = 0;
    check(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    return flag != 0;
  };
  sent_.remove_if([&](Parcel& parcel) { return done(parcel.request); });
  // Probing costs a call: only where something can be waited for.
  if (!wanted_.empty()) {
    probe(kOfferTag, offersComing_, activity);
  }
  if (!offered_.empty()) {
    probe(kAnswerTag, answersComing_, activity);
  }
  // In the order of their coming, which is that of the sender's calls.
  while (!offersComing_.empty() && done(offersComing_.front().request)) {
    Parcel& parcel = offersComing_.front();
    Arrived arrived{parcel.source, valueOf<Offer>(parcel.bytes), {}};
    arrived.data.assign(parcel.bytes.begin() + sizeof(Offer), parcel.bytes.end());
    offers_.push_back(std::move(arrived));
    offersComing_.pop_front();
    match();
  }
  while (!answersComing_.empty() && done(answersComing_.front().request)) {
    handleAnswer(answersComing_.front().source, valueOf<Answer>(answersComing_.front().bytes));
    answersComing_.pop_front();
  }
  for (auto it = streams_.begin(); it != streams_.end();) {
    int all = 0;
    check(MPI_Testall(static_cast<int>(it->requests.size()), it->requests.data(), &all,
                      MPI_STATUSES_IGNORE),
          "MPI_Testall");
    if (all == 0) {
      ++it;
      continue;
    }
    end(it->transfer);
    it = streams_.erase(it);
    activity.moved = true;
  }
  activity.open = activity.open || open();
}

// Gives each receive, oldest first, the oldest offer it takes.
void PointToPoint::match() {
  // Older receives first, and each takes its oldest offer: so of one source and tag both sides keep
  // the order of their calls.
  for (auto wanted = wanted_.begin(); wanted != wanted_.end();) {
    const int from = wanted->flight->call.root;
    const auto found = std::find_if(offers_.begin(), offers_.end(), [&](const Arrived& arrived) {
      return arrived.offer.tag == wanted->tag && (from < 0 || from == arrived.source);
    });
    if (found == offers_.end()) {
      ++wanted;
      continue;
    }
    Transfer transfer = std::move(*wanted);
    const Arrived arrived = std::move(*found);
    offers_.erase(found);
    wanted = wanted_.erase(wanted);
    take(std::move(transfer), arrived);
  }
}

void PointToPoint::take(Transfer transfer, const Arrived& arrived) {
  const Offer mine = describe(transfer);
  const Offer& theirs = arrived.offer;
  transfer.flight->work->setSourceRank(arrived.source);
  Answer answer{theirs.id, mine.elements, mine.dtype, Verdict::kTaken};
  if (theirs.elements != mine.elements || theirs.dtype != mine.dtype) {
    answer.verdict = Verdict::kRefused;
    post(arrived.source, kAnswerTag, bytesOf(answer));
    end(transfer,
        fmt::format("rank {} sends {}, this rank expects {}", arrived.source,
                    amount(theirs.elements, theirs.dtype), amount(mine.elements, mine.dtype)),
        arrived.source);
    return;
  }
  if (arrived.data.size() == theirs.bytes) {
    transfer.flat.write(0, theirs.bytes, arrived.data.data());
    post(arrived.source, kAnswerTag, bytesOf(answer));
    end(transfer);
    return;
  }
  // The receive is posted before the answer goes out: data comes into it as soon as the sender has
  // heard.
  answer.verdict = Verdict::kSend;
  transfer.flight->setWaiting(Flight::Waiting::kData, arrived.source);
  stream(std::move(transfer), arrived.source, false);
  post(arrived.source, kAnswerTag, bytesOf(answer));
}

void PointToPoint::stream(Transfer transfer, int peer, bool sends) {
  // Kept first: when a later piece fails, MPI has the memory of those before it.
  streams_.push_back(Stream{std::move(transfer), {}});
  auto& [kept, requests] = streams_.back();
  for (const auto& [begin, count] : mpiPieces(kept.flat.bytes(), kMostBytes)) {
    requests.push_back(MPI_REQUEST_NULL);
    std::byte* const data = kept.flat.at(begin);
    if (sends) {
      check(MPI_Isend(data, count, MPI_BYTE, peer, kDataTag, comm_, &requests.back()), "MPI_Isend");
    } else {
      check(MPI_Irecv(data, count, MPI_BYTE, peer, kDataTag, comm_, &requests.back()), "MPI_Irecv");
    }
  }
}

void PointToPoint::handleAnswer(int source, const Answer& answer) {
  const auto found = offered_.find(answer.id);
  // It has failed meanwhile, and its answer came late.
  if (found == offered_.end()) {
    return;
  }
  Transfer transfer = std::move(found->second);
  offered_.erase(found);
  switch (answer.verdict) {
    case Verdict::kTaken:
      end(transfer);
      return;
    case Verdict::kSend:
      stream(std::move(transfer), source, true);
      return;
    case Verdict::kRefused: {
      const Offer mine = describe(transfer);
      end(transfer,
          fmt::format("rank {} expects {}, this rank sends {}", source,
                      amount(answer.elements, answer.dtype), amount(mine.elements, mine.dtype)),
          source);
      return;
    }
  }
}

void PointToPoint::end(const Transfer& transfer, const std::string& refusal, int peer) {
  if (!refusal.empty()) {
    dispatcher_.finish(transfer.flight, nullptr, Failure{refusal, peer, CommErrorKind::kMismatch});
    return;
  }
  if (transfer.flight->call.operation == trace::Operation::kSend) {
    dispatcher_.finish(transfer.flight);
    return;
  }
  // The copy back is for a worker: the MPI thread does nothing that takes long.
  auto flat = std::make_shared<Flat>(transfer.flat);
  dispatcher_.finish(transfer.flight, [flat] { flat->copyBack(); });
}

bool PointToPoint::open() const {
  return !offered_.empty() || !wanted_.empty() || !sent_.empty() || !offersComing_.empty() ||
         !answersComing_.empty() || !streams_.empty();
}

}  // namespace lockstep::process_group::mpi
