// Archives of a published folder: a tar in zstd frames that can be read separately. Functions take
// and return bytes; callers read and write files.
//
//   tar     header | content, zeros to 512 | header | ... | 1024 zeros     split every 16 MiB
//   file    frame | frame | ... | seek table, a frame that readers skip
//
// Frames are independent, because matches do not cross them, so they are made and read in parallel.
// Bytes depend only on the content and the version of libzstd. Nothing that a file declares is
// trusted before it is checked, including the seek table. Sources: POSIX.1-2017 pax, ustar and pax
// formats; GNU tar src/tar.h; facebook/zstd
// contrib/seekable_format/zstd_seekable_compression_format.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

// ---- tar -------------------------------------------------------------------------------------
inline constexpr uint64_t kTarBlockBytes = 512;
inline constexpr uint64_t kTarEndBytes = 2 * kTarBlockBytes;  // of zeros

struct TarMember {
  std::string name;  // relative, with '/' but not at the end
  uint64_t size_bytes = 0;
  bool is_folder = false;
};
// Renders the bytes before a member's content: owner 0, time 0, mode 0644 or 0755, and a pax record
// only for a name or a size that does not fit. Requires: a valid name.
std::string render_tar_header(const TarMember& member);

// The name under which a program unpacks a member or a layer: without leading "./" and trailing
// '/'; empty: the folder itself. `noun` names the owner of the name in messages. Fails: kCorrupt if
// the name leaves the folder or is not a plain path.
Result<std::string> unpacked_name(std::string_view raw, std::string_view noun);

// Receives the members of a tar, in order.
class TarSink {
 public:
  virtual ~TarSink() = default;
  virtual Status begin(const TarMember& member) = 0;
  virtual Status add(std::span<const std::byte> content) = 0;  // content of the current member
  virtual Status end() = 0;                                    // the member is complete
};

// Reads a tar in pieces of any size: ustar, pax and GNU names and sizes. Names must stay inside the
// target folder and must not repeat, and no file may be the folder of another. Rejects everything
// but files and folders, by name. Keeps only names in memory.
class TarReader {
 public:
  explicit TarReader(TarSink& sink) : sink_(sink) {}
  // Fails: kCorrupt; kUnsupported; as the sink does.
  Status add(std::span<const std::byte> bytes);
  // Requires: all bytes were added. Fails: kCorrupt if the end is missing.
  Status finish() const;

 private:
  enum class State : uint8_t { kHeader, kContent, kRecord, kPadding, kEnd };
  Status add_header();
  Status start_member(const std::byte* header, char type);
  Status start_record(char type, uint64_t size_bytes);
  Status take_content(std::span<const std::byte> bytes);
  Status content_ended();
  Status record_ended();
  Status remember(const TarMember& member);
  Status check_zeros(std::span<const std::byte> bytes);

  TarSink& sink_;
  State state_ = State::kHeader;
  std::string block_;   // incomplete header
  std::string record_;  // incomplete pax records or long name
  char record_type_ = '\0';
  uint64_t left_bytes_ = 0;  // of content, record or padding
  uint64_t padding_bytes_ = 0;
  uint64_t zero_bytes_ = 0;               // zeros at the end so far
  std::optional<std::string> next_name_;  // of the next member, from a record
  std::optional<uint64_t> next_size_;
  std::map<std::string, bool> is_folder_;  // by name
  uint64_t name_bytes_ = 0;
};

// ---- zstd frames -----------------------------------------------------------------------------
inline constexpr uint64_t kFrameBytes = uint64_t{16} << 20;  // of the tar, per frame
inline constexpr uint64_t kSeekFooterBytes = 9;

struct Frame {
  uint32_t compressed_bytes = 0;
  uint32_t size_bytes = 0;
  std::optional<uint32_t> checksum = std::nullopt;  // low half of XXH64 of the content
};
struct CompressedFrame {
  std::string bytes;
  Frame frame;
};
// Requires: at most 1 GiB. Fails: kIo if memory runs out.
Result<CompressedFrame> compress_frame(std::span<const std::byte> content);
// The skippable frame with the start positions of the frames.
std::string render_seek_table(const std::vector<Frame>& frames);

// The size of the seek table at the end of a file of `file_bytes` bytes; 0 if it has none. `footer`
// is the file's last kSeekFooterBytes. Fails: kCorrupt if the declared size is impossible.
Result<uint64_t> seek_table_bytes(std::span<const std::byte> footer, uint64_t file_bytes);
// Requires: `table` is the seek table at the end of the file. Fails: kCorrupt if the frames do not
// fill the file up to the table.
Result<std::vector<Frame>> parse_seek_table(std::span<const std::byte> table, uint64_t file_bytes);

// Fills `out` completely. Fails: kCorrupt: the frame is damaged, or not the one that `frame`
// describes.
Status decompress_frame(std::span<const std::byte> bytes, const Frame& frame,
                        std::span<std::byte> out);

// Decompresses a file without a seek table, from front to end in bounded memory.
class ZstdStream {
 public:
  using Out = std::function<Status(std::span<const std::byte>)>;
  // Accepts windows up to 64 MiB, and up to 128 MiB in files of at least 64 MiB, because nine bytes
  // can request any size.
  explicit ZstdStream(uint64_t file_bytes);
  ~ZstdStream();
  // Fails: kCorrupt; kUnsupported for a larger window; as `out` does.
  Status add(std::span<const std::byte> bytes, const Out& out);
  Status finish() const;  // fails: kCorrupt inside a frame

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ckpt
