// Hashes that advance together equal those computed one by one.
#include "core/simd/sha256_each.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/simd/dispatch.h"

namespace ckpt {
namespace {

std::vector<std::vector<std::byte>> random_texts(const std::vector<size_t>& sizes) {
  std::mt19937 random(7);
  std::vector<std::vector<std::byte>> out;
  for (const size_t size : sizes) {
    for (std::byte& each : out.emplace_back(size)) each = static_cast<std::byte>(random());
  }
  return out;
}

// Adds at most `most` bytes of each text at a time, if that is not 0, else of random sizes.
void expect_digests(const std::vector<std::vector<std::byte>>& texts, size_t most) {
  std::mt19937 random(11);
  std::vector<Sha256> hashes(texts.size());
  std::vector<size_t> at(texts.size());
  for (bool is_done = false; !is_done;) {
    is_done = true;
    std::vector<Sha256Piece> pieces;
    for (size_t i = 0; i < texts.size(); ++i) {
      const size_t wanted = most != 0 ? most : random() % 700;
      const size_t here = std::min(wanted, texts[i].size() - at[i]);
      pieces.push_back({&hashes[i], std::span(texts[i]).subspan(at[i], here)});
      at[i] += here;
      is_done = is_done && at[i] == texts[i].size();
    }
    add_to_each(pieces);
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(hashes[i].finish(), sha256_of(texts[i])) << i << " of " << texts[i].size();
  }
}

template <class Check>
void on_every_target(const Check& check) {
  for (const SimdTarget target : simd_targets()) {
    SCOPED_TRACE(simd_target_name(target));
    const ForcedSimdTarget forced(target);
    check();
  }
}

TEST(Sha256Each, EqualsOneByOneForEveryLength) {
  std::vector<size_t> sizes(301);
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = i;
  on_every_target([&] { expect_digests(random_texts(sizes), 1000); });
}

TEST(Sha256Each, EqualsOneByOneForEveryNumberOfFiles) {
  on_every_target([] {
    for (size_t count = 0; count <= 40; ++count) {
      expect_digests(random_texts(std::vector<size_t>(count, 64 * 5)), 128);
      std::vector<size_t> sizes(count);  // around borders of blocks
      for (size_t i = 0; i < count; ++i) sizes[i] = 64 * (i % 9) + i % 3 - (i % 9 == 0 ? 0 : 1);
      expect_digests(random_texts(sizes), 1000);
    }
  });
}

TEST(Sha256Each, EqualsOneByOneWhereFilesGrowUnevenly) {
  on_every_target([] {
    expect_digests(random_texts({9999, 0, 1, 63, 64, 65, 5000, 128, 20000, 127, 300, 4096, 4097, 55,
                                 56, 57, 12345, 640}),
                   0);
  });
}

TEST(Sha256Each, ContinuesAHashOfAnotherRun) {
  const auto texts = random_texts({1000, 700});
  std::vector<Sha256> hashes(2);
  add_to_each(std::vector<Sha256Piece>{{&hashes[0], std::span(texts[0]).first(500)},
                                       {&hashes[1], std::span(texts[1]).first(640)}});
  for (size_t i = 0; i < 2; ++i) {
    const Sha256State state = hashes[i].state();
    EXPECT_EQ(state.size_bytes, i == 0 ? 500u : 640u);
    auto resumed = Sha256::from(state);
    ASSERT_TRUE(resumed);
    resumed->add(std::span(texts[i]).subspan(state.size_bytes));
    EXPECT_EQ(resumed->finish(), sha256_of(texts[i]));
  }
}

}  // namespace
}  // namespace ckpt
