// Frames that stand alone, the seek table over them, and files in which one lies about the other.
#include <gtest/gtest.h>
#include <zstd.h>

#include <span>

#include "publish/publish.h"

namespace ckpt {
namespace {

std::span<const std::byte> frame_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Text of which zstd finds something to save.
std::string sample(size_t size, uint32_t seed) {
  std::string out;
  for (uint32_t state = seed; out.size() < size; state = state * 1664525 + 1013904223) {
    out += static_cast<char>('a' + (state >> 24) % 7);
  }
  return out;
}

CompressedFrame frame_of(std::string_view content) {
  auto frame = compress_frame(frame_bytes(content));
  EXPECT_TRUE(frame) << frame.error().text();
  return std::move(*frame);
}

// Three frames and their table.
struct File {
  std::vector<Frame> frames;
  std::string content, bytes;
};
File three_frames() {
  File out;
  for (uint32_t i = 0; i < 3; ++i) {
    const std::string content = sample(100000 + i, i);
    const CompressedFrame frame = frame_of(content);
    out.frames.push_back(frame.frame);
    out.content += content;
    out.bytes += frame.bytes;
  }
  out.bytes += render_seek_table(out.frames);
  return out;
}

Result<std::vector<Frame>> table_of(std::string_view file) {
  const size_t footer = std::min<size_t>(file.size(), kSeekFooterBytes);
  return seek_table_bytes(frame_bytes(file.substr(file.size() - footer)), file.size())
      .and_then([&](uint64_t size) -> Result<std::vector<Frame>> {
        if (size == 0) return std::vector<Frame>{};
        return parse_seek_table(frame_bytes(file.substr(file.size() - size)), file.size());
      });
}

std::string streamed(std::string_view file, size_t piece) {
  ZstdStream stream(file.size());
  std::string out;
  const auto take = [&](std::span<const std::byte> bytes) -> Status {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  };
  Status status;
  for (size_t at = 0; status && at < file.size(); at += piece) {
    status = stream.add(frame_bytes(file.substr(at, piece)), take);
  }
  if (status) status = stream.finish();
  return status ? out : "! " + status.error().text();
}

TEST(ZstdFrames, ComeBackOneByOne) {
  const File file = three_frames();
  const auto frames = table_of(file.bytes);
  ASSERT_TRUE(frames) << frames.error().text();
  ASSERT_EQ(frames->size(), 3u);
  size_t at = 0;
  std::string content;
  for (const Frame& frame : *frames) {
    std::string out(frame.size_bytes, '\0');
    const Status done = decompress_frame(
        frame_bytes(std::string_view(file.bytes).substr(at, frame.compressed_bytes)), frame,
        std::as_writable_bytes(std::span(out)));
    ASSERT_TRUE(done) << done.error().text();
    at += frame.compressed_bytes;
    content += out;
  }
  EXPECT_TRUE(content == file.content);
}

// The whole file is zstd data to any reader: the table is a frame that is skipped.
TEST(ZstdFrames, AreOneStream) {
  const File file = three_frames();
  for (const size_t piece : {size_t{1}, size_t{4096}, file.bytes.size()}) {
    EXPECT_TRUE(streamed(file.bytes, piece) == file.content) << piece;
  }
  const size_t table_bytes = 8 + 3 * 12 + 9;
  EXPECT_TRUE(streamed(file.bytes.substr(0, file.bytes.size() - table_bytes), 512) == file.content)
      << "the table is not content";
}

TEST(ZstdFrames, EqualContentGivesEqualBytes) {
  const std::string content = sample(3 << 20, 5);
  EXPECT_EQ(frame_of(content).bytes, frame_of(content).bytes);
  EXPECT_LT(frame_of(content).bytes.size(), content.size() / 2);
  EXPECT_EQ(frame_of("").frame.size_bytes, 0u);
}

TEST(SeekTable, HasTheFormatsBytes) {
  const std::string table = render_seek_table({{0x11223344, 0x55667788, 0x99AABBCC}});
  EXPECT_EQ(table, std::string("\x5E\x2A\x4D\x18\x15\0\0\0"
                               "\x44\x33\x22\x11\x88\x77\x66\x55\xCC\xBB\xAA\x99"
                               "\x01\0\0\0\x80\xB1\xEA\x92\x8F",
                               29));
}

TEST(SeekTable, AcceptsFilesWithoutATable) {
  for (const std::string& file : {std::string(), std::string("short"), std::string(100, 'x')}) {
    const auto frames = table_of(file);
    ASSERT_TRUE(frames);
    EXPECT_TRUE(frames->empty());
  }
}

TEST(SeekTable, RejectsFalseEntries) {
  const File file = three_frames();
  const size_t table = file.bytes.size() - (8 + 3 * 12 + 9);
  const auto error = [&](size_t at, char value) {
    std::string bytes = file.bytes;
    bytes[at] = value;
    const auto frames = table_of(bytes);
    return frames ? std::string("none") : frames.error().text();
  };
  const size_t footer = file.bytes.size() - kSeekFooterBytes;
  EXPECT_NE(error(table, 0).find("not a skippable frame of its size"), std::string::npos);
  EXPECT_NE(error(table + 4, 99).find("not a skippable frame of its size"), std::string::npos);
  EXPECT_NE(error(table + 8, 1).find("the seek table tells of"), std::string::npos);
  EXPECT_NE(error(footer, 2).find("not a skippable frame of its size"), std::string::npos);
  EXPECT_NE(error(footer + 3, '\x7F').find("a seek table of"), std::string::npos);
  EXPECT_NE(error(footer + 4, '\x84').find("unknown flags 0x84"), std::string::npos);
  EXPECT_EQ(error(footer + 8, 0), "none") << "another magic number: no table at all";
  EXPECT_NE(table_of("x" + file.bytes).error().text().find("the seek table tells of"),
            std::string::npos);
}

TEST(SeekTable, FramesThatAreNotWhatItSaysAreNoticed) {
  const std::string content = sample(5000, 1);
  const CompressedFrame made = frame_of(content);
  const auto error = [&](std::string_view bytes, Frame frame) {
    std::string out(frame.size_bytes, '\0');
    const Status status =
        decompress_frame(frame_bytes(bytes), frame, std::as_writable_bytes(std::span(out)));
    return status ? std::string("none") : status.error().text();
  };
  EXPECT_EQ(error(made.bytes, made.frame), "none");
  Frame other = made.frame;
  other.size_bytes -= 1;
  EXPECT_EQ(error(made.bytes, other), "a frame that holds more than the seek table's 4999 bytes");
  other.size_bytes += 2;
  EXPECT_EQ(error(made.bytes, other), "a frame that holds 5000 bytes; the seek table says 5001");
  other = made.frame;
  *other.checksum ^= 1;
  EXPECT_EQ(error(made.bytes, other), "a frame whose checksum is not the seek table's");
  EXPECT_NE(error(made.bytes + made.bytes, made.frame).find("the seek table says"),
            std::string::npos);
  EXPECT_NE(error("", made.frame), "none");
  EXPECT_NE(error(made.bytes.substr(0, made.bytes.size() - 1), made.frame), "none");
}

// A zstd frame notices every damaged byte of its content by its checksum.
TEST(ZstdFrames, AnyDamageIsNoticed) {
  const std::string content = sample(3000, 9);
  const CompressedFrame made = frame_of(content);
  for (size_t at = 0; at < made.bytes.size(); ++at) {
    std::string bytes = made.bytes;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    std::string out(content.size(), '\0');
    const Status one =
        decompress_frame(frame_bytes(bytes), made.frame, std::as_writable_bytes(std::span(out)));
    EXPECT_TRUE(!one || out == content) << at;
    const std::string whole = streamed(bytes, 100);
    EXPECT_TRUE(whole.starts_with("! ") || whole == content) << at;
  }
}

TEST(ZstdFrames, FilesThatEndEarlyAreNoticed) {
  const std::string bytes = frame_of(sample(3000, 2)).bytes;
  for (size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_EQ(streamed(bytes.substr(0, size), 64), "! the file ends inside a zstd frame") << size;
  }
  EXPECT_TRUE(streamed(bytes + "garbage", 64).starts_with("! damaged zstd data"));
}

// A window that the reader would have to keep in memory.
TEST(ZstdFrames, HugeWindowsAreRefused) {
  // Frame header: no content size, window 2^(10 + 21).
  const std::string bytes("\x28\xB5\x2F\xFD\x00\xA8\x01\x00\x00", 9);
  EXPECT_EQ(streamed(bytes, 64),
            "! a zstd window too large for a file of this size. Try: zstd -d on the archive, then "
            "zstd -19");
}

}  // namespace
}  // namespace ckpt
