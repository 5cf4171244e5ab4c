// Writes pieces of files in every order, and checks the bytes, the digests, and which threads wait.
#include "core/outputs/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "core/engine/compare.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

using Turn = FileWriter::Turn;
constexpr uint64_t kPieceBytes = uint64_t{4} << 20, kSmallBytes = uint64_t{64} << 10;
constexpr size_t kPieces = 24;  // twice of what is kept in memory

// The expected content. The first piece is a byte longer, so that no other begins a page.
const std::string& content() {
  static const std::string bytes = [] {
    std::string out(kPieces * kPieceBytes + 1, 0);
    std::mt19937_64 dice(1);
    for (size_t i = 0; i + 8 <= out.size(); i += 8) {
      const uint64_t word = dice();
      std::memcpy(&out[i], &word, sizeof word);
    }
    return out;
  }();
  return bytes;
}

struct Writing {
  explicit Writing(std::filesystem::path where, const FileMode& mode = {},
                   uint64_t bytes_of_piece = kPieceBytes)
      : path(std::move(where)),
        piece_bytes(bytes_of_piece),
        expected(std::string_view(content()).substr(0, kPieces * piece_bytes + 1)) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    writer = FileWriter::create({path, std::move(file)}, expected.size(), pool, mode).value();
  }
  void put(size_t piece, Turn turn) {
    const uint64_t offset = piece == 0 ? 0 : piece * piece_bytes + 1;
    Piece made = make_piece(pool, offset, piece_bytes + (piece == 0 ? 1 : 0));
    std::memcpy(made.bytes.data(), expected.data() + offset, made.bytes.size());
    const Status status = writer->put(std::move(made), turn);
    EXPECT_TRUE(status) << status.error().text();
  }
  void finish() {
    const auto digest = writer->finish();
    ASSERT_TRUE(digest) << digest.error().text();
    EXPECT_EQ(*digest, hash_file(path).value());
    EXPECT_TRUE(read_file(path) == expected);
  }
  std::filesystem::path path;
  uint64_t piece_bytes;
  std::string_view expected;
  BufferPool pool;
  std::unique_ptr<FileWriter> writer;
};

TEST(FileWriter, PiecesInAnyOrderGiveTheFileAndItsDigest) {
  std::mt19937 dice(7);
  for (const Turn turn : {Turn::kNext, Turn::kLater}) {
    const TemporaryFolder folder;
    Writing writing(folder / "out");
    size_t order[kPieces];
    for (size_t i = 0; i < kPieces; ++i) order[i] = i;
    // Few far from their place for kNext: each that is not waited for costs a fifth of a second.
    const size_t reach = turn == Turn::kNext ? 4 : kPieces;
    for (size_t i = 0; i < kPieces; i += reach) std::shuffle(order + i, order + i + reach, dice);
    for (const size_t piece : order) writing.put(piece, turn);
    writing.finish();
  }
}

// Kept and hashed while it is written; dropped and read back; written by another run.
TEST(FileWriter, TheHeadIsWrittenLast) {
  const auto head = std::as_bytes(std::span(content())).first(kHeadBytes);
  const std::string none(kHeadBytes, 0);
  for (const bool is_first_late : {false, true}) {
    const TemporaryFolder folder;
    Writing writing(folder / "out");
    writing.writer->hold_head(head);
    if (!is_first_late) writing.put(0, Turn::kNext);
    for (size_t piece = 1; piece < kPieces; ++piece) writing.put(piece, Turn::kLater);
    if (is_first_late) writing.put(0, Turn::kLater);
    EXPECT_EQ(read_file(writing.path), none + content().substr(kHeadBytes));
    writing.finish();
  }
  const TemporaryFolder folder;
  {
    Writing share(folder / "out", {.may_exist = true, .hashes = false});
    share.writer->hold_head(head);
    for (size_t piece = 0; piece < kPieces; ++piece) share.put(piece, Turn::kNext);
    ASSERT_TRUE(share.writer->finish());
    EXPECT_EQ(read_file(share.path), none + content().substr(kHeadBytes));
  }
  Writing whole(folder / "out", {.may_exist = true});
  whole.writer->hold_head(head);
  ASSERT_TRUE(whole.writer->put_written(0, kHeadBytes / 2));
  ASSERT_TRUE(whole.writer->put_written(kHeadBytes / 2, content().size() - kHeadBytes / 2));
  whole.finish();
}

