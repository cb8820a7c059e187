#include "engine/import/Pickle.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "engine/import/PickleStack.h"

namespace lockstep::imports {
namespace {

using base::Error;
using base::ExitCode;

/// The names of pickletools, for what is refused; empty: no opcode at all. Those up to BINPERSID
/// may call something; the others are of old protocols, or build what no dump has.
std::string nameOf(unsigned char opcode) {
  static const std::unordered_map<unsigned char, std::string> kNames = {{'c', "GLOBAL"},
                                                                        {'R', "REDUCE"},
                                                                        {'b', "BUILD"},
                                                                        {'i', "INST"},
                                                                        {'o', "OBJ"},
                                                                        {0x81, "NEWOBJ"},
                                                                        {0x92, "NEWOBJ_EX"},
                                                                        {0x93, "STACK_GLOBAL"},
                                                                        {0x82, "EXT1"},
                                                                        {0x83, "EXT2"},
                                                                        {0x84, "EXT4"},
                                                                        {'P', "PERSID"},
                                                                        {'Q', "BINPERSID"},
                                                                        {0x97, "NEXT_BUFFER"},
                                                                        {0x98, "READONLY_BUFFER"},
                                                                        {0x8F, "EMPTY_SET"},
                                                                        {0x90, "ADDITEMS"},
                                                                        {0x91, "FROZENSET"},
                                                                        {0x96, "BYTEARRAY8"},
                                                                        {'I', "INT"},
                                                                        {'L', "LONG"},
                                                                        {'F', "FLOAT"},
                                                                        {'S', "STRING"},
                                                                        {'V', "UNICODE"},
                                                                        {'T', "BINSTRING"},
                                                                        {'U', "SHORT_BINSTRING"},
                                                                        {'d', "DICT"},
                                                                        {'l', "LIST"},
                                                                        {'g', "GET"},
                                                                        {'p', "PUT"}};
  const auto found = kNames.find(opcode);
  return found == kNames.end() ? "" : found->second;
}

class Reader {
 public:
  explicit Reader(std::span<const char> bytes) : bytes_(bytes) {}

  base::Result<nlohmann::json> read(const std::string& where) {
    while (stack_.problem().empty() && !stopped_) {
      opcodeAt_ = at_;
      // At the end of the bytes this refuses, and the loop ends: a pickle ends with STOP.
      const auto opcode = static_cast<unsigned char>(number<std::uint8_t>());
      if (stack_.problem().empty()) {
        step(opcode);
      }
    }
    nlohmann::json made = stack_.build();
    if (!stack_.problem().empty()) {
      return Error{
          ExitCode::kBadInput,
          fmt::format("is no pickle that can be read: {} at byte {}", stack_.problem(), opcodeAt_),
          where};
    }
    return made;
  }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) {
      stack_.refuse("it is cut off");
      at_ = bytes_.size();
      return {};
    }
    const std::string_view text(bytes_.data() + at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return text;
  }

  template <typename Number>
  Number number() {
    const std::string_view text = take(sizeof(Number));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    }
    return static_cast<Number>(value);
  }

  void text(std::uint64_t size) { stack_.push(nlohmann::json(std::string(take(size)))); }
  void blob(std::uint64_t size) {
    const std::string_view bytes = take(size);
    stack_.push(nlohmann::json::binary({bytes.begin(), bytes.end()}));
  }

