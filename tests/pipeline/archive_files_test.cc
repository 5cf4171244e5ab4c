// Archives on disk: reports on contents that contradict the sums, on archives that lie,
// and that nothing is left behind.
#include <gtest/gtest.h>

#include <map>

#include "core/base/sha256.h"
#include "tests/support/files.h"
#include "tools/published/archive.h"
#include "tools/published/verify_archive.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string digest_of(std::string_view text) {
  Sha256 hash;
  hash.add(bytes_of(text));
  return hash.finish();
}

using Files = std::map<std::string, std::string>;

std::string tar_of(const Files& files) {
  std::string tar;
  for (const auto& [name, content] : files) {
    tar += render_tar_header({name, content.size(), false}) + content;
    tar.resize((tar.size() + 511) / 512 * 512, '\0');
  }
  return tar + std::string(kTarEndBytes, '\0');
}

// Frames of `frame_bytes` over the tar, with the table that belongs to them.
std::string archive_of(const std::string& tar, size_t frame_bytes = 1000) {
  std::string out;
  std::vector<Frame> frames;
  for (size_t at = 0; at < tar.size(); at += frame_bytes) {
    const auto frame = compress_frame(bytes_of(std::string_view(tar).substr(at, frame_bytes)));
    out += frame->bytes;
    frames.push_back(frame->frame);
  }
  return out + render_seek_table(frames);
}

Files with_sums(Files files) {
  std::vector<FileDigest> digests;
  for (const auto& [name, content] : files) digests.push_back({name, digest_of(content), 0});
  files[std::string(kSumsName)] = render_sha256sums(digests);
  return files;
}

// The findings of `ckpt verify`, then the error if there is one.
struct VerifyOutcome {
  std::string said;
  uint64_t bad = 0;
};
VerifyOutcome ask(const fs::path& path, const std::string& unpack = "", unsigned threads = 3) {
  CommonOptions common;
  common.threads = threads;
  const Console console(common);
  Findings findings(console);
  testing::internal::CaptureStdout();
  const Status status = check_archive({path, "", {}, {}, unpack}, console, common, findings);
  findings.say(path.string());
  std::fflush(stdout);
  std::string said = testing::internal::GetCapturedStdout();
  if (!status) said += "! " + status.error().text();
  return {std::move(said), findings.bad_count()};
}

const Files kFiles = {{"config.json", "{}"},
                      {"model.safetensors", std::string(3000, 'w')},
                      {"sub/notes.txt", "kept\n"}};

class ArchiveFiles : public testing::Test {
 protected:
  fs::path write(const std::string& bytes) {
    const fs::path path = folder.path() / "m.tar.zst";
    write_file(path, bytes);
    return path;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      all.push_back(entry.path().filename().string());
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  TemporaryFolder folder;
  const std::string out = (folder.path() / "out").string();
};

TEST_F(ArchiveFiles, UnpacksValidArchives) {
  const fs::path path = write(archive_of(tar_of(with_sums(kFiles))));
  const VerifyOutcome asked = ask(path, out);
  EXPECT_EQ(asked.bad, 0u) << asked.said;
  EXPECT_NE(asked.said.find("m.tar.zst: a sound archive of 4 files, "), std::string::npos);
  for (const auto& [name, content] : kFiles) EXPECT_EQ(read_file(fs::path(out) / name), content);
  EXPECT_EQ(names(), (std::vector<std::string>{"m.tar.zst", "out"}));
}

TEST_F(ArchiveFiles, WhatTheSumsDoNotSayIsNamed) {
  Files files = with_sums(kFiles);
  files["config.json"] = "{ }";                         // changed
  files.erase("sub/notes.txt");                         // missing
  files["sub/extra"] = "x";                             // extra
  files["b.safetensors"] = files["model.safetensors"];  // renamed
  files.erase("model.safetensors");
  const VerifyOutcome asked = ask(write(archive_of(tar_of(files))), out);
  EXPECT_EQ(asked.bad, 4u);
  for (const char* line :
       {"config.json: changed: SHA-256 is ", "sub/notes.txt: missing; SHA256SUMS lists it\n",
        "sub/extra: extra; SHA256SUMS does not list it\n",
        "b.safetensors: renamed; SHA256SUMS lists it as model.safetensors\n"}) {
    EXPECT_NE(asked.said.find(line), std::string::npos) << line << asked.said;
  }
  EXPECT_EQ(names(), std::vector<std::string>{"m.tar.zst"}) << "nothing is unpacked";
}

TEST_F(ArchiveFiles, NothingLeavesTheFolder) {
  for (const std::string name : {"../out.txt", "/tmp/out.txt", "a/../../out.txt"}) {
    Files files = with_sums(kFiles);
    files[name] = "outside";
    const VerifyOutcome asked = ask(write(archive_of(tar_of(files))), out);
    EXPECT_NE(asked.said.find("which leaves the folder"), std::string::npos) << asked.said;
    EXPECT_NE(asked.said.find(name), std::string::npos) << asked.said;
    EXPECT_EQ(names(), std::vector<std::string>{"m.tar.zst"});
    EXPECT_FALSE(fs::exists("/tmp/out.txt"));
  }
}

TEST_F(ArchiveFiles, SizesThatAreNotThereAreRefused) {
  // A member that says it has 4 EiB, in a file of some hundred bytes.
  const std::string tar = render_tar_header({"weights", uint64_t{1} << 62, false}) + "few";
  const VerifyOutcome unpacked = ask(write(archive_of(tar)), out);
  EXPECT_NE(unpacked.said.find("! "), std::string::npos) << unpacked.said;
  EXPECT_EQ(names(), std::vector<std::string>{"m.tar.zst"});
  const VerifyOutcome asked = ask(write(archive_of(tar)));
  EXPECT_NE(asked.said.find("the tar ends too early"), std::string::npos) << asked.said;
}

// Whatever one byte of the file turns into, the answer is the sound one, a finding or an error.
TEST_F(ArchiveFiles, DamageIsNoticedEverywhere) {
  const std::string sound = archive_of(tar_of(with_sums(kFiles)));
  size_t noticed = 0;
  for (size_t at = 0; at < sound.size(); at += 3) {
    std::string bytes = sound;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x41);
    const VerifyOutcome asked = ask(write(bytes), "", 2);
    const bool is_good = asked.bad == 0 && asked.said.find("! ") == std::string::npos;
    if (is_good) {
      EXPECT_NE(asked.said.find("3 files: SHA-256 as listed"), std::string::npos);
    }
    noticed += is_good ? 0 : 1;
  }
  EXPECT_GT(noticed, sound.size() / 3 * 9 / 10);
}

