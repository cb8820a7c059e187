#include "engine/base/Xxh64.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep::base {
namespace {

std::uint64_t hashOf(std::string_view text) {
  Xxh64 hash;
  hash.update(text);
  return hash.digest();
}

TEST(Xxh64, GivesThePublishedDigests) {
  EXPECT_EQ(hashOf(""), 0xEF46DB3751D8E999ull);
  EXPECT_EQ(hashOf("a"), 0xD24EC4F1A98C6E5Bull);
  EXPECT_EQ(hashOf("abc"), 0x44BC2CF5AD770999ull);
  EXPECT_EQ(hashOf("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1ull);
}

TEST(Xxh64, DoesNotDependOnHowTheBytesAreCut) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += static_cast<char>(i * 37);
  }
  const auto whole = hashOf(text);
  for (std::size_t piece : {1u, 7u, 31u, 32u, 33u, 64u, 999u}) {
    Xxh64 hash;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      hash.update(std::string_view(text).substr(at, piece));
    }
    EXPECT_EQ(hash.digest(), whole) << piece;
  }
}

}  // namespace
}  // namespace lockstep::base
