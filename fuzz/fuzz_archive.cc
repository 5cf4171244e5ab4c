// Archives: a tar in pieces, zstd frames, the table of frames at the end.
//
// The first byte says what the rest is, the second how large pieces are; the sums of tar headers
// are put right. Laws: names stay inside; as many bytes come as a member says; what is compressed
// is decompressed as it was.
#include <algorithm>

#include "core/io/open_folder.h"
#include "fuzz/fuzz.h"
#include "publish/archive.h"

namespace {

using namespace ckpt;

class Checker final : public TarSink {
 public:
  Status begin(const TarMember& member) override {
    FUZZ_LAW(stays_inside(member.name));
    left_bytes_ = member.size_bytes;
    FUZZ_LAW(render_tar_header(member).size() % kTarBlockBytes == 0);
    return {};
  }
  Status add(std::span<const std::byte> content) override {
    FUZZ_LAW(content.size() <= left_bytes_);
    left_bytes_ -= content.size();
    return {};
  }
  Status end() override {
    FUZZ_LAW(left_bytes_ == 0);
    return {};
  }

 private:
  uint64_t left_bytes_ = 0;
};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

void fix_sums(std::string& tar) {
  constexpr size_t kSumAt = 148;
  for (size_t at = 0; at + kTarBlockBytes <= tar.size(); at += kTarBlockBytes) {
    if (tar.compare(at + 257, 5, "ustar") != 0) continue;
    std::fill_n(tar.begin() + static_cast<std::ptrdiff_t>(at + kSumAt), 8, ' ');
    uint64_t sum = 0;
    for (size_t i = 0; i < kTarBlockBytes; ++i) sum += static_cast<unsigned char>(tar[at + i]);
    tar.replace(at + kSumAt, 7, fmt::format("{:06o}", sum) + '\0');
  }
}

void read_tar(std::string tar, size_t piece) {
  fix_sums(tar);
  Checker checker;
  TarReader reader(checker);
  for (auto left = bytes_of(tar); !left.empty();) {
    const auto here = left.first(std::min(piece, left.size()));
    if (!reader.add(here)) return;
    left = left.subspan(here.size());
  }
  (void)reader.finish();
}

void read_stream(const std::string& zstd, size_t piece) {
  ZstdStream stream(zstd.size());
  uint64_t made = 0;
  const auto count = [&](std::span<const std::byte> out) -> Status {
    made += out.size();
    if (made > (1 << 20)) return unsupported("enough");
    return {};
  };
  for (auto left = bytes_of(zstd); !left.empty();) {
    const auto here = left.first(std::min(piece, left.size()));
    if (!stream.add(here, count)) return;
    left = left.subspan(here.size());
  }
  (void)stream.finish();
}

void read_table(const std::string& file) {
  if (file.size() < kSeekFooterBytes) return;
  const auto bytes = bytes_of(file);
  const auto size = seek_table_bytes(bytes.last(kSeekFooterBytes), file.size());
  if (!size || *size == 0) return;
  FUZZ_LAW(*size <= file.size());
  const auto frames = parse_seek_table(bytes.last(*size), file.size());
  if (!frames) return;
  uint64_t at = 0;
  for (const Frame& frame : *frames) {
    FUZZ_LAW(frame.compressed_bytes <= file.size() - *size - at);
    if (frame.size_bytes <= (1 << 16)) {
      const std::vector<std::byte> exact(
          bytes.begin() + static_cast<std::ptrdiff_t>(at),
          bytes.begin() + static_cast<std::ptrdiff_t>(at + frame.compressed_bytes));
      std::vector<std::byte> out(frame.size_bytes);
      (void)decompress_frame(exact, frame, out);
    }
    at += frame.compressed_bytes;
  }
}

void compress(const std::string& content) {
  const auto made = compress_frame(bytes_of(content));
  FUZZ_LAW(made.has_value());
  std::string out(content.size(), '\0');
  FUZZ_LAW(
      decompress_frame(bytes_of(made->bytes), made->frame, std::as_writable_bytes(std::span(out)))
          .has_value());
  FUZZ_LAW(out == content);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const uint8_t kind = input.byte();
  const size_t piece = size_t{1} << input.byte() % 13;
  const std::string rest(input.text());
  switch (kind % 8) {
    case 0:
      read_stream(rest, piece);
      break;
    case 1:
      read_table(rest);
      break;
    case 2:
      if (size % 16 == 0) compress(rest);  // slower than the others
      break;
    default:
      read_tar(rest, piece);
      break;
  }
  return 0;
}
