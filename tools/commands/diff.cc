// ckpt diff A B: compares two checkpoints. Exits 1 if they differ.
//
// Checkpoints in different forms (a folder and GGUF, a text model and a wrapped one) are compared
// by their values; others by their bytes, unless --values is given.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "checks/checks.h"
#include "core/base/counted.h"
#include "core/base/threads.h"
#include "core/engine/compare.h"
#include "core/io/bytes.h"
#include "core/io/files_read.h"
#include "core/io/paths.h"
#include "core/json/json_edit.h"
#include "core/model/adapter.h"
#include "core/model/checkpoint.h"
#include "core/model/json_documents.h"
#include "formats/formats.h"
#include "plan/conversion/fixing.h"
#include "plan/conversion/steps.h"
#include "tools/compare/diff_values.h"
#include "tools/compare/value_pairs.h"
#include "tools/line/commands.h"
#include "tools/say/meta_text.h"
#include "tools/say/tensor_groups.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

constexpr size_t kLongestValue = 60;

std::string value_words(const JsonText& value) {
  if (value.is_object()) return fmt::format("an object of {}", value.members().size());
  std::string text = value.dump(0);
  if (text.size() <= kLongestValue) return text;
  return value.is_array() ? fmt::format("{} items", value.items().size()) : "another text";
}

std::string changed_words(const JsonText* a, const JsonText* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? "only in B" : "only in A";
  const std::string before = value_words(*a), after = value_words(*b);
  return before == after ? "differs" : fmt::format("{} -> {}", before, after);
}

// Returns "vision_config: only in B", "text_config.rope_theta: 1e4 -> 1e6"; one entry if only the
// layout of the text differs; nothing if one of the two is not a JSON object.
std::vector<std::string> differing_keys(const Document& a, const Document& b) {
  const auto left = JsonText::parse(a.text()), right = JsonText::parse(b.text());
  if (!left || !right || !left->is_object() || !right->is_object()) return {};
  std::vector<std::string> found;
  const auto add = [&](const std::string& key, const JsonText* in_a, const JsonText* in_b) {
    found.push_back(fmt::format("{}: {}", key, changed_words(in_a, in_b)));
  };
  visit_differences(*left, *right, add);
  if (found.empty()) found.emplace_back("the same members, written differently");
  return found;
}

struct TypedDiff {
  std::string a, b;
  bool values = false;
  std::string tensors;
  std::vector<std::string> fail_if;
  uint64_t top = UINT64_MAX;
  ReadOptions reading;
};

// Collects differences before printing them, so that the verdict comes first.
class Differences {
 public:
  void add(std::string_view what, std::string_view kind, std::string_view detail,
           std::vector<std::string> keys = {}) {
    found_.push_back({std::string(what), std::string(kind), std::string(detail), std::move(keys)});
  }
  // Returns a function that adds a difference of this kind.
  auto adder(std::string_view kind) {
    return
        [this, kind](std::string_view what, std::string_view detail) { add(what, kind, detail); };
  }
  uint64_t count() const { return found_.size(); }
  uint64_t count(std::string_view kind) const {
    return static_cast<uint64_t>(
        std::ranges::count_if(found_, [&](const Difference& one) { return one.kind == kind; }));
  }

  // Prints `top` lines "what  kind  detail"; tensors that differ in the same way share one line.
  void print(const Console& console, uint64_t top) const {
    Groups<std::vector<const Difference*>> groups;
    for (const Difference& one : found_) {
      const bool is_tensor = one.kind != "metadata" && one.kind != "document" && one.kind != "code";
      groups.of(one.kind + "  " + (is_tensor ? one.detail : one.what)).push_back(&one);
    }
    const size_t shown = std::min<size_t>(groups.size(), top);
    for (const auto& [key, group] : std::views::take(groups, static_cast<ptrdiff_t>(shown))) {
      print_group(console, group);
    }
    if (shown < groups.size()) {
      console.answer("... and {} more", groups.size() - shown);
    }
    for (size_t i = 0; i < std::min<size_t>(found_.size(), top); ++i) {
      const auto& [what, kind, detail, keys] = found_[i];
      Json row = {{"what", what}, {"kind", kind}, {"detail", detail}};
      if (!keys.empty()) row["keys"] = keys;
      console.object("difference", std::move(row));
    }
  }

