// ckpt show PATH: summarizes a checkpoint.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/base/counted.h"
#include "core/base/glob.h"
#include "core/io/files_read.h"
#include "core/model/adapter.h"
#include "core/model/json_documents.h"
#include "core/model/transform.h"
#include "tools/line/commands.h"
#include "tools/say/meta_text.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

struct TypedShow {
  std::vector<std::string> paths;
  std::string path;  // the checkpoint to show
  std::string sort;
  bool all_tensors = false;
  std::string tensors;  // a glob of names
  bool metadata = false;
  ReadOptions reading;
};

struct Totals {
  uint64_t values = 0, bytes = 0;
  std::map<std::string_view, std::pair<uint64_t, uint64_t>> by_type;  // tensors, bytes
};

// The number of values of a tensor: more than its elements for packed codes, 0 for scales.
uint64_t values_of(const Tensor& tensor, const PackedForms& forms) {
  const auto codes = forms.by_codes.find(tensor.name);
  if (codes == forms.by_codes.end()) {
    return forms.parts.count(tensor.name) != 0 ? 0 : tensor.values();
  }
  Tensor weight = tensor;
  weight.shape = codes->second.shape;
  return weight.values();
}

Totals count(const Checkpoint& checkpoint) {
  const PackedForms forms = packed_forms(checkpoint);
  Totals totals;
  for (const Tensor& tensor : checkpoint.tensors) {
    const uint64_t bytes = size_bytes(tensor);
    totals.values += values_of(tensor, forms);
    totals.bytes += bytes;
    auto& [tensors, sum] = totals.by_type[tensor.codec->name];
    ++tensors;
    sum += bytes;
  }
  return totals;
}

void show_summary(const Console& console, const Checkpoint& checkpoint, const TypedShow& typed) {
  const Totals totals = count(checkpoint);
  const std::string model = architecture_of(checkpoint);
  const std::string adapter = adapter_words(checkpoint);
  Json types = Json::object();
  console.answer_headed(
      typed.path, fmt::format("  {}{}{}{}", checkpoint.format, model.empty() ? "" : ", ", model,
                              checkpoint.is_projector() ? ", a projector"
                              : adapter.empty()         ? ""
                                                        : ", a " + adapter));
  console.answer("  {}, {} values, {} ({:.2f} bits a value)",
                 counted(checkpoint.tensors.size(), "tensor"), human_count(totals.values),
                 human_bytes(totals.bytes), bits_per_weight(totals.bytes, totals.values));
  Table table({"type", "tensors", "size"});
  for (const auto& [type, sums] : totals.by_type) {
    table.add({std::string(type), fmt::format("{}", sums.first), human_bytes(sums.second)});
    types[std::string(type)] = {{"tensors", sums.first}, {"size_bytes", sums.second}};
  }
  for (const std::string& line : table.lines({false, true, true})) console.answer("  " + line);
  if (!checkpoint.layout.empty()) console.answer("  read from {}", checkpoint.layout);
  if (!checkpoint.not_read.empty()) {
    console.answer("  not read: {}", fmt::join(checkpoint.not_read, ", "));
  }
  Json documents = Json::array();
  std::string names;
  for (const Document& document : checkpoint.documents) {
    documents.push_back(document.path);
    names += (names.empty() ? "" : ", ") + document.path;
  }
  if (!names.empty()) console.answer("  other files: {}", names);
  if (!checkpoint.metadata.entries.empty()) {
    console.answer("  {}{}", counted(checkpoint.metadata.entries.size(), "metadata key"),
                   typed.metadata ? "" : " (--metadata shows them)");
  }
  Json found = Json::object({{"path", typed.path},
                             {"format", checkpoint.format},
                             {"name", checkpoint.name},
                             {"architecture", model},
                             {"tensors", checkpoint.tensors.size()},
                             {"values", totals.values},
                             {"size_bytes", totals.bytes},
                             {"types", types},
                             {"documents", documents},
                             {"metadata_keys", checkpoint.metadata.entries.size()}});
  if (!checkpoint.layout.empty()) {
    found.update({{"layout", checkpoint.layout}, {"not_read", checkpoint.not_read}});
  }
  console.object("checkpoint", std::move(found));
}