  void longNumber(std::uint64_t size) {
    const std::string_view digits = take(size);
    // Two's complement of any length, the lowest byte first. Sequence numbers and times fit.
    if (digits.size() > sizeof(std::int64_t)) {
      stack_.refuse("a number has more than 64 bits");
      return;
    }
    // The sign fills the bytes that are not written.
    std::uint64_t value = !digits.empty() && (digits.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      value &= ~(std::uint64_t{0xFF} << (8 * i));
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(digits[i])) << (8 * i);
    }
    stack_.push(nlohmann::json(static_cast<std::int64_t>(value)));
  }

  void step(unsigned char opcode) {
    switch (opcode) {
      case 0x80:  // PROTO
        if (const auto protocol = number<std::uint8_t>(); protocol < 2 || protocol > 5) {
          stack_.refuse(fmt::format("protocol {}", protocol));
        }
        break;
      // Nothing is read ahead here, so that a frame's size is of no use.
      case 0x95:
        number<std::uint64_t>();
        break;  // FRAME: says how much may be read at once
      case '.':
        stopped_ = true;
        break;  // STOP
      case '0':
        stack_.drop();
        break;  // POP
      case '1':
        stack_.dropToMark();
        break;  // POP_MARK
      case '2':
        stack_.duplicate();
        break;  // DUP
      case '(':
        stack_.mark();
        break;  // MARK
      case 'N':
        stack_.push(nlohmann::json());
        break;
      case 0x88:
        stack_.push(nlohmann::json(true));
        break;
      case 0x89:
        stack_.push(nlohmann::json(false));
        break;
      case 'J':
        stack_.push(nlohmann::json(number<std::int32_t>()));
        break;  // BININT
      case 'K':
        stack_.push(nlohmann::json(number<std::uint8_t>()));
        break;  // BININT1
      case 'M':
        stack_.push(nlohmann::json(number<std::uint16_t>()));
        break;  // BININT2
      case 0x8A:
        longNumber(number<std::uint8_t>());
        break;
      case 0x8B:
        longNumber(number<std::uint32_t>());
        break;
      case 'G': {  // BINFLOAT, the high byte first
        std::uint64_t bits = 0;
        for (const char c : take(sizeof(double))) {
          bits = bits << 8 | static_cast<unsigned char>(c);
        }
        stack_.push(nlohmann::json(std::bit_cast<double>(bits)));
        break;
      }
      case 'X':
        text(number<std::uint32_t>());
        break;
      case 0x8C:
        text(number<std::uint8_t>());
        break;
      case 0x8D:
        text(number<std::uint64_t>());
        break;
      case 'B':
        blob(number<std::uint32_t>());
        break;
      case 'C':
        blob(number<std::uint8_t>());
        break;
      case 0x8E:
        blob(number<std::uint64_t>());
        break;
      case ']':
        stack_.pushList();
        break;
      case '}':
        stack_.pushDict();
        break;
      case ')':
        stack_.tuple(0);
        break;
      case 0x85:
        stack_.tuple(1);
        break;
      case 0x86:
        stack_.tuple(2);
        break;
      case 0x87:
        stack_.tuple(3);
        break;
      case 't':
        stack_.tupleToMark();
        break;
      case 'a':
        stack_.append();
        break;
      case 'e':
        stack_.appendToMark();
        break;
      case 's':
        stack_.setItem();
        break;
      case 'u':
        stack_.setItems();
        break;
      case 'q':
        stack_.remember(number<std::uint8_t>());
        break;
      case 'r':
        stack_.remember(number<std::uint32_t>());
        break;
      case 0x94:
        stack_.rememberNext();
        break;  // MEMOIZE
      case 'h':
        stack_.recall(number<std::uint8_t>());
        break;
      case 'j':
        stack_.recall(number<std::uint32_t>());
        break;
      default:
        stack_.refuse(
            nameOf(opcode).empty()
                ? fmt::format("no opcode {:#04x}", static_cast<unsigned>(opcode))
                : fmt::format("opcode {}, which data needs not, is not read", nameOf(opcode)));
    }
  }

  std::span<const char> bytes_;
  std::size_t at_ = 0;
  std::size_t opcodeAt_ = 0;
  bool stopped_ = false;
  PickleStack stack_;
};

}  // namespace

base::Result<nlohmann::json> readPickle(std::span<const char> bytes, const std::string& where) {
  return Reader(bytes).read(where);
}

}  // namespace lockstep::imports