 private:
  struct Difference {
    std::string what, kind, detail;
    std::vector<std::string> keys;  // for documents: the members that differ
  };

  static void print_group(const Console& console, const std::vector<const Difference*>& group) {
    constexpr size_t kKeysShown = 10;
    const auto& [what, kind, detail, keys] = *group[0];
    if (group.size() > 1) {
      std::vector<std::string> names;
      for (const Difference* one : group) names.push_back(one->what);
      console.answer("{} tensors  {}  {}: {}", group.size(), kind, detail, grouped_names(names));
      return;
    }
    console.answer("{}  {}  {}", what, kind, detail);
    for (size_t i = 0; i < std::min(keys.size(), kKeysShown); ++i) console.answer("    " + keys[i]);
    if (keys.size() > kKeysShown) {
      console.answer("    ... and {} more", keys.size() - kKeysShown);
    }
  }

  std::vector<Difference> found_;
};

using Pair = std::pair<const Tensor*, const Tensor*>;

// Returns the pairs of tensors with equal name, type and shape; adds all other differences to
// `out`.
std::vector<Pair> compare_headers(const Checkpoint& a, const Checkpoint& b, Differences& out) {
  std::vector<Pair> pairs;
  const auto compare = [&](const Tensor& tensor, const Tensor& other) {
    const bool same_shape = tensor.shape == other.shape;
    if (!same_shape) {
      out.add(tensor.name, "shape", fmt::format("{} -> {}", shape_of(tensor), shape_of(other)));
    }
    if (tensor.codec != other.codec) {
      out.add(tensor.name, "type", fmt::format("{} -> {}", tensor.codec->name, other.codec->name));
    } else if (same_shape) {
      pairs.emplace_back(&tensor, &other);
    }
  };
  pair_up(a.tensors, b.tensors, &Tensor::name, compare, out.adder("tensor"));
  return pairs;
}

Status compare_bytes(const std::vector<Pair>& pairs, unsigned threads, const Console& console,
                     Differences& out) {
  std::vector<char> same(pairs.size(), 1);
  uint64_t done_bytes = 0, total_bytes = 0;
  for (const Pair& pair : pairs) total_bytes += 2 * size_bytes(*pair.first);
  ProgressLine progress(console, "comparing");
  std::mutex mutex;  // guards the progress
  const auto advanced = [&](uint64_t bytes) -> Status {
    CKPT_TRY(check_not_interrupted(&interrupted));
    const std::lock_guard lock(mutex);
    progress.advanced(done_bytes += 2 * bytes, total_bytes);
    return {};
  };
  CKPT_TRY(for_each_parallel(pairs.size(), threads, [&](size_t i) -> Status {
    CKPT_ASSIGN(const bool equal, same_bytes(*pairs[i].first, *pairs[i].second, advanced));
    same[i] = equal ? 1 : 0;
    return {};
  }));
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (same[i] == 0) out.add(pairs[i].first->name, "bytes", "differ");
  }
  return {};
}

// Compares entry by entry. In differences, `place` precedes each key.
void compare_metadata(const Metadata& a, const Metadata& b, Differences& out,
                      const std::string& place = {}) {
  const auto compare = [&](const MetaEntry& left, const MetaEntry& right) {
    if (left.value == right.value) return;
    out.add(place + left.key, "metadata",
            fmt::format("{} -> {}", meta_text(left.value), meta_text(right.value)));
  };
  const auto alone = [&](std::string_view key, std::string_view where) {
    out.add(place + std::string(key), "metadata", where);
  };
  pair_up(a.entries, b.entries, &MetaEntry::key, compare, alone);
}

// Whether the entry is a total over all tensors. Writers compute these totals differently.
bool is_sum_of_index(const MetaEntry& entry) {
  return entry.key == "total_size" || entry.key == "total_parameters";
}

