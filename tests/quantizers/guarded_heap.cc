// The heap of test_quantizers: a kernel that reaches beyond its rows is stopped, on every target.
//
// A block of 256 bytes or more lies between pages that must not be touched; of two such blocks one
// ends where such a page begins, and the other begins where one ends. An address is never given out
// twice, so deleted blocks are not touched either.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace ckpt {
namespace {

constexpr size_t kPageBytes = 4096, kArenaPages = size_t{1} << 26, kLeastBytes = 256;

void* reserve(size_t size_bytes, int protection) {
  void* at =
      mmap(nullptr, size_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) std::abort();
  return at;
}

struct Arena {
  std::byte* pages = static_cast<std::byte*>(reserve(kArenaPages * kPageBytes, PROT_NONE));
  // Of the page in which a block begins: how many pages the block takes.
  uint32_t* counts = static_cast<uint32_t*>(
      reserve(kArenaPages * sizeof(uint32_t), PROT_READ | PROT_WRITE));
  std::atomic<size_t> next{1};  // the first page stays untouchable
};

Arena& arena() {
  static Arena arena;
  return arena;
}

void* guarded_block(size_t size_bytes) {
  Arena& all = arena();
  const size_t pages = (size_bytes + kPageBytes - 1) / kPageBytes;
  const size_t first = all.next.fetch_add(pages + 1);
  if (first + pages >= kArenaPages) std::abort();
  std::byte* begin = all.pages + first * kPageBytes;
  if (mprotect(begin, pages * kPageBytes, PROT_READ | PROT_WRITE) != 0) std::abort();
  all.counts[first] = static_cast<uint32_t>(pages);
  static std::atomic<unsigned> blocks;
  return blocks.fetch_add(1) % 2 == 0 ? begin : begin + pages * kPageBytes - size_bytes;
}

// False: not a block of the arena.
bool release(void* block) {
  Arena& all = arena();
  const auto offset = reinterpret_cast<uintptr_t>(block) - reinterpret_cast<uintptr_t>(all.pages);
  if (offset >= kArenaPages * kPageBytes) return false;
  const size_t first = offset / kPageBytes, size_bytes = all.counts[first] * kPageBytes;
  std::byte* begin = all.pages + first * kPageBytes;
  return mmap(begin, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
              -1, 0) == begin;
}

}  // namespace
}  // namespace ckpt

void* operator new(size_t size_bytes) {
  if (size_bytes >= ckpt::kLeastBytes) return ckpt::guarded_block(size_bytes);
  if (void* block = std::malloc(size_bytes == 0 ? 1 : size_bytes)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept {
  if (block != nullptr && !ckpt::release(block)) std::free(block);
}
void operator delete(void* block, size_t) noexcept { operator delete(block); }

namespace ckpt {
namespace {

// By its address, lest the compiler sees what is wrong with it.
[[gnu::noipa]] void touch(uintptr_t address) {
  *reinterpret_cast<volatile std::byte*>(address) = std::byte{1};
}

TEST(GuardedHeapDeathTest, ABlockIsTouchedFromItsBeginToItsEndAlone) {
  for (const size_t size_bytes : {256u, 300u, 4096u, 5000u}) {
    int beyond = 0, before = 0;
    for (int i = 0; i < 2; ++i) {
      auto block = std::make_unique<std::byte[]>(size_bytes);
      const auto begin = reinterpret_cast<uintptr_t>(block.get()), end = begin + size_bytes;
      touch(begin);
      touch(end - 1);
      if (end % kPageBytes == 0) {
        EXPECT_DEATH(touch(end), "");
        ++beyond;
      }
      if (begin % kPageBytes == 0) {
        EXPECT_DEATH(touch(begin - 1), "");
        ++before;
      }
      block.reset();
      EXPECT_DEATH(touch(begin), "");
    }
    EXPECT_GE(beyond, 1);
    EXPECT_GE(before, 1);
  }
}

}  // namespace
}  // namespace ckpt
