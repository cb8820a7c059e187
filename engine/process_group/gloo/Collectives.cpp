#include "engine/process_group/gloo/Collectives.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <memory>

#include "engine/process_group/operation/Moves.h"
#include "engine/process_group/operation/PieceReduction.h"

namespace lockstep::process_group::gloo {
namespace {

using Tensors = std::vector<at::Tensor>;

// Large messages, some of them in flight, keep the number of wake-ups down. 25 MB, two ranks: 45 ms
// with segments of 64 KB, 16 ms with four of 1 MB in flight, 18 ms with eight of 2 MB.
constexpr std::size_t kSegmentBytes = 1024 * 1024;
constexpr std::size_t kWindow = 4;
// What the segments of all peers in flight may take together: memory that each worker keeps.
constexpr std::size_t kWindowBytes = 8 * 1024 * 1024;

constexpr unsigned kReduceLane = 0;
constexpr unsigned kGatherLane = 1;

template <typename Function>
void forEachPeer(const Flight& flight, Function function) {
  process_group::forEachPeer(flight.rank, flight.size,
                             [&](int peer) { function(static_cast<std::size_t>(peer)); });
}

std::size_t segmentBytes(int ranks) {
  const std::size_t share = kWindowBytes / (static_cast<std::size_t>(ranks - 1) * kWindow);
  return std::clamp<std::size_t>(share / 64 * 64, 64 * 1024, kSegmentBytes);
}

constexpr std::size_t kWhole = ~std::size_t{0};

// A piece as it goes over the network, to a peer or from it, in segments of `each` bytes. All ranks
// must cut alike. Its memory holds `window` of them.
class Stream {
 public:
  Stream(std::size_t bytes, std::size_t each, std::size_t window = kWhole,
         std::unique_ptr<Channel> channel = nullptr)
      : bytes_(bytes), each_(each), window_(window), channel_(std::move(channel)) {}

  [[nodiscard]] bool has(std::size_t index) const { return index * each_ < bytes_; }
  [[nodiscard]] std::size_t place(std::size_t index) const { return index % window_ * each_; }
  [[nodiscard]] std::size_t length(std::size_t index) const {
    return std::min(each_, bytes_ - index * each_);
  }
  void send(std::size_t index) { channel_->send(place(index), length(index)); }
  void receive(std::size_t index) { channel_->receive(place(index), length(index)); }
  void finishSend(std::size_t) { channel_->finishSend(); }
  void finishReceive(std::size_t) { channel_->finishReceive(); }

