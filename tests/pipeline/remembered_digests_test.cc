// Digests that were computed while converting: used again while size, time and inode agree, and
// never with --rehash.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cstdlib>

#include "core/engine/compare.h"
#include "core/io/folder.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

void run(const std::string& words) {
  const std::string command = fmt::format("'{}' {} >/dev/null 2>&1", CKPT_BINARY, words);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

// The digest that SHA256SUMS gives to model.safetensors.
std::string published(const fs::path& folder, const std::string& flags = "") {
  run(fmt::format("publish '{}' {}", folder.string(), flags));
  const std::string sums = read_file(folder / "SHA256SUMS");
  const size_t name = sums.find("  model.safetensors\n");
  return name == sums.npos || name < 64 ? sums : sums.substr(name - 64, 64);
}

TEST(RememberedDigests, OfAConversionAreUsedWhileTheFileIsTheSame) {
  TemporaryFolder folder;
  const fs::path out = folder.path() / "out", weights = out / "model.safetensors";
  run(fmt::format("convert '{}' '{}'", testdata("qwen3-micro").string(), out.string()));
  const std::string real = hash_file(weights).value();
  const auto remembered = remembered_digest(weights);
  if (!remembered) GTEST_SKIP() << "no extended attributes in " << folder.path();
  EXPECT_EQ(*remembered, real) << "by the conversion";

  // Something else is remembered: what publish says shows where it took it from.
  const std::string other(64, 'a');
  remember_digest(weights, other);
  EXPECT_EQ(published(out), other);
  EXPECT_EQ(published(out, "--rehash"), real);
  EXPECT_EQ(remembered_digest(weights), other) << "rehashing leaves what was remembered";

  // Another time, another size, another inode: read again.
  const auto time = fs::last_write_time(weights);
  fs::last_write_time(weights, time + std::chrono::seconds(1));
  EXPECT_EQ(published(out), real);
  fs::last_write_time(weights, time);
  EXPECT_EQ(published(out), other) << "the same again";
  char value[256];
  const ssize_t size = ::getxattr(weights.c_str(), "user.ckpt.sha256", value, sizeof value);
  ASSERT_GT(size, 64);
  fs::copy_file(weights, out / "copy");
  fs::rename(out / "copy", weights);
  fs::last_write_time(weights, time);
  ASSERT_EQ(::setxattr(weights.c_str(), "user.ckpt.sha256", value, static_cast<size_t>(size), 0),
            0);
  EXPECT_EQ(published(out), real) << "another inode";
}

// verify trusts nothing that is remembered.
TEST(RememberedDigests, AreNothingToVerify) {
  TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  run(fmt::format("convert '{}' '{}'", testdata("qwen3-micro").string(), out.string()));
  const std::string other(64, 'a');
  remember_digest(out / "model.safetensors", other);
  if (!remembered_digest(out / "model.safetensors")) {
    GTEST_SKIP() << "no extended attributes in " << folder.path();
  }
  EXPECT_EQ(published(out), other);
  const std::string command =
      fmt::format("'{}' verify '{}' >/dev/null 2>&1", CKPT_BINARY, out.string());
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
}

}  // namespace
}  // namespace ckpt
