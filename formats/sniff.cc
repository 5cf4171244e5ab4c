#include "formats/sniff.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/base/glob.h"
#include "core/base/printable.h"
#include "core/base/lines.h"
#include "core/base/words.h"

namespace ckpt {

extern const std::string_view kPartialFiles;  // data/partial_files.txt

namespace {

struct Magic {
  std::string_view bytes, what, hint = {};
};

constexpr std::string_view kConvert =
    "converting it to safetensors first, for example with transformers' save_pretrained";

constexpr std::string_view kUnpack = "mkdir DIR && tar -xf FILE -C DIR, and then DIR";

constexpr std::array<Magic, 10> kMagics = {{
    {"version https://git-lfs", "a Git LFS pointer, not the file itself",
     "git lfs pull in the folder it was cloned to"},
    {"PK\x03\x04", "a zip archive, as PyTorch saves checkpoints", kConvert},
    {"\x80\x02", "a Python pickle, as PyTorch saves checkpoints", kConvert},
    {"\x89HDF\r\n", "an HDF5 file, as Keras saves checkpoints", kConvert},
    {"\x28\xb5\x2f\xfd", "an archive (.tar.zst)",
     "ckpt verify FILE --unpack DIR, and then DIR; or, where ckpt publish did not make it, mkdir "
     "DIR && tar -xf FILE -C DIR"},
    {"\x1f\x8b", "an archive (.tar.gz)", kUnpack},
    {"\xfd"
     "7zXZ",
     "an archive (.tar.xz)", kUnpack},
    {"BZh", "an archive (.tar.bz2)", kUnpack},
    {"GGUF", "a GGUF file"},
    {"ggjt", "a llama.cpp file older than GGUF"},
}};

// "hf://ORG/NAME@REVISION/PATH" of a page of the hub, or of a mirror, about a repository or a file;
// empty of other URLs.
std::string hub_form(std::string_view url) {
  const size_t scheme = url.find("://");
  if (!url.starts_with("http") || scheme == url.npos) return {};
  std::string_view rest = url.substr(scheme + 3);
  rest = rest.substr(0, rest.find_first_of("?#"));
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const std::string_view host = take_word(rest, '/'), org = take_word(rest, '/'),
                         name = take_word(rest, '/'), kind = take_word(rest, '/');
  const bool is_file = has_ending(name, ".gguf") || has_ending(name, ".safetensors");
  const bool is_page = kind.empty() ? !is_file : has_word(" blob resolve raw tree ", kind);
  if (name.empty() || !is_page) return {};
  std::string out = fmt::format("hf://{}/{}", org, name);
  if (!rest.empty() && rest != "main") out += fmt::format("@{}", rest);
  if (host == "huggingface.co" || host == "hf.co") return out;
  return fmt::format("{} with HF_ENDPOINT={}, if it mirrors the hub", out,
                     url.substr(0, scheme + 3 + host.size()));
}

bool is_html(std::string_view text) {
  text.remove_prefix(std::min(text.find('<'), text.size()));
  const std::string start = lower_case(text.substr(0, 9));
  return start == "<!doctype" || start.starts_with("<html");
}

// The format that the first bytes show; nothing where none of these begins so.
Result<Magic> sniff(const ByteSource& source) {
  if (source.size_bytes() == 0) {
    return Magic{{}, "an empty file", "downloading or writing it again"};
  }
  CKPT_ASSIGN(const std::string head, bytes_at(source, 0, 32));
  const std::string_view text = head;
  // A safetensors header of 640 bytes begins like a pickle: what follows its length decides.
  if (text.size() > 8 && text[8] == '{' && text.substr(4, 4) == std::string_view("\0\0\0\0", 4)) {
    return Magic{};
  }
  // A tar has its mark behind the name of its first file.
  CKPT_ASSIGN(const std::string mark, bytes_at(source, 257, 5));
  if (mark == "ustar") return Magic{{}, "an archive (.tar)", kUnpack};
  if (is_html(text)) {
    return Magic{{}, "an HTML page; the download went wrong", "downloading it again"};
  }
  const auto* found = std::ranges::find_if(
      kMagics, [&](const Magic& magic) { return text.starts_with(magic.bytes); });
  return found == kMagics.end() ? Magic{} : *found;
}

// FILE and DIR by their names: "m.tar.gz" is unpacked into "m-unpacked".
std::string with_names(std::string_view hint, const std::string& path) {
  const size_t dot = path.rfind(".tar");
  const std::string folder = dot == path.npos || dot == 0 ? path : path.substr(0, dot);
  const std::pair<std::string_view, std::string> kNames[] = {
      {"FILE", shell_path(path)}, {"DIR", shell_path(folder + "-unpacked")}};
  std::string out;
  for (std::string_view rest = hint; !rest.empty();) {
    size_t taken = 0;
    for (const auto& [word, name] : kNames) {
      if (!rest.starts_with(word)) continue;
      out += name;
      taken = word.size();
    }
    if (taken == 0) out += rest[taken++];
    rest.remove_prefix(taken);
  }
  return out;
}

}  // namespace

Result<std::string> bytes_at(const ByteSource& source, uint64_t offset_bytes, size_t count) {
  const uint64_t left = source.size_bytes() - std::min(source.size_bytes(), offset_bytes);
  std::string out(std::min<uint64_t>(count, left), '\0');
  if (!out.empty()) CKPT_TRY(source.read(offset_bytes, std::as_writable_bytes(std::span(out))));
  return out;
}

Status refuse_other_files(const ByteSource& source, std::string_view expected) {
  CKPT_ASSIGN(const Magic found, sniff(source));
  if (found.what.empty()) return {};
  const std::string hub = found.what.starts_with("an HTML") ? hub_form(source.name()) : "";
  if (!hub.empty()) return unsupported_hint(hub, "an HTML page; expected {}", expected);
  return unsupported_hint(with_names(found.hint, source.name()), "{}; expected {}", found.what,
                          expected);
}

Status refuse_partial(const std::vector<std::string>& names, PartialBy by) {
  enum : size_t { kFiles, kFolder, kKeys, kWhat, kHint, kColumns };
  static const auto rows = table_rows(kPartialFiles, kColumns);
  for (const auto& row : rows) {
    const std::string folder = by == PartialBy::kFolder ? fmt::format(" {}", row[kFolder]) : "";
    const std::string files = fmt::format("{}{}", row[kFiles], folder);
    const GlobList globs(
        split_words<std::string>(by == PartialBy::kContent ? row[kKeys] : std::string_view(files)));
    const auto found =
        std::ranges::find_if(names, [&](const auto& name) { return globs.matches_any(name); });
    if (found == names.end()) continue;
    return unsupported_hint(std::string(row[kHint]),
                            "'{}' belongs to {}; it holds parts of tensors, which are not read "
                            "alone",
                            *found, row[kWhat]);
  }
  return {};
}

}  // namespace ckpt
