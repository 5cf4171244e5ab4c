// Files and folders under a temporary name: one run at a time, and what is published is its own.
#include "core/io/temporary.h"

#include <gtest/gtest.h>

#include "core/io/folder.h"
#include "tests/support/files.h"
#include "tests/support/limited_descriptors.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

TEST(LockedTemporary, IsHeldByOneRun) {
  const TemporaryFolder folder;
  const auto first = LockedTemporary::file(folder / ".a.partial");
  ASSERT_TRUE(first);
  const auto second = LockedTemporary::file(folder / ".a.partial");
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text().find("another ckpt is at work"), std::string::npos);
  EXPECT_TRUE(first->publish("a"));
}

TEST(LockedTemporary, ReplacesWhatAKilledRunLeft) {
  const TemporaryFolder folder;
  write_file(folder / ".a.partial", "unfinished");
  write_file(folder / "victim", "precious");
  fs::create_symlink(folder / "victim", folder / ".b.partial");
  fs::create_directories(folder / ".c.partial/sub");
  const auto publish = [](const LockedTemporary& made) { return made.publish("a"); };
  ASSERT_TRUE(LockedTemporary::file(folder / ".a.partial").and_then(publish));
  EXPECT_EQ(read_file(folder / "a"), "");
  ASSERT_TRUE(LockedTemporary::file(folder / ".b.partial"));
  EXPECT_EQ(read_file(folder / "victim"), "precious");
  ASSERT_TRUE(LockedTemporary::folder(folder / ".c.partial"));
  for (const char* name : {".a.partial", ".b.partial", ".c.partial"}) {
    EXPECT_FALSE(fs::exists(fs::symlink_status(folder / name))) << name;
  }
}

TEST(LockedTemporary, KeepsWhatItsCheckRejects) {
  const TemporaryFolder folder;
  write_file(folder / ".a.partial", "precious");
  const auto check = [] { return Status(misuse("not ours")); };
  EXPECT_FALSE(LockedTemporary::file(folder / ".a.partial", check));
  EXPECT_EQ(read_file(folder / ".a.partial"), "precious");
}

// From each moment on: the error names the cause, not another run, and nothing new is left.
TEST(LockedTemporary, WithoutDescriptorsSaysSoAndLeavesNothingNew) {
  for (const auto make : {LockedTemporary::file, LockedTemporary::folder}) {
    for (const bool is_left : {false, true}) {
      const TemporaryFolder folder;
      const fs::path path = folder / ".a.partial";
      bool is_made = false;
      unsigned failures = 0;
      for (unsigned count = 0; !is_made && count < 16; ++count) {
        if (is_left && make == LockedTemporary::file) write_file(path, "unfinished");
        if (is_left && make == LockedTemporary::folder) fs::create_directories(path);
        std::string error;
        {
          const LimitedDescriptors few(count);
          const auto made = make(path, {});
          is_made = made.has_value();
          if (!made) error = made.error().text();
        }
        failures += is_made ? 0 : 1;
        EXPECT_EQ(error.find("another ckpt"), error.npos) << error;
        EXPECT_TRUE(is_made || error.find("Too many open files") != error.npos) << error;
        EXPECT_TRUE(is_left || !fs::exists(path)) << count;
        EXPECT_TRUE(make(path, {})) << count;
      }
      EXPECT_TRUE(is_made);
      EXPECT_GT(failures, 1u);
    }
  }
}

// Another run may take the name where the file system has no locks.
TEST(LockedTemporary, PublishesAndRemovesOnlyItsOwn) {
  const TemporaryFolder folder;
  {
    const auto made = LockedTemporary::file(folder / ".a.partial");
    ASSERT_TRUE(made);
    write_file(folder / "b", "of another run");
    fs::rename(folder / "b", folder / ".a.partial");
    EXPECT_FALSE(made->publish("a"));
  }
  EXPECT_FALSE(fs::exists(folder / "a"));
  EXPECT_EQ(read_file(folder / ".a.partial"), "of another run");
}

TEST(LockedTemporary, KeepsAFileThatAppearedMeanwhile) {
  const TemporaryFolder folder;
  write_file(folder / "a", "precious");
  EXPECT_FALSE(replace_file(folder / "a", "new", false));
  EXPECT_EQ(read_file(folder / "a"), "precious");
  EXPECT_FALSE(fs::exists(folder / temporary_name("a")));
}

}  // namespace
}  // namespace ckpt
