// Collectives that only move data, and the barrier.

#include <cstring>
#include <memory>

#include "engine/process_group/gloo/Collectives.h"

namespace lockstep::process_group::gloo {
namespace {

// Starts all messages of an operation, receives first, and then waits for them.
class Messages {
 public:
  explicit Messages(Flight& flight) : flight_(flight) {}

  void send(int peer, Block block) { add(peer, block, false); }
  void receive(int peer, Block block) { add(peer, block, true); }

  void finish() {
    for (const bool receiving : {true, false}) {
      for (Message& message : messages_) {
        if (message.receiving == receiving) {
          receiving ? message.channel->finishReceive() : message.channel->finishSend();
        }
      }
    }
  }

 private:
  struct Message {
    std::unique_ptr<Channel> channel;
    bool receiving;
  };

  void add(int peer, Block block, bool receiving) {
    if (block.bytes == 0) {
      return;
    }
    // The size is part of the name: an alltoall's sizes are agreed between two ranks only.
    auto channel = std::make_unique<Channel>(flight_, peer, flight_.slot(0, block.bytes),
                                             block.data, block.bytes);
    receiving ? channel->receive(0, block.bytes) : channel->send(0, block.bytes);
    messages_.push_back(Message{std::move(channel), receiving});
  }

  Flight& flight_;
  std::vector<Message> messages_;
};

void copy(Block to, Block from) {
  if (to.bytes != 0 && to.data != from.data) {
    std::memcpy(to.data, from.data, to.bytes);
  }
}

int peerAt(const Flight& flight, int step) { return (flight.rank + step) % flight.size; }

}  // namespace

void broadcast(Flight& flight, const std::vector<Block>& blocks, int root) {
  Messages messages(flight);
  for (const Block& block : blocks) {
    if (flight.rank != root) {
      messages.receive(root, block);
      continue;
    }
    for (int step = 1; step < flight.size; ++step) {
      messages.send(peerAt(flight, step), block);
    }
  }
  messages.finish();
}

void allgather(Flight& flight, const std::vector<Block>& outputs, Block input) {
  Messages messages(flight);
  for (int step = 1; step < flight.size; ++step) {
    const int peer = peerAt(flight, step);
    messages.receive(peer, outputs[static_cast<std::size_t>(peer)]);
  }
  for (int step = 1; step < flight.size; ++step) {
    messages.send(peerAt(flight, step), input);
  }
  copy(outputs[static_cast<std::size_t>(flight.rank)], input);
  messages.finish();
}

void gather(Flight& flight, const std::vector<Block>& outputs, Block input, int root) {
  Messages messages(flight);
  if (flight.rank != root) {
    messages.send(root, input);
  } else {
    for (int step = 1; step < flight.size; ++step) {
      const int peer = peerAt(flight, step);
      messages.receive(peer, outputs[static_cast<std::size_t>(peer)]);
    }
    copy(outputs[static_cast<std::size_t>(root)], input);
  }
  messages.finish();
}

void scatter(Flight& flight, Block output, const std::vector<Block>& inputs, int root) {
  Messages messages(flight);
  if (flight.rank != root) {
    messages.receive(root, output);
  } else {
    for (int step = 1; step < flight.size; ++step) {
      const int peer = peerAt(flight, step);
      messages.send(peer, inputs[static_cast<std::size_t>(peer)]);
    }
    copy(output, inputs[static_cast<std::size_t>(root)]);
  }
  messages.finish();
}

void alltoall(Flight& flight, const std::vector<Block>& outputs,
              const std::vector<Block>& inputs) {
  Messages messages(flight);
  for (int step = 1; step < flight.size; ++step) {
    const int peer = peerAt(flight, step);
    messages.receive(peer, outputs[static_cast<std::size_t>(peer)]);
  }
  for (int step = 1; step < flight.size; ++step) {
    const int peer = peerAt(flight, step);
    messages.send(peer, inputs[static_cast<std::size_t>(peer)]);
  }
  const auto self = static_cast<std::size_t>(flight.rank);
  copy(outputs[self], inputs[self]);
  messages.finish();
}

void barrier(Flight& flight) {
  for (int distance = 1; distance < flight.size; distance *= 2) {
    const int to = (flight.rank + distance) % flight.size;
    const int from = (flight.rank + flight.size - distance) % flight.size;
    Channel in(flight, from, flight.slot(0), nullptr, 0);
    Channel out(flight, to, flight.slot(0), nullptr, 0);
    in.receive(0, 0);
    out.send(0, 0);
    in.finishReceive();
    out.finishSend();
  }
}

}  // namespace lockstep::process_group::gloo
