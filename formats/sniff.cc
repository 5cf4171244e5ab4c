#include "formats/sniff.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ckpt {
namespace {

struct Magic {
  std::string_view bytes, what, hint;
};

constexpr std::string_view kConvert =
    "converting it to safetensors first, for example with transformers' save_pretrained";

constexpr std::array<Magic, 9> kMagics = {{
    {"version https://git-lfs", "a Git LFS pointer, not the file itself",
     "git lfs pull in the folder it was cloned to"},
    {"<!DOCTYPE", "an HTML page; the download went wrong", "downloading it again"},
    {"<!doctype", "an HTML page; the download went wrong", "downloading it again"},
    {"<html", "an HTML page; the download went wrong", "downloading it again"},
    {"PK\x03\x04", "a zip archive, as PyTorch saves checkpoints", kConvert},
    {"\x80\x02", "a Python pickle, as PyTorch saves checkpoints", kConvert},
    {"\x89HDF\r\n", "an HDF5 file, as Keras saves checkpoints", kConvert},
    {"GGUF", "a GGUF file", ""},
    {"ggjt", "a llama.cpp file older than GGUF", ""},
}};

}  // namespace

Result<Sniffed> sniff(const ByteSource& source) {
  if (source.size_bytes() == 0) {
    return Sniffed{"an empty file", "downloading or writing it again"};
  }
  std::array<char, 32> head{};
  const size_t size = std::min<uint64_t>(head.size(), source.size_bytes());
  CKPT_TRY(source.read(0, std::as_writable_bytes(std::span(head).first(size))));
  const std::string_view text(head.data(), size);
  // A safetensors header of 640 bytes begins like a pickle: what follows its length decides.
  if (size > 8 && text[8] == '{' && text.substr(4, 4) == std::string_view("\0\0\0\0", 4)) {
    return Sniffed{};
  }
  for (const Magic& magic : kMagics) {
    if (text.starts_with(magic.bytes)) {
      return Sniffed{std::string(magic.what), std::string(magic.hint)};
    }
  }
  return Sniffed{};
}

Status refuse_other_files(const ByteSource& source, std::string_view expected) {
  CKPT_ASSIGN(const Sniffed found, sniff(source));
  if (found.what.empty()) return {};
  return fail_with_hint(ErrorCode::kUnsupported, found.hint, "{}; expected {}", found.what,
                        expected);
}

}  // namespace ckpt