 private:
  std::size_t bytes_;  // 0: no data goes this way
  std::size_t each_;
  std::size_t window_;
  std::unique_ptr<Channel> channel_;
};

// At least so many bytes, aligned to 64, which a worker keeps from operation to operation.
std::byte* scratch(std::size_t bytes) {
  thread_local at::Tensor memory;
  if (!memory.defined() || memory.nbytes() < bytes) {
    memory = at::Tensor();
    memory = at::empty({static_cast<std::int64_t>(bytes)}, at::TensorOptions(at::kByte));
  }
  return static_cast<std::byte*>(memory.data_ptr());
}

void run(Flight& flight, const PieceReduction& reduction) {
  const auto self = static_cast<std::size_t>(flight.rank);
  const std::vector<Block>& pieces = reduction.pieces();
  const Block mine = reduction.mine();
  const Block result = reduction.result();
  if (flight.size == 1) {
    copy(result, mine);
    return;
  }
  const std::size_t each = segmentBytes(flight.size);
  std::size_t most = 0;
  for (const Block& piece : pieces) {
    most = std::max(most, piece.bytes);
  }
  const std::size_t rounds = (most + each - 1) / each;
  const std::size_t window = std::min(kWindow, std::max<std::size_t>(rounds, 1));
  const std::size_t area = std::min(window * each, mine.bytes);
  std::byte* const memory = scratch(area * (pieces.size() - 1));
  const auto incoming = [&](std::size_t peer) {
    return Block{reduction.incoming(memory, area, static_cast<int>(peer)), area};
  };

  using Streams = std::vector<Stream>;  // by rank
  const auto streams = [&](unsigned lane, std::size_t of, auto piece, auto memoryOf) {
    Streams all;
    for (std::size_t peer = 0; peer < pieces.size(); ++peer) {
      const Block block = peer == self ? Block{} : piece(peer);
      all.emplace_back(block.bytes, each, of,
                       block.bytes == 0
                           ? nullptr
                           : std::make_unique<Channel>(flight, static_cast<int>(peer),
                                                       flight.slot(lane), memoryOf(peer)));
    }
    return all;
  };
  const auto pieceOf = [&](std::size_t peer) { return pieces[peer]; };
  // A peer sends a segment of its result only after it received ours of the same place, so that
  // results may come straight into the pieces.
  const auto gatheredOf = [&](std::size_t peer) {
    return reduction.gathers(flight.rank) ? pieces[peer] : Block{};
  };
  const auto onwardTo = [&](std::size_t peer) {
    return reduction.gathers(static_cast<int>(peer)) ? result : Block{};
  };
  Streams gathered = streams(kGatherLane, kWhole, gatheredOf, gatheredOf);
  Streams onward = streams(kGatherLane, kWhole, onwardTo, onwardTo);
  Streams in = streams(
      kReduceLane, window, [&](std::size_t) { return mine; }, incoming);
  Streams out = streams(kReduceLane, kWhole, pieceOf, pieceOf);
  const auto forAll = [&](Streams& of, std::size_t round, auto what) {
    forEachPeer(flight, [&](std::size_t peer) {
      if (of[peer].has(round)) {
        (of[peer].*what)(round);
      }
    });
  };
  const auto start = [&](std::size_t round) {
    forAll(in, round, &Stream::receive);
    forAll(out, round, &Stream::send);
  };

  for (std::size_t round = 0; round < rounds; ++round) {
    forAll(gathered, round, &Stream::receive);
  }
  for (std::size_t round = 0; round < window; ++round) {
    start(round);
  }
  const Stream own(mine.bytes, each);
  for (std::size_t round = 0; round < rounds; ++round) {
    forAll(in, round, &Stream::finishReceive);
    if (reduction.exchanged()) {
      forAll(out, round, &Stream::finishSend);
    }
    if (own.has(round)) {
      reduction.combine(own.place(round), own.length(round), [&](int peer) {
        const auto index = static_cast<std::size_t>(peer);
        return incoming(index).data + in[index].place(round);
      });
      forAll(onward, round, &Stream::send);
    }
    if (!reduction.exchanged()) {
      forAll(out, round, &Stream::finishSend);
    }
    start(round + window);
  }
  for (std::size_t round = 0; round < rounds; ++round) {
    forAll(gathered, round, &Stream::finishReceive);
    forAll(onward, round, &Stream::finishSend);
  }
}

}  // namespace

void move(Flight& flight, const Tensors& outputs, const Tensors& inputs) {
  Moves moves(flight.call, outputs, inputs, flight.rank);
  moves.show();
  // The size is part of the name: an alltoall's sizes are agreed between two ranks only.
  const auto start = [&](auto blocksOf, auto begin) {
    std::vector<Channel> channels;
    forEachPeer(flight, [&](std::size_t peer) {
      for (const Block& block : (moves.*blocksOf)(static_cast<int>(peer))) {
        channels.emplace_back(flight, static_cast<int>(peer), flight.slot(0, block.bytes), block);
        (channels.back().*begin)(0, block.bytes);
      }
    });
    return channels;
  };
  auto arriving = start(&Moves::from, &Channel::receive);
  auto leaving = start(&Moves::to, &Channel::send);
  moves.keepOwn();
  for (Channel& channel : arriving) {
    channel.finishReceive();
  }
  for (Channel& channel : leaving) {
    channel.finishSend();
  }
  moves.copyBack();
}

void reduce(Flight& flight, const Tensors& outputs, const Tensors& inputs) {
  if (flight.size == 1 && inputs.empty()) {
    return;  // in place
  }
  PieceReduction reduction(flight.call, outputs, inputs, flight.rank, flight.size);
  reduction.show();
  run(flight, reduction);
  reduction.copyBack();
}

void barrier(Flight& flight) {
  for (int distance = 1; distance < flight.size; distance *= 2) {
    const int to = (flight.rank + distance) % flight.size;
    const int from = (flight.rank + flight.size - distance) % flight.size;
    Channel in(flight, from, flight.slot(0), {});
    Channel out(flight, to, flight.slot(0), {});
    in.receive(0, 0);
    out.send(0, 0);
    in.finishReceive();
    out.finishSend();
  }
}

}  // namespace lockstep::process_group::gloo