TEST_F(ArchiveFiles, FilesThatEndEarlyAreErrors) {
  const std::string sound = archive_of(tar_of(with_sums(kFiles)));
  const std::string table = sound.substr(sound.size() - 100);
  for (size_t size = 4; size < sound.size(); size += 7) {
    const VerifyOutcome asked = ask(write(sound.substr(0, size)), out);
    // A file that only lost its seek table is whole.
    if (asked.said.find("! ") == std::string::npos) {
      EXPECT_EQ(asked.bad, 0u);
      EXPECT_GT(size, sound.size() - 17 - 12 * 20);
      fs::remove_all(out);
    }
    EXPECT_EQ(names(), std::vector<std::string>{"m.tar.zst"}) << size;
  }
}

// Without a table, and with frames larger than memory allows, the report is the same.
TEST_F(ArchiveFiles, StreamsAreReadToo) {
  const std::string tar = tar_of(with_sums(kFiles));
  const std::string one = compress_frame(bytes_of(tar))->bytes;
  const std::string whole = ask(write(archive_of(tar))).said;
  EXPECT_EQ(ask(write(one)).said, whole);
  const auto source = open_file(write(archive_of(tar)));
  struct Count final : TarSink {
    Status begin(const TarMember&) override { return {}; }
    Status add(std::span<const std::byte> content) override {
      bytes += content.size();
      return {};
    }
    Status end() override { return {}; }
    uint64_t bytes = 0;
  } all, little;
  CommonOptions common;
  ASSERT_TRUE(read_archive(**source, all, Console(common), {2, 1 << 30, false}));
  ASSERT_TRUE(read_archive(**source, little, Console(common), {2, 1, false}));
  EXPECT_EQ(all.bytes, little.bytes);
  EXPECT_GT(all.bytes, 3000u);
}

TEST_F(ArchiveFiles, EveryNumberOfThreadsWritesTheSame) {
  const fs::path from = folder.path() / "in";
  fs::create_directories(from / "sub");
  std::string large;
  for (uint32_t state = 7; large.size() < (40 << 20); state = state * 1664525 + 1013904223) {
    large += static_cast<char>(state >> 27);
  }
  write_file(from / "a.bin", large);
  write_file(from / "sub" / "b", "b");
  const std::vector<FileDigest> files = {{"a.bin", digest_of(large), large.size()},
                                         {"sub/b", digest_of("b"), 1}};
  CommonOptions common;
  std::string first;
  for (const unsigned threads : {1, 2, 5}) {
    const fs::path path = folder.path() / "t.tar.zst";
    const auto written =
        write_archive(from, files, path, Console(common), {threads, 512 << 20, true});
    ASSERT_TRUE(written) << written.error().text();
    const std::string bytes = read_file(path);
    EXPECT_EQ(written->sha256, digest_of(bytes));
    EXPECT_EQ(written->size_bytes, bytes.size());
    if (first.empty()) first = bytes;
    EXPECT_TRUE(bytes == first) << threads;
  }
  // A file that no longer is what was hashed ends it, and nothing is left.
  fs::remove(folder.path() / "t.tar.zst");
  for (const char* content : {"bb", "c"}) {
    write_file(from / "sub" / "b", content);
    const auto changed =
        write_archive(from, files, folder.path() / "t.tar.zst", Console(common), {2, 512 << 20});
    ASSERT_FALSE(changed) << content;
    EXPECT_NE(changed.error().text().find("changed"), std::string::npos) << content;
    EXPECT_EQ(names(), std::vector<std::string>{"in"});
  }
}

}  // namespace
}  // namespace ckpt