// The `__metadata__` of all weight files of a checkpoint.
struct FileMetadata {
  std::vector<std::pair<std::string, const Metadata*>> files;
  Metadata index;  // metadata of the index file, without totals
  bool has_index = false;

  explicit FileMetadata(const Checkpoint& checkpoint) {
    for (const auto& [file, metadata] : checkpoint.file_metadata) {
      if (file.ends_with(".index.json")) {
        index = metadata;
        has_index = !index.entries.empty();
        std::erase_if(index.entries, is_sum_of_index);
      } else {
        files.emplace_back(file, &metadata);
      }
    }
  }
  // Merges the files' metadata: each key once, with all its values in these files.
  Metadata together() const {
    std::map<std::string, std::set<std::string>> values;
    for (const auto& [file, metadata] : files) {
      for (const MetaEntry& entry : metadata->entries) {
        const auto* text = std::get_if<std::string>(&entry.value.value);
        values[entry.key].insert(text != nullptr ? *text : meta_text(entry.value));
      }
    }
    Metadata out;
    for (const auto& [key, texts] : values) {
      out.append(key, MetaValue::text(fmt::format("{}", fmt::join(texts, "; "))));
    }
    return out;
  }
};

// Whether the weight files can have `__metadata__`; GGUF and PyTorch files cannot.
bool has_file_metadata(const Checkpoint& checkpoint, const std::string& path) {
  return !checkpoint.file_metadata.empty() && !holds_torch_weights(path);
}

// Compares metadata file by file, in order, or all files together if the shards differ in number.
void compare_file_metadata(const Checkpoint& a, const Checkpoint& b, Differences& out) {
  const FileMetadata left(a), right(b);
  const size_t count = left.files.size();
  if (count != right.files.size()) compare_metadata(left.together(), right.together(), out);
  for (size_t i = 0; count == right.files.size() && i < count; ++i) {
    const auto& [file, metadata] = left.files[i];
    compare_metadata(*metadata, *right.files[i].second, out, file + ":");
  }
  if (left.has_index && right.has_index) compare_metadata(left.index, right.index, out, "index:");
}

void compare_documents(const Checkpoint& a, const Checkpoint& b, Differences& out) {
  const auto compare = [&](const Document& left, const Document& right) {
    if (left.text() == right.text()) return;
    out.add(left.path, "document", "differs", differing_keys(left, right));
  };
  pair_up(a.documents, b.documents, &Document::path, compare, out.adder("document"));
}

// Reads a Python file of a folder; nullopt if it does not exist.
Result<std::optional<std::string>> code_at(const std::string& place, const std::string& name) {
  constexpr uint64_t kMaxCodeBytes = uint64_t{64} << 20;
  const std::filesystem::path path = std::filesystem::path(place) / name;
  if (!is_folder(place)) return std::nullopt;
  CKPT_ASSIGN(const bool exists, is_there(path));
  if (!exists) return std::nullopt;
  CKPT_ASSIGN(std::string text, read_small(path, kMaxCodeBytes));
  return std::optional(std::move(text));
}

// Compares the code that documents name and code next to it, which it may import.
Status compare_code(const TypedDiff& typed, const Checkpoint& a, const Checkpoint& b,
                    Differences& out) {
  std::set<std::string> names;
  for (const Checkpoint* each : {&a, &b}) {
    for (const NamedFile& file : named_code(*each)) names.insert(file.path);
  }
  if (names.empty()) return {};
  for (const Checkpoint* each : {&a, &b}) {
    if (each->code_files) names.insert(each->code_files->begin(), each->code_files->end());
  }
  for (const std::string& name : names) {
    CKPT_ASSIGN(const auto left, code_at(typed.a, name));
    CKPT_ASSIGN(const auto right, code_at(typed.b, name));
    if (left == right) continue;
    out.add(name, "code", !left ? "only in B" : !right ? "only in A" : "differs");
  }
  return {};
}

