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

std::unique_ptr<Channel> channel(Flight& flight, std::size_t peer, std::uint64_t slot,
                                 Block block) {
  return std::make_unique<Channel>(flight, static_cast<int>(peer), slot, block);
}

// A piece as it goes over the network, segment by segment. All ranks must cut alike.
struct Segments {
  Block piece;
  std::size_t each = 0;

  [[nodiscard]] std::size_t count() const { return (piece.bytes + each - 1) / each; }
  [[nodiscard]] std::size_t offset(std::size_t index) const { return index * each; }
  [[nodiscard]] std::size_t length(std::size_t index) const {
    return std::min(each, piece.bytes - offset(index));
  }
  static std::size_t most(int ranks) {
    const std::size_t share = kWindowBytes / (static_cast<std::size_t>(ranks - 1) * kWindow);
    return std::clamp<std::size_t>(share / 64 * 64, 64 * 1024, kSegmentBytes);
  }
};

// The segments of a piece on their way from or to a peer; its memory holds `window` of them.
class Stream {
 public:
  Stream(std::unique_ptr<Channel> channel, Segments segments, std::size_t window)
      : channel_(std::move(channel)), segments_(segments), window_(window) {}

  [[nodiscard]] bool has(std::size_t index) const {
    return channel_ != nullptr && index < segments_.count();
  }
  void send(std::size_t index) { channel_->send(place(index), segments_.length(index)); }
  void receive(std::size_t index) { channel_->receive(place(index), segments_.length(index)); }
  void finishSend(std::size_t) { channel_->finishSend(); }
  void finishReceive(std::size_t) { channel_->finishReceive(); }
  [[nodiscard]] std::size_t place(std::size_t index) const {
    return segments_.offset(index % window_);
  }

 private:
  std::unique_ptr<Channel> channel_;  // null: no data goes this way
  Segments segments_;
  std::size_t window_;
};

constexpr std::size_t kWhole = ~std::size_t{0};

void run(Flight& flight, Scratch& scratch, const PieceReduction& reduction) {
  const auto self = static_cast<std::size_t>(flight.rank);
  const std::vector<Block>& pieces = reduction.pieces();
  const Block mine = reduction.mine();
  const Block result = reduction.result();
  if (flight.size == 1) {
    copy(result, mine);
    return;
  }
  const std::size_t each = Segments::most(flight.size);
  std::size_t rounds = 0;
  for (const Block& piece : pieces) {
    rounds = std::max(rounds, Segments{piece, each}.count());
  }
  const std::size_t window = std::min(kWindow, std::max<std::size_t>(rounds, 1));
  const std::size_t area = std::min(window * each, mine.bytes);
  std::byte* const memory = scratch.atLeast(area * (pieces.size() - 1));
  const auto incoming = [&](std::size_t peer) {
    return Block{memory + (peer < self ? peer : peer - 1) * area, area};
  };

  using Streams = std::vector<Stream>;  // by rank
  const auto streams = [&](unsigned lane, std::size_t of, auto piece, auto memoryOf) {
    Streams all;
    for (std::size_t peer = 0; peer < pieces.size(); ++peer) {
      const Block block = peer == self ? Block{} : piece(peer);
      all.emplace_back(
          block.bytes == 0 ? nullptr : channel(flight, peer, flight.slot(lane), memoryOf(peer)),
          Segments{block, each}, of);
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
  const auto& kernel = reduction.kernel();
  const Segments own{mine, each};
  std::vector<const void*> sources(pieces.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    forAll(in, round, &Stream::finishReceive);
    if (reduction.exchanged()) {
      forAll(out, round, &Stream::finishSend);
    }
    if (round < own.count()) {
      forEachPeer(flight, [&](std::size_t peer) {
        sources[peer] = incoming(peer).data + in[peer].place(round);
      });
      sources[self] = mine.data + own.offset(round);
      kernel.combine(result.data + own.offset(round), sources.data(), flight.size,
                     own.length(round) / kernel.elementSize, flight.size);
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

std::byte* Scratch::atLeast(std::size_t bytes) {
  if (!memory_.defined() || memory_.nbytes() < bytes) {
    memory_ = at::Tensor();
    memory_ = at::empty({static_cast<std::int64_t>(bytes)}, at::TensorOptions(at::kByte));
  }
  return static_cast<std::byte*>(memory_.data_ptr());
}

void move(Flight& flight, const Tensors& outputs, const Tensors& inputs) {
  Moves moves(flight.call, outputs, inputs, flight.rank);
  moves.show();
  std::vector<std::unique_ptr<Channel>> arriving;  // start first
  std::vector<std::unique_ptr<Channel>> leaving;
  // The size is part of the name: an alltoall's sizes are agreed between two ranks only.
  const auto open = [&](auto& channels, std::size_t peer, Block block) {
    channels.push_back(channel(flight, peer, flight.slot(0, block.bytes), block));
    return channels.back().get();
  };
  forEachPeer(flight, [&](std::size_t peer) {
    for (const Block& block : moves.from(static_cast<int>(peer))) {
      open(arriving, peer, block)->receive(0, block.bytes);
    }
  });
  forEachPeer(flight, [&](std::size_t peer) {
    for (const Block& block : moves.to(static_cast<int>(peer))) {
      open(leaving, peer, block)->send(0, block.bytes);
    }
  });
  moves.keepOwn();
  for (const auto& channel : arriving) {
    channel->finishReceive();
  }
  for (const auto& channel : leaving) {
    channel->finishSend();
  }
  moves.copyBack();
}

void reduce(Flight& flight, Scratch& scratch, const Tensors& outputs, const Tensors& inputs) {
  if (flight.size == 1 && inputs.empty()) {
    return;  // in place
  }
  PieceReduction reduction(flight.call, outputs, inputs, flight.rank, flight.size);
  reduction.show();
  run(flight, scratch, reduction);
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
