// Files whose bytes are in memory, and what is not such a file.
#include "core/io/page_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/support/files.h"

namespace ckpt {
namespace {

TEST(PageCache, MissingFilesFoldersAndUrlsAreNotInMemory) {
  const TemporaryFolder folder;
  EXPECT_FALSE(is_in_page_cache(folder / "missing"));
  EXPECT_FALSE(is_in_page_cache(folder.path()));
  EXPECT_FALSE(is_in_page_cache("https://host/model.safetensors"));
}

TEST(PageCache, FilesOfAMemoryFileSystemAre) {
  struct statfs system{};
  if (::statfs("/dev/shm", &system) != 0 || system.f_type != TMPFS_MAGIC) GTEST_SKIP();
  const auto file = std::filesystem::path("/dev/shm") / fmt::format("ckpt-test-{}", ::getpid());
  write_file(file, std::string(100'000, 'x'));
  EXPECT_TRUE(is_in_page_cache(file));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace ckpt