// Explains that an adapter shares no tensor with its model, so that everything differs.
void note_adapters(const Checkpoint& a, const Checkpoint& b, const Console& console) {
  const std::string of_a = adapter_words(a), of_b = adapter_words(b);
  if (of_a.empty() == of_b.empty()) return;
  console.warn("{} is a {}, and {} is not", of_a.empty() ? "B" : "A", of_a.empty() ? of_b : of_a,
               of_a.empty() ? "A" : "B");
}

// Reports bytes after the tensors, and weight files that programs may read instead of the compared.
void note_uncompared(std::string_view side, const Checkpoint& checkpoint, const Console& console) {
  const std::string after = bytes_after_tensors(checkpoint);
  if (!after.empty()) console.warn("{}: {}, which are not compared", side, after);
  for (const std::string& file : checkpoint.other_weights) {
    console.warn("{}: '{}', which some programs read instead, is not compared", side, file);
  }
}

// A checkpoint that cannot be read differs from any other: exit 1, unless the disk failed or
// another program is writing to it.
Result<int> unsound(const Console& console, const Error& error) {
  if (error.code != ErrorCode::kCorrupt) return Failure(error);
  CKPT_TRY(check_files_read());
  console.error(error);
  return 1;
}

Result<ValueQuestion> question_of(const TypedDiff& typed) {
  ValueQuestion question;
  if (!typed.tensors.empty()) question.tensors = typed.tensors;
  question.top = typed.top;
  for (const std::string& text : typed.fail_if) {
    CKPT_ASSIGN(question.gates.emplace_back(), parse_gate(text));
  }
  return question;
}

// Compares names, types, shapes and bytes of tensors, metadata and documents.
Result<int> diff_bytes(const TypedDiff& typed, const Checkpoint& a, const Checkpoint& b,
                       const Console& console, const CommonOptions& common) {
  Differences out;
  const std::vector<Pair> pairs = compare_headers(a, b, out);
  CKPT_TRY(compare_bytes(pairs, common.threads, console, out));
  CKPT_TRY(compare_code(typed, a, b, out));
  CKPT_TRY(check_files_read());
  compare_metadata(a.metadata, b.metadata, out);
  if (has_file_metadata(a, typed.a) && has_file_metadata(b, typed.b)) {
    compare_file_metadata(a, b, out);
  }
  compare_documents(a, b, out);
  console.answer(
      out.count() == 0
          ? fmt::format("same: {}, metadata and documents", counted(pairs.size(), "tensor"))
          : counted(out.count(), "difference"));
  out.print(console, typed.top);
  // If the two had different forms, diff has compared values already; --values would not help.
  const uint64_t types = are_in_one_form(a, b) ? out.count("type") : 0;
  if (types > 0) {
    console.talk("{} tensors have another type", types);
    console.next(
        fmt::format("ckpt diff {} {} --values", shell_path(typed.a), shell_path(typed.b)));
  }
  console.object("summary", {{"a", typed.a},
                             {"b", typed.b},
                             {"same", out.count() == 0},
                             {"differences", out.count()},
                             {"compared_tensors", pairs.size()}});
  return out.count() == 0 ? 0 : 1;
}

// Whether the model class of a folder reads all tensors under their present names; true if this is
// unknown. Prints the first tensor that the class does not read.
Result<bool> are_names_read(const std::string& path, const Checkpoint& checkpoint,
                            const ReadOptions& reading, const Console& console) {
  if (checkpoint.format != "safetensors") return true;
  // transformers loads quantized weights with separate code.
  const bool is_quantized = checkpoint.first_with_scales() != nullptr;
  const Context context = step_context(nullptr, reading);
  CKPT_ASSIGN(const Diagnosis found,
              diagnose(checkpoint,
                       diagnosis_options_for(context, {is_quantized ? "vllm" : "transformers-5"})));
  for (const Finding& finding : found.findings) {
    if (finding.check != "W01" && finding.check != "W10") continue;
    const std::string start = finding.place.substr(0, finding.place.find('*'));
    const auto first = std::ranges::find_if(
        checkpoint.tensors, [&](const Tensor& tensor) { return tensor.name.starts_with(start); });
    const std::string& name = first == checkpoint.tensors.end() ? finding.place : first->name;
    console.answer("{}: '{}' is not a name that its class reads. Try: {}", path, name,
                   console.suggested("ckpt doctor " + shell_path(path)));
    console.object("difference", {{"what", name}, {"kind", "name"}, {"detail", path}});
    return false;
  }
  return true;
}

