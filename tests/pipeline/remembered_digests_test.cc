// Digests that were computed while converting: used again while size, time and inode agree and the
// inode did not change, where nobody else could have put them there; never with --rehash, and never
// for what is signed.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>

#include "core/engine/compare.h"
#include "core/io/folder.h"
#include "core/io/remembered.h"
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
  remember_digest(weights, other);
  EXPECT_EQ(published(out), other) << "stored again";
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

// More than remember_digest() allows for the storing itself.
void rest() { ::usleep(50'000); }

// rsync -t --inplace, cp -p onto the file, touch -r: nothing but the inode shows the change.
TEST(RememberedDigests, DoNotCountAfterAChangeWhoseTimeWasSetBack) {
  TemporaryFolder folder;
  const fs::path out = folder / "out", weights = out / "model.safetensors";
  run(fmt::format("convert '{}' '{}'", testdata("qwen3-micro").string(), out.string()));
  if (!remembered_digest(weights)) GTEST_SKIP() << "no extended attributes in " << folder.path();
  rest();
  const auto time = fs::last_write_time(weights);
  std::string bytes = read_file(weights);
  bytes.back() = static_cast<char>(bytes.back() + 1);
  write_file(weights, bytes);
  fs::last_write_time(weights, time);
  EXPECT_FALSE(remembered_digest(weights));
  EXPECT_EQ(published(out), hash_file(weights).value());
}

// Changes that ckpt itself makes to the inode do not make it hash the file again.
TEST(RememberedDigests, CountAfterALinkAndSourcesThatCkptAdds) {
  TemporaryFolder folder;
  const fs::path out = folder / "out", weights = out / "model.safetensors";
  run(fmt::format("convert '{}' '{}'", testdata("qwen3-micro").string(), out.string()));
  if (!remembered_digest(weights)) GTEST_SKIP() << "no extended attributes in " << folder.path();
  const std::string real = hash_file(weights).value();
  rest();
  remember_sources(weights, real, {"https://example.com/model"});
  EXPECT_EQ(remembered_digest(weights), real);
  rest();
  run(fmt::format("patch '{}' --step config:set=extra=1 --out '{}' --link hard", out.string(),
                  (folder / "linked").string()));
  EXPECT_EQ(remembered_digest(weights), real);
  EXPECT_EQ(remembered_digest(folder / "linked/model.safetensors"), real);
}

// A folder whose weights carry a digest that is not theirs.
fs::path planted(const TemporaryFolder& folder) {
  fs::path out = folder / "out";
  run(fmt::format("convert '{}' '{}'", testdata("qwen3-micro").string(), out.string()));
  remember_digest(out / "model.safetensors", std::string(64, 'a'));
  return out;
}
#define SKIP_UNLESS_REMEMBERED(out)                    \
  if (!remembered_digest((out) / "model.safetensors")) \
  GTEST_SKIP() << "no extended attributes in " << (out)

// The owner of a file could otherwise have another user sign a digest of bytes yet to come.
TEST(RememberedDigests, AreNothingToASignature) {
  TemporaryFolder folder;
  const fs::path out = planted(folder);
  SKIP_UNLESS_REMEMBERED(out);
  const std::string real = hash_file(out / "model.safetensors").value();
  const std::string key = testdata("publish/p256.pem").string();
  EXPECT_EQ(published(out, fmt::format("--sign '{}'", key)), real);
  EXPECT_NE(read_file(out / "model.sig").size(), 0u);
  run(fmt::format("verify '{}' --public-key '{}'", out.string(),
                  testdata("publish/p256.pub").string()));
}

// A signature also covers the sources of the model.
TEST(RememberedDigests, OfSourcesAreNothingToASignature) {
  TemporaryFolder folder;
  const fs::path source = planted(folder), out = folder / "next";
  SKIP_UNLESS_REMEMBERED(source);
  fs::copy(testdata("qwen3-micro"), out);
  const std::string real = hash_file(source / "model.safetensors").value();
  published(out, fmt::format("--source '{}'", source.string()));
  EXPECT_NE(read_file(out / "provenance.json").find(std::string(64, 'a')), std::string::npos);
  published(out, fmt::format("--source '{}' --sign '{}'", source.string(),
                             testdata("publish/p256.pem").string()));
  EXPECT_EQ(read_file(out / "provenance.json").find(std::string(64, 'a')), std::string::npos);
  EXPECT_NE(read_file(out / "provenance.json").find(real), std::string::npos);
}

TEST(RememberedDigests, CountOnlyWhereOthersCannotWrite) {
  TemporaryFolder folder;
  const fs::path out = planted(folder), weights = out / "model.safetensors";
  SKIP_UNLESS_REMEMBERED(out);
  const std::string real = hash_file(weights).value(), other(64, 'a');
  for (const fs::path& path : {weights, out}) {
    for (const fs::perms perms : {fs::perms::group_write, fs::perms::others_write}) {
      fs::permissions(path, perms, fs::perm_options::add);
      EXPECT_FALSE(remembered_digest(weights)) << path;
      EXPECT_EQ(published(out), real) << path;
      fs::permissions(path, perms, fs::perm_options::remove);
      remember_digest(weights, other);
      EXPECT_EQ(published(out), other) << path;
    }
  }
  // Through a link it is the folder that the file is in that counts.
  fs::create_directories(folder / "links");
  fs::create_symlink(weights, folder / "links/model.safetensors");
  EXPECT_TRUE(remembered_digest(folder / "links/model.safetensors"));
  fs::permissions(out, fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(remembered_digest(folder / "links/model.safetensors"));
}

TEST(RememberedDigests, OfAnotherUserDoNotCount) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root: nobody else to be";
  constexpr uid_t kStranger = 4102;
  TemporaryFolder folder;
  const fs::path out = planted(folder), weights = out / "model.safetensors";
  SKIP_UNLESS_REMEMBERED(out);
  const std::string real = hash_file(weights).value();
  for (const fs::path& path : {weights, out}) {
    ASSERT_EQ(::chown(path.c_str(), kStranger, kStranger), 0);
    EXPECT_FALSE(remembered_digest(weights)) << path;
    EXPECT_EQ(published(out), real) << path;
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
    remember_digest(weights, std::string(64, 'a'));
    EXPECT_TRUE(remembered_digest(weights)) << path;
  }
}

// The archive is hashed as it is written, and its sums are those of what is in it.
TEST(RememberedDigests, ThatAreWrongMakeNoArchive) {
  TemporaryFolder folder;
  const fs::path out = planted(folder), archive = folder / "out.tar.zst";
  SKIP_UNLESS_REMEMBERED(out);
  const std::string words = fmt::format("'{}' publish '{}' --archive '{}' >/dev/null 2>&1",
                                        CKPT_BINARY, out.string(), archive.string());
  EXPECT_EQ(WEXITSTATUS(std::system(words.c_str())), 2);
  EXPECT_FALSE(fs::exists(archive));
  run(fmt::format("publish '{}' --archive '{}' --rehash", out.string(), archive.string()));
  run(fmt::format("verify '{}'", archive.string()));
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

// Whoever resumes an upload does not hash everything again.
TEST(RememberedDigests, OfFilesThatPublishSends) {
  TemporaryFolder folder;
  fs::create_directories(folder / "out");
  fs::create_directories(folder / "models");
  const fs::path made = folder / "made.gguf", sent = folder / "out/m.gguf";
  run(fmt::format("convert '{}' '{}'", testdata("qwen3-micro").string(), made.string()));
  if (!remembered_digest(made)) GTEST_SKIP() << "no extended attributes in " << folder.path();
  write_file(sent, read_file(made));
  ASSERT_FALSE(remembered_digest(sent));
  run(fmt::format("publish '{}'", (folder / "out").string()));
  EXPECT_FALSE(remembered_digest(sent)) << "nothing was sent";
  ::setenv("OLLAMA_MODELS", (folder / "models").c_str(), 1);
  run(fmt::format("publish '{}' --to ollama:m", (folder / "out").string()));
  EXPECT_EQ(remembered_digest(sent), hash_file(sent).value());
}

}  // namespace
}  // namespace ckpt