void show_groups(const Console& console, const QuantSummary& summary) {
  for (const QuantSummary::Group& group : summary.groups) {
    std::string names = fmt::format("{}", fmt::join(group.names, ", "));
    if (group.vectors > 0) {
      names += fmt::format("{}{} of one axis", names.empty() ? "" : ", ", group.vectors);
    }
    console.answer("  {}: {}: {}", group.algorithm, counted(group.layers, "layer"), names);
    console.object("group", {{"algorithm", group.algorithm},
                             {"layers", group.layers},
                             {"vectors", group.vectors},
                             {"names", group.names}});
  }
}

// Prints nothing for a checkpoint of plain floats.
void show_quantization(const Console& console, const QuantSummary& summary) {
  if (!summary.is_quantized && summary.stated.empty()) return;
  if (!summary.stated.empty()) {
    console.answer("  quantization: {}{}", summary.stated,
                   summary.producer.empty() ? "" : ", by " + summary.producer);
  }
  if (!summary.kv_cache.empty()) console.answer("  KV cache: " + summary.kv_cache);
  console.object("quantization", {{"stated", summary.stated},
                                  {"producer", summary.producer},
                                  {"kv_cache", summary.kv_cache},
                                  {"disagreements", summary.disagreements}});
  show_groups(console, summary);
  for (const std::string& note : summary.disagreements) console.answer("  note: " + note);
}

void show_metadata(const Console& console, const Checkpoint& checkpoint) {
  const auto show = [&](const std::string& before, Json row, const MetaEntry& entry) {
    console.answer("{}{} = {}", before, entry.key, meta_text(entry.value));
    row.update({{"key", entry.key},
                {"value_type", meta_type_name(entry.value)},
                {"value", meta_json(entry.value)}});
    console.object("metadata", std::move(row));
  };
  for (const MetaEntry& entry : checkpoint.metadata.entries) show("", Json::object(), entry);
  for (const auto& [file, metadata] : checkpoint.file_metadata) {
    for (const MetaEntry& entry : metadata.entries) show(file + ": ", {{"file", file}}, entry);
  }
}

// The order in which to list tensors: as stored, by name, by type, or the largest first.
std::vector<size_t> sorted_tensors(const Checkpoint& checkpoint, std::string_view by) {
  const std::vector<Tensor>& tensors = checkpoint.tensors;
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto name = [&](size_t i) -> const std::string& { return tensors[i].name; };
  const auto type = [&](size_t i) { return tensors[i].codec->name; };
  const auto bytes = [&](size_t i) { return size_bytes(tensors[i]); };
  if (by == "name") std::ranges::stable_sort(order, {}, name);
  if (by == "type") std::ranges::stable_sort(order, {}, type);
  if (by == "bytes") std::ranges::stable_sort(order, std::greater<>(), bytes);
  return order;
}

// The shape to show. A tensor of unknown type is raw bytes, but the file records its shape.
const std::vector<uint64_t>& shape_in_file(const Tensor& tensor) {
  const auto& shapes = tensor.stored().part_shapes;
  return tensor.has_scales() || shapes.empty() ? tensor.shape : shapes[0];
}

// Lists where the bytes of a tensor are stored, with one object for each contiguous run.
Json places_of(const Tensor& tensor) {
  Json out = Json::array();
  for (const auto& part : tensor.stored().parts) {
    for (const Slice& slice : part) {
      out.push_back({{"path", slice.source->name()},
                     {"offset_bytes", slice.offset_bytes},
                     {"size_bytes", slice.size_bytes}});
    }
  }
  return out;
}

