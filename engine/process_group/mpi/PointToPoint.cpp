#include "engine/process_group/mpi/PointToPoint.h"

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

}  // namespace

void PointToPoint::add(Transfer transfer) {
  transfer.open->startTicks.store(base::ticks());
  if (transfer.sends()) {
    offer(std::move(transfer));
  } else if (auto match = transfers_.meet(transfer)) {
    take(std::move(*match));
  } else {
    transfers_.wait(std::move(transfer));
  }
}

void PointToPoint::offer(Transfer transfer) {
  const Call& call = transfer.open->call;
  const Offer offer{transfers_.nextId(), Content::of(call), call.bytes, transfer.tag};
  std::vector<std::byte> message = bytesOf(offer);
  // With its data: a small message is done with one answer.
  if (offer.bytes <= kInlineBytes) {
    message.resize(sizeof(Offer) + offer.bytes);
    transfer.flat.read(0, offer.bytes, message.data() + sizeof(Offer));
  }
  const int peer = call.root;
  transfers_.sent(offer.id, std::move(transfer));
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
  if (transfers_.receiving()) {
    probe(kOfferTag, offersComing_, activity);
  }
  if (transfers_.sending()) {
    probe(kAnswerTag, answersComing_, activity);
  }
  // In the order of their coming, which is that of the sender's calls.
  while (!offersComing_.empty() && done(offersComing_.front().request)) {
    const Parcel parcel = std::move(offersComing_.front());
    offersComing_.pop_front();
    Arrived arrived{valueOf<Offer>(parcel.bytes), {}};
    arrived.data.assign(parcel.bytes.begin() + sizeof(Offer), parcel.bytes.end());
    const std::uint32_t tag = arrived.offer.tag;
    if (auto receive = transfers_.taker(parcel.source, tag)) {
      take({std::move(*receive), parcel.source, std::move(arrived)});
    } else {
      transfers_.keep(parcel.source, tag, std::move(arrived));
    }
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

void PointToPoint::take(Transfers::Match match) {
  auto& [transfer, source, arrived] = match;
  const Offer& theirs = arrived.offer;
  transfer.open->work->setSourceRank(source);
  Answer answer{theirs.id, Content::of(transfer.open->call), Verdict::kTaken};
  if (theirs.content != answer.expected) {
    answer.verdict = Verdict::kRefused;
    post(source, kAnswerTag, bytesOf(answer));
    end(transfer, refusedHere(source, theirs.content, answer.expected));
    return;
  }
  if (arrived.data.size() == theirs.bytes) {
    transfer.flat.write(0, theirs.bytes, arrived.data.data());
    post(source, kAnswerTag, bytesOf(answer));
    end(transfer);
    return;
  }
  // The receive is posted before the answer goes out: data comes into it as soon as the sender has
  // heard.
  answer.verdict = Verdict::kSend;
  transfer.open->setWaiting(Flight::Waiting::kData, source);
  stream(std::move(transfer), source, false);
  post(source, kAnswerTag, bytesOf(answer));
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
  std::optional<Transfer> transfer = transfers_.answered(answer.id, source);
  if (!transfer) {
    return;
  }
  switch (answer.verdict) {
    case Verdict::kTaken: return end(*transfer);
    case Verdict::kSend: return stream(std::move(*transfer), source, true);
    case Verdict::kRefused:
      return end(*transfer,
                 refusedThere(source, answer.expected, Content::of(transfer->open->call)));
  }
}

void PointToPoint::end(const Transfer& transfer, const std::optional<Failure>& refusal) {
  if (refusal || transfer.sends()) {
    dispatcher_.finish(transfer.open, nullptr, refusal);
    return;
  }
  // The copy back is for a worker: the MPI thread does nothing that takes long.
  auto flat = std::make_shared<Flat>(transfer.flat);
  dispatcher_.finish(transfer.open, [flat] { flat->copyBack(); });
}

bool PointToPoint::open() const {
  return transfers_.sending() || transfers_.receiving() || !sent_.empty() ||
         !offersComing_.empty() || !answersComing_.empty() || !streams_.empty();
}

}  // namespace lockstep::process_group::mpi