TEST(FileWriter, ResumesABlockedThreadWhenHashingCatchesUp) {
  const TemporaryFolder folder;
  Writing writing(folder / "out");
  std::vector<std::thread> threads;
  std::atomic<size_t> next{0};
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (size_t piece = next++; piece < kPieces; piece = next++) {
        if (piece == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        writing.put(piece, Turn::kNext);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  writing.finish();
}

// The first piece comes last: nobody may wait for it for ever.
TEST(FileWriter, APieceThatNobodyMakesIsNotWaitedForForEver) {
  const TemporaryFolder folder;
  Writing writing(folder / "out");
  for (size_t piece = kPieces - 14; piece < kPieces; ++piece) writing.put(piece, Turn::kNext);
  for (size_t piece = 0; piece < kPieces - 14; ++piece) writing.put(piece, Turn::kNext);
  writing.finish();
}

// Four threads put the pieces of five files that share a room, which is large or so small that they
// wait for each other. An earlier run has written half of the first file's pieces.
TEST(WaitingRoom, HashesFilesTogetherWhoeverPutsTheirPieces) {
  constexpr size_t kFiles = 5;
  const std::string earlier = content().substr(0, kPieces * kSmallBytes + 1);
  for (const uint64_t limit_bytes : {uint64_t{1} << 30, 3 * kSmallBytes}) {
    for (const size_t together : {1, 3, 16}) {
      const TemporaryFolder folder;
      WaitingRoom room;
      room.set_limits(limit_bytes, together);
      std::deque<Writing> files;
      write_file(folder / "out0", earlier);
      for (size_t i = 0; i < kFiles; ++i) {
        files.emplace_back(folder / fmt::format("out{}", i),
                           FileMode{.may_exist = i == 0, .room = &room}, kSmallBytes);
      }
      std::vector<std::thread> threads;
      std::atomic<size_t> next{0};
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
          for (size_t at = next++; at < kFiles * kPieces; at = next++) {
            const size_t piece = at / kFiles;
            if (at % kFiles == 0 && piece % 2 == 1) {
              EXPECT_TRUE(files[0].writer->put_written(piece * kSmallBytes + 1, kSmallBytes));
            } else {
              files[at % kFiles].put(piece, at % 7 == 0 ? Turn::kLater : Turn::kNext);
            }
          }
          EXPECT_TRUE(room.hash_all());
        });
      }
      for (std::thread& thread : threads) thread.join();
      for (Writing& file : files) file.finish();
      EXPECT_EQ(room.used_bytes(), 0);
    }
  }
}

TEST(WaitingRoom, WaitsForFurtherFilesAndThenHashesAll) {
  const TemporaryFolder folder;
  WaitingRoom room;
  room.set_limits(uint64_t{1} << 30, 2);
  Writing first(folder / "first", {.room = &room}, kSmallBytes);
  Writing second(folder / "second", {.room = &room}, kSmallBytes);
  first.put(0, Turn::kNext);
  EXPECT_EQ(room.used_bytes(), kSmallBytes + 1);
  second.put(0, Turn::kNext);
  EXPECT_EQ(room.used_bytes(), 0);
  for (size_t piece = 1; piece < kPieces; ++piece) first.put(piece, Turn::kNext);
  EXPECT_GT(room.used_bytes(), 0);
  ASSERT_TRUE(room.hash_all());
  EXPECT_EQ(room.used_bytes(), 0);
  first.finish();
}

// The error is that of the file that cannot be read, whichever thread hashes it.
TEST(WaitingRoom, ReportsBytesThatCannotBeReadBack) {
  const TemporaryFolder folder;
  WaitingRoom room;
  room.set_limits(0, 2);
  Writing file(folder / "out", {.room = &room}, kSmallBytes);
  file.put(1, Turn::kLater);
  std::filesystem::resize_file(file.path, kSmallBytes);
  file.put(0, Turn::kNext);
  const Status status = room.hash_all();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace ckpt