Status show_tensors(const Console& console, const Checkpoint& checkpoint,
                    const QuantSummary& summary, const TypedShow& typed) {
  const Glob glob(typed.tensors.empty() ? "*" : typed.tensors);
  Table table({"tensor", "shape", "type", "algorithm", "size"});
  bool found = false;
  for (const size_t i : sorted_tensors(checkpoint, typed.sort)) {
    const Tensor& tensor = checkpoint.tensors[i];
    if (!glob.matches(tensor.name)) continue;
    found = true;
    const uint64_t bytes = size_bytes(tensor);
    const std::vector<uint64_t>& shape = shape_in_file(tensor);
    table.add({tensor.name, fmt::format("[{}]", fmt::join(shape, ", ")),
               std::string(tensor.codec->name), summary.algorithms[i], human_bytes(bytes)});
    console.object("tensor", {{"name", tensor.name},
                              {"shape", shape},
                              {"tensor_type", tensor.codec->name},
                              {"algorithm", summary.algorithms[i]},
                              {"size_bytes", bytes},
                              {"file", tensor.home},
                              {"parts", places_of(tensor)}});
  }
  if (!found && !typed.tensors.empty()) {
    return misuse("{}: no tensor name matches '{}'", typed.path, typed.tensors);
  }
  console.answer_table(table, {false, false, false, false, true});
  return {};
}

Result<int> show(const TypedShow& typed, const Console& console) {
  if (!typed.sort.empty() && !typed.all_tensors) {
    return misuse_hint("--tensors --sort " + typed.sort, "--sort {}: orders the list of --tensors",
                       typed.sort);
  }
  FileMisfit misfit;
  CKPT_ASSIGN(const Checkpoint checkpoint, read_with_misfit(typed.path, typed.reading, misfit));
  note_shard(typed.path, checkpoint, misfit, console);
  QuantSummary summary;
  if (auto found = summarize_quantization(checkpoint)) {
    summary = std::move(*found);
  } else {  // a document that cannot be read does not stop the output
    console.warn(found.error().text());
    summary.algorithms.resize(checkpoint.tensors.size());
  }
  CKPT_TRY(check_files_read());
  show_summary(console, checkpoint, typed);
  show_quantization(console, summary);
  if (typed.metadata) show_metadata(console, checkpoint);
  if (typed.all_tensors || !typed.tensors.empty()) {
    CKPT_TRY(show_tensors(console, checkpoint, summary, typed));
  }
  return 0;
}

Run declare_show(CommandOptions& options) {
  auto typed = std::make_shared<TypedShow>();
  typed->reading.skip_vocabularies_of_urls = true;
  typed->reading.keep_unknown_types = true;
  options.add("PATH", &typed->paths, "Hugging Face folders, .safetensors or .gguf files",
              {.is_required = true});
  options.add("--tensors [GLOB]",
              [typed](const std::string& glob) {
                typed->all_tensors = true;
                typed->tensors = glob;
              },
              "list tensors, or those that match GLOB", {.is_value_optional = true});
  options.add("--sort ORDER", &typed->sort,
              "order of --tensors: name, type or bytes; default: as stored",
              {.choices = {"name", "type", "bytes"}});
  options.add("--metadata", &typed->metadata, "list metadata");
  declare_follow_links(options, &typed->reading.follow_links);
  return [typed](const Console& console, const CommonOptions&) {
    return run_for_each(typed->paths, console, [&](const std::string& path) {
      typed->path = path;
      return show(*typed, console);
    });
  };
}

}  // namespace

extern const Command kShowCommand{"show", "Shows what is in a checkpoint; reads headers only.",
                                  "  ckpt show model.gguf\n"
                                  "  ckpt show Qwen3.5-9B/ --tensors='*.mlp.*'\n"
                                  "  ckpt show model.gguf --metadata --json\n"
                                  "  ckpt show q4.gguf q6.gguf --tensors --sort bytes",
                                  declare_show};

}  // namespace ckpt
