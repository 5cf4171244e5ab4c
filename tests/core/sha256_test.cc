// A hash that another run continues equals that of one run.
#include "core/base/sha256.h"

#include <gtest/gtest.h>

#include <vector>

namespace ckpt {
namespace {

std::vector<std::byte> counted(size_t size_bytes) {
  std::vector<std::byte> bytes(size_bytes);
  for (size_t i = 0; i < size_bytes; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

std::string digest_of(std::span<const std::byte> bytes) {
  Sha256 sha256;
  sha256.add(bytes);
  return sha256.finish();
}

TEST(Sha256, OfABC) {
  EXPECT_EQ(digest_of(std::as_bytes(std::span("abc", 3))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, ResumesFromAnyByte) {
  const auto bytes = counted(400);
  const std::string expected = digest_of(bytes);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    Sha256 first;
    first.add(std::span(bytes).first(cut));
    const Sha256State state = first.state();
    EXPECT_EQ(state.size_bytes, cut);
    auto second = Sha256::from(state);
    ASSERT_TRUE(second) << cut;
    second->add(std::span(bytes).subspan(cut));
    EXPECT_EQ(second->finish(), expected) << cut;
    EXPECT_EQ(first.state().text, state.text) << "looking changes nothing";
  }
}

TEST(Sha256, CountsBeyondFourGigabits) {
  // The count of bits is two words; the state of a long file has both.
  Sha256 whole;
  const auto bytes = counted(1 << 20);
  for (int i = 0; i < 513; ++i) whole.add(bytes);
  auto resumed = Sha256::from(whole.state());
  ASSERT_TRUE(resumed);
  EXPECT_EQ(whole.state().size_bytes, uint64_t{513} << 20);
  whole.add(std::span(bytes).first(100));
  resumed->add(std::span(bytes).first(100));
  EXPECT_EQ(resumed->finish(), whole.finish());
}

TEST(Sha256, RejectsInvalidStates) {
  Sha256 sha256;
  sha256.add(counted(70));
  const Sha256State good = sha256.state();
  ASSERT_EQ(good.text.size(), 64u + 2 * 6);
  EXPECT_TRUE(Sha256::from(good));
  EXPECT_FALSE(Sha256::from({71, good.text}));
  EXPECT_FALSE(Sha256::from({70, good.text.substr(2)}));
  EXPECT_FALSE(Sha256::from({UINT64_MAX - 57, good.text}));
  for (const size_t at : {size_t{0}, size_t{63}, size_t{64}, good.text.size() - 1}) {
    Sha256State bad = good;
    bad.text[at] = 'g';
    EXPECT_FALSE(Sha256::from(bad)) << at;
  }
}

}  // namespace
}  // namespace ckpt
