// Pieces of a file in every order: its bytes and its digest, and who waits for whom.
#include "core/outputs/file_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <span>
#include <thread>

#include "core/engine/compare.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

using Turn = FileWriter::Turn;
constexpr uint64_t kPieceBytes = uint64_t{4} << 20;
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
  explicit Writing(std::filesystem::path where, const FileMode& mode = {})
      : path(std::move(where)) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    writer = FileWriter::create({path, std::move(file)}, content().size(), pool, mode).value();
  }
  void put(size_t piece, Turn turn) {
    const uint64_t offset = piece == 0 ? 0 : piece * kPieceBytes + 1;
    Piece made = make_piece(pool, offset, kPieceBytes + (piece == 0 ? 1 : 0));
    std::memcpy(made.bytes.data(), content().data() + offset, made.bytes.size());
    const Status status = writer->put(std::move(made), turn);
    EXPECT_TRUE(status) << status.error().text();
  }
  void finish() {
    const auto digest = writer->finish();
    ASSERT_TRUE(digest) << digest.error().text();
    EXPECT_EQ(*digest, hash_file(path).value());
    EXPECT_TRUE(read_file(path) == content());
  }
  std::filesystem::path path;
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

}  // namespace
}  // namespace ckpt
