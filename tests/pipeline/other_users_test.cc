// A folder that several people write to: what another user put there is refused by name, whatever
// it says, and what is under construction is for nobody else to write to.
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "core/io/open_folder.h"
#include "core/io/ownership.h"
#include "core/resume/ledger.h"
#include "tests/pipeline/ends_run.h"
#include "tests/pipeline/patch_folder.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kVictim = 4101, kOther = 4102;

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

void give(const fs::path& path, uid_t user) {
  ASSERT_EQ(::lchown(path.c_str(), user, user), 0) << path;
  if (!fs::is_directory(fs::symlink_status(path))) return;
  for (const auto& entry : fs::directory_iterator(path)) give(entry.path(), user);
}

// The output of `job` in a process of that user.
std::string output_as_user(uid_t user, const std::function<std::string()>& job) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_user = ::setgid(user) == 0 && ::setuid(user) == 0;
    const std::string text = is_user ? job() : "cannot become another user";
    (void)!::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t got = 1; got > 0; text.append(part, static_cast<size_t>(std::max<ssize_t>(got, 0))))
    got = ::read(ends[0], part, sizeof part);
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return text;
}

std::string converted_within(const Conversion& conversion, uint64_t limit_bytes = UINT64_MAX) {
  EndsRun ender(limit_bytes);
  return digest_of(conversion, options_for(ender, 1));
}

// A folder as /tmp is one.
class OtherUsers : public testing::Test {
 protected:
  void SetUp() override {
    fs::permissions(folder_.path(), fs::perms::all | fs::perms::sticky_bit);
    fs::copy(testdata("qwen35-micro"), folder_ / "in");
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "in")) {
      fs::permissions(entry.path(), fs::perms::others_read, fs::perm_options::add);
    }
    conversion_.in = folder_ / "in";
    conversion_.out = folder_ / "out.gguf";
    conversion_.to = "q8_0";
  }
  Conversion to_folder() const {
    Conversion out = conversion_;
    out.out = folder_ / "out";
    out.to = "nvfp4-w4a16";
    return out;
  }
  static bool is_root() { return ::geteuid() == 0; }

  TemporaryFolder folder_;
  Conversion conversion_;
};
#define SKIP_UNLESS_ROOT() \
  if (!is_root()) GTEST_SKIP() << "not root: nobody else to be"

