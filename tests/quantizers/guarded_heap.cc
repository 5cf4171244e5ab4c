// The heap of test_quantizers: a kernel that reaches beyond its rows is stopped, on every target.
//
// A block of 256 bytes or more lies between pages that must not be touched; of two such blocks one
// ends where such a page begins, and the other begins where one ends.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

namespace ckpt {
namespace {

constexpr size_t kPageBytes = 4096, kArenaPages = size_t{1} << 26, kLeastBytes = 256;
constexpr size_t kReusedPages = 4096;  // larger places are given back

void* reserve(size_t size_bytes, int protection) {
  void* at =
      mmap(nullptr, size_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) std::abort();
  return at;
}

uint32_t* page_numbers() {
  const size_t size_bytes = kArenaPages * sizeof(uint32_t);
  return static_cast<uint32_t*>(reserve(size_bytes, PROT_READ | PROT_WRITE));
}

// Places are runs of pages, known by the number of their first page.
struct Arena {
  std::mutex mutex;
  std::byte* pages = static_cast<std::byte*>(reserve(kArenaPages * kPageBytes, PROT_NONE));
  uint32_t* counts = page_numbers();          // of a place, by its first page
  uint32_t* next_free = page_numbers();       // place of as many pages; 0: none
  std::array<uint32_t, kReusedPages> free{};  // by count of pages
  uint32_t end = 1;                           // the first page stays untouchable
  bool at_end = false;

  std::byte* page(size_t number) { return pages + number * kPageBytes; }

  uint32_t take(uint32_t count) {
    if (count < kReusedPages && free[count] != 0) {
      const uint32_t first = free[count];
      free[count] = next_free[first];
      return first;
    }
    const uint32_t first = end;
    end += count + 1;
    if (end >= kArenaPages) std::abort();
    if (mprotect(page(first), count * kPageBytes, PROT_READ | PROT_WRITE) != 0) std::abort();
    counts[first] = count;
    return first;
  }

  void give(uint32_t first) {
    const uint32_t count = counts[first];
    if (count < kReusedPages) {
      next_free[first] = free[count];
      free[count] = first;
    } else {
      constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
      mmap(page(first), count * kPageBytes, PROT_NONE, kFlags, -1, 0);
    }
  }
};

Arena& arena() {
  static Arena arena;
  return arena;
}

void* guarded_block(size_t size_bytes) {
  Arena& all = arena();
  const std::lock_guard lock(all.mutex);
  const size_t count = (size_bytes + kPageBytes - 1) / kPageBytes;
  if (count >= kArenaPages) std::abort();
  const uint32_t first = all.take(static_cast<uint32_t>(count));
  all.at_end = !all.at_end;
  return all.at_end ? all.page(first + count) - size_bytes : all.page(first);
}

// False: not a block of the arena.
bool release(void* block) {
  Arena& all = arena();
  const auto offset = reinterpret_cast<uintptr_t>(block) - reinterpret_cast<uintptr_t>(all.pages);
  if (offset >= kArenaPages * kPageBytes) return false;
  const std::lock_guard lock(all.mutex);
  all.give(static_cast<uint32_t>(offset / kPageBytes));
  return true;
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

// Takes an address as a number, so that the compiler does not see what is wrong with it.
[[gnu::noipa]] void touch(uintptr_t address) {
  *reinterpret_cast<volatile std::byte*>(address) = std::byte{1};
}

TEST(GuardedHeapDeathTest, ABlockIsTouchedFromItsBeginToItsEndAlone) {
  for (const size_t size_bytes : {256u, 300u, 4096u, 5000u}) {
    const auto one = std::make_unique<std::byte[]>(size_bytes);
    const auto other = std::make_unique<std::byte[]>(size_bytes);
    int beyond = 0, before = 0;
    for (const std::byte* block : {one.get(), other.get()}) {
      const auto begin = reinterpret_cast<uintptr_t>(block), end = begin + size_bytes;
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
    }
    EXPECT_GE(beyond, 1);
    EXPECT_GE(before, 1);
  }
}

}  // namespace
}  // namespace ckpt