Result<int> diff(const TypedDiff& typed, const Console& console, const CommonOptions& common) {
  CKPT_ASSIGN(const ValueQuestion question, question_of(typed));
  const bool wants_values = typed.values || !typed.fail_if.empty() || !typed.tensors.empty();
  FileMisfit misfit_a, misfit_b;
  const Result<Checkpoint> a = read_with_misfit(typed.a, typed.reading, misfit_a);
  if (!a) return unsound(console, a.error());
  const Result<Checkpoint> b = read_with_misfit(typed.b, typed.reading, misfit_b);
  if (!b) return unsound(console, b.error());
  note_adapters(*a, *b, console);
  note_shard(typed.a, *a, misfit_a, console);
  if (typed.b != typed.a) note_shard(typed.b, *b, misfit_b, console);
  note_uncompared("A", *a, console);
  note_uncompared("B", *b, console);
  if (!wants_values && are_in_one_form(*a, *b)) {
    return diff_bytes(typed, *a, *b, console, common);
  }
  Result<ValueSides> sides = value_sides(*a, *b);
  if (!sides && wants_values) return Failure(sides.error());
  if (!sides) {
    console.warn("compared name by name, for their values cannot be: {}", sides.error().text());
    return diff_bytes(typed, *a, *b, console, common);
  }
  bool are_read = true;
  for (const auto& [path, side] : {std::pair(typed.a, &*a), std::pair(typed.b, &*b)}) {
    if (!sides->are_bridged) break;
    CKPT_ASSIGN(are_read, are_names_read(path, *side, typed.reading, console));
    sides->are_bridged = are_read;
  }
  CKPT_ASSIGN(const bool is_well, diff_values(*sides, question, console, common));
  CKPT_TRY(check_files_read());
  return is_well && are_read ? 0 : 1;
}

std::string fail_if_help() {
  std::string out =
      "exit 1 if a tensor or the total passes a limit, like total.rmse>0.01; names the tensors; "
      "may repeat; < <= > >=, and these metrics:";
  for (const Metric& metric : all_metrics()) {
    out += fmt::format("{} {} ({})", &metric == all_metrics().data() ? "" : ",", metric.name,
                       metric.help);
  }
  return out;
}

Run declare_diff(CommandOptions& options) {
  auto typed = std::make_shared<TypedDiff>();
  options.add("A", &typed->a, "a checkpoint", {.is_required = true});
  options.add("B", &typed->b, "another", {.is_required = true});
  options.add("--values", &typed->values,
              "measure the error of values of any types; metadata and documents are not compared");
  options.add("--tensors", &typed->tensors, "with --values: only tensors that match GLOB",
              {.value_name = "GLOB"});
  declare_follow_links(options, &typed->reading.follow_links);
  options.add("--top N", &typed->top, "show the N differences that are worst",
              {.bounds = std::pair(1, std::numeric_limits<int>::max())});
  options.add("--fail-if", &typed->fail_if, fail_if_help(), {.value_name = "[total.]METRIC<N"});
  return run_with(std::move(typed), diff);
}

}  // namespace

extern const Command kDiffCommand{
    "diff", "Compares two checkpoints: tensors, values, metadata, documents.",
    "  ckpt diff a.gguf b.gguf\n"
    "  ckpt diff before/ after/ --json\n"
    "  ckpt diff Qwen3.5-9B/ Qwen3.5-9B-NVFP4/ --values --fail-if 'sqnr<18' --fail-if "
    "'total.cosine<0.99'",
    declare_diff};

}  // namespace ckpt