TEST_F(OtherUsers, WhatIsUnderConstructionIsPrivate) {
  converted_within(conversion_, 1'500'000);
  EXPECT_EQ(mode_of(folder_ / "out.gguf.partial"), 0600u);
  EXPECT_EQ(mode_of(folder_ / "out.gguf.partial.ledger"), 0600u);
  converted_within(to_folder(), 300'000);
  EXPECT_EQ(mode_of(folder_ / "out.partial"), 0700u);
  EXPECT_EQ(mode_of(folder_ / "out.partial/model.safetensors"), 0600u);
}

// New folders and files are closed to their own user.
TEST_F(OtherUsers, UnderAUmaskThatClosesEverythingNothingIsLeft) {
  SKIP_UNLESS_ROOT();
  for (const Conversion& conversion : {conversion_, to_folder()}) {
    const std::string before = listing(folder_.path());
    const std::string said = output_as_user(kVictim, [&] {
      ::umask(0777);
      return converted_within(conversion);
    });
    EXPECT_NE(said.find("Permission denied"), std::string::npos) << said;
    EXPECT_EQ(said.find("another ckpt"), std::string::npos) << said;
    EXPECT_EQ(listing(folder_.path()), before);
    output_as_user(kVictim, [&] { return converted_within(conversion); });
    EXPECT_TRUE(fs::exists(conversion.out));
  }
}

// Who cannot search a staging folder neither removes it nor sees what is in it.
TEST_F(OtherUsers, AFolderThatTheUmaskClosesIsNotLeft) {
  SKIP_UNLESS_ROOT();
  const std::string before = listing(folder_.path());
  for (const mode_t mask : {0111u, 0177u, 0277u, 0333u, 0377u, 0777u}) {
    const std::string said = output_as_user(kVictim, [&] {
      ::umask(mask);
      const auto open = OpenFolder::open(folder_.path());
      if (!open) return open.error().text();
      const Status made = open->make_folder("new/below");
      const auto own = open->open_private("private");
      return made || own ? "made" : made.error().text() + own.error().text();
    });
    EXPECT_NE(said.find("new: cannot be opened: Permission denied"), std::string::npos) << said;
    EXPECT_NE(said.find("private: cannot be opened: Permission denied"), std::string::npos) << said;
    EXPECT_EQ(listing(folder_.path()), before);
  }
}

// The finished bytes are overwritten, and published with the digest of the good ones otherwise.
TEST_F(OtherUsers, APartialAndALedgerOfAnotherUserAreRefusedByName) {
  SKIP_UNLESS_ROOT();
  for (const uid_t user : {uid_t{0}, kVictim}) {
    for (const char* planted : {"out.gguf.partial", "out.gguf.partial.ledger"}) {
      output_as_user(user, [&] { return converted_within(conversion_, 1'500'000); });
      give(folder_ / planted, kOther);
      const std::string partial = read_file(folder_ / "out.gguf.partial");
      const std::string said = output_as_user(user, [&] { return converted_within(conversion_); });
      EXPECT_NE(said.find(fmt::format("{}: belongs to user {}", planted, kOther)),
                std::string::npos)
          << said;
      EXPECT_FALSE(fs::exists(conversion_.out));
      EXPECT_TRUE(fs::exists(folder_ / planted));
      fs::remove(folder_ / "out.gguf.partial");
      fs::remove(folder_ / "out.gguf.partial.ledger");
    }
  }
}

TEST_F(OtherUsers, AnUnfinishedFolderOfAnotherUserIsRefusedByName) {
  SKIP_UNLESS_ROOT();
  output_as_user(kVictim, [&] { return converted_within(to_folder(), 300'000); });
  give(folder_ / "out.partial", kOther);
  const std::string said = output_as_user(kVictim, [&] { return converted_within(to_folder()); });
  EXPECT_NE(said.find("out.partial: belongs to user 4102"), std::string::npos) << said;
  fs::remove_all(folder_ / "out.partial");
  // A folder that is empty and lets everybody in is rejected as well.
  fs::create_directory(folder_ / "out.partial");
  fs::permissions(folder_ / "out.partial", fs::perms::all);
  give(folder_ / "out.partial", kOther);
  const std::string again = output_as_user(kVictim, [&] { return converted_within(to_folder()); });
  EXPECT_NE(again.find("out.partial: belongs to user 4102"), std::string::npos) << again;
}

TEST_F(OtherUsers, TheLedgerOfAShareOfAnotherUserIsRefusedByName) {
  SKIP_UNLESS_ROOT();
  converted_within(conversion_, 1'500'000);
  fs::copy(folder_ / "out.gguf.partial.ledger", folder_ / "out.gguf.partial.ledger-1-of-2");
  give(folder_ / "out.gguf.partial.ledger-1-of-2", kOther);
  const std::string said = converted_within(conversion_);
  EXPECT_NE(said.find("ledger-1-of-2: belongs to user 4102"), std::string::npos) << said;
  EXPECT_FALSE(fs::exists(conversion_.out));
}

TEST_F(OtherUsers, BytesThatOthersCouldWriteAreMadeAgain) {
  Conversion expected = conversion_;
  expected.out = folder_ / "expected.gguf";
  const std::string digest = digest_of(expected);
  converted_within(conversion_, 1'500'000);
  const fs::path partial = folder_ / "out.gguf.partial";
  fs::permissions(partial, fs::perms::others_write, fs::perm_options::add);
  std::fstream(partial, std::ios::in | std::ios::out | std::ios::binary) << "overwritten";
  EXPECT_EQ(converted_within(conversion_), digest);
  EXPECT_EQ(read_file(conversion_.out), read_file(expected.out));
}

TEST_F(OtherUsers, ALedgerThatOthersCouldWriteIsRefusedByName) {
  converted_within(conversion_, 1'500'000);
  fs::permissions(folder_ / "out.gguf.partial.ledger", fs::perms::all);
  const std::string said = converted_within(conversion_);
  EXPECT_NE(said.find("out.gguf.partial.ledger: writable by others (mode 777)"),
            std::string::npos)
      << said;
  fs::remove(folder_ / "out.gguf.partial.ledger");
  fs::remove(folder_ / "out.gguf.partial");
  EXPECT_EQ(converted_within(conversion_).size(), 64u);
}

// NFS may map root to another user, who then owns new files instead of the user of the program.
TEST_F(OtherUsers, AFileSystemThatKnowsRootByAnotherNameGoesOn) {
  SKIP_UNLESS_ROOT();
  const fs::path path = folder_ / "ledger";
  { ASSERT_TRUE(Ledger::open(path)); }
  give(path, kVictim);
  EXPECT_FALSE(Ledger::open(path));
  ::setfsuid(kVictim);
  EXPECT_TRUE(Ledger::open(path));
  ::setfsuid(0);
  give(path, kOther);
  ::setfsuid(kVictim);
  EXPECT_FALSE(Ledger::open(path));
  ::setfsuid(0);
  EXPECT_EQ(listing(folder_.path()).find("ckpt-owner"), std::string::npos);
}

// ---- patches ------------------------------------------------------------------------------------

TEST_F(OtherUsers, AJournalOfAnotherUserIsRefusedByName) {
  SKIP_UNLESS_ROOT();
  fs::copy(testdata("formats/good/gguf/types.gguf"), folder_ / "m.gguf");
  const fs::path path = folder_ / "m.gguf", staging = staging_of(path);
  for (const uid_t user : {uid_t{0}, kVictim}) {
    give(path, user);
    for (const fs::path& planted : {staging, journal_of(path), staging / "files"}) {
      fs::create_directories(staging / "files");
      write_file(staging / "files/0", "planted");
      const auto of = digest_of_journal(path, "replace 0 7 m.gguf\nend\n");
      ASSERT_TRUE(of);
      write_file(journal_of(path),
                 fmt::format("ckpt-patch 3\nof {}\nreplace 0 7 m.gguf\nend\n", *of));
      give(staging, user);
      give(planted, kOther);
      const std::string before = read_file(path);
      const std::string said = output_as_user(user, [&] {
        const auto found = finish_earlier_patch(path);
        return found ? std::string("finished") : found.error().text();
      });
      EXPECT_NE(said.find(planted.string() + ": belongs to user 4102"), std::string::npos) << said;
      EXPECT_TRUE(said.ends_with(". Try: sudo -u '#4102' ckpt patch " + path.string())) << said;
      EXPECT_EQ(read_file(path), before);
      fs::remove_all(staging);
    }
  }
}

TEST_F(OtherUsers, APatchThatAnotherUserPreparesDoesNotStopReaders) {
  SKIP_UNLESS_ROOT();
  fs::copy(testdata("formats/good/gguf/types.gguf"), folder_ / "m.gguf");
  const fs::path path = folder_ / "m.gguf", staging = staging_of(path);
  fs::permissions(path, fs::perms::others_read, fs::perm_options::add);
  fs::create_directories(staging / "files");
  fs::permissions(staging, fs::perms::owner_all);
  const auto read = [&] {
    const auto found = recognize(path);
    return found ? std::string((*found)->name) : found.error().text();
  };
  EXPECT_EQ(output_as_user(kVictim, read), "gguf");
  ASSERT_TRUE(show_staging(path));
  EXPECT_EQ(output_as_user(kVictim, read), "gguf");
  write_file(journal_of(path), "ckpt-patch 2\n");
  const std::string said = output_as_user(kVictim, read);
  EXPECT_NE(said.find("a patch by user 0 was interrupted"), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with(". Try: sudo -u '#0' ckpt patch " + path.string())) << said;
  EXPECT_NE(read().find("rerun it to finish"), std::string::npos) << read();
}

// Root patches another user's checkpoint: it stays that user's.
TEST_F(OtherUsers, APatchedFileKeepsItsOwnerAndAttributes) {
  using namespace patch_test;
  const fs::path path = folder_ / "m";
  make_checkpoint(path);
  const fs::path config = path / "config.json";
  fs::permissions(config, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  // Version 2: owner rw, user 4102 rw, group r, mask rw, others none.
  const unsigned char acl[] = {2, 0, 0,   0,   1,   0,   6,  0, 255, 255, 255, 255, 2,   0,  6,
                               0, 6, 16,  0,   0,   4,   0,  4, 0,   255, 255, 255, 255, 16, 0,
                               6, 0, 255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255};
  const bool has_attributes = ::setxattr(config.c_str(), "user.note", "mine", 4, 0) == 0;
  const bool has_acls =
      ::setxattr(config.c_str(), "system.posix_acl_access", acl, sizeof acl, 0) == 0;
  const mode_t mode = mode_of(config);
  if (is_root()) give(path, kVictim);
  ASSERT_EQ(error_of(run_patch(path, {"config:set=layers=3", "rename:from=model.,to=m."})),
            "no error");
  EXPECT_EQ(mode_of(config), mode);
  for (const auto& entry : fs::directory_iterator(path)) {
    struct stat status {};
    ASSERT_EQ(::lstat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, is_root() ? kVictim : ::geteuid()) << entry.path();
  }
  char value[64];
  if (has_attributes) {
    ASSERT_EQ(::getxattr(config.c_str(), "user.note", value, sizeof value), 4);
  }
  if (!has_acls) GTEST_SKIP() << "this file system has no ACLs";
  ASSERT_EQ(::getxattr(config.c_str(), "system.posix_acl_access", value, sizeof value),
            static_cast<ssize_t>(sizeof acl));
  EXPECT_EQ(std::memcmp(value, acl, sizeof acl), 0);
}

}  // namespace
}  // namespace ckpt
