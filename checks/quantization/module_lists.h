// Which modules a server quantizes by the lists of quantization methods. The lists of ModelOpt are
// handled in serving.cc.
//
//   method          vLLM                                   SGLang
//   fp8 fbgemm_fp8  names; experts by a part of an entry   names or stems, from any dot to any dot
//   awq             parts of names; without a list,        parts of the joined name; experts are
//                   modules that have no codes             quantized always
//   gptq            rules of the joined name; then         rules of the joined name; experts are
//                   modules_in_block_to_quantize, and      quantized always
//                   without it the modules with codes
//   bitsandbytes    words and stems of the joined name; experts are quantized always
//   torchao         names or stems, from any dot to any    -
//                   dot; experts never
//   quark           names and expressions                  names and expressions
//   mxfp4           experts are quantized, nothing else    experts; others are not known here
//   compressed-     names and expressions; then the        parts of names in any case, and
//   tensors         targets of config_groups               expressions; then the targets
//
// Except for rules and "joined" above, a method checks each part of a joined module, and stops if
// the answers differ.
// Sources: vLLM 0.17.1 and 0.32.0 vllm/model_executor/layers/quantization/{fp8,awq_marlin,
// gptq_marlin,auto_awq,auto_gptq,bitsandbytes,torchao,mxfp4}.py, quark/, compressed_tensors/ and
// utils/{quant_utils,gptq_utils,config_utils}.py; SGLang 0.5.12
// python/sglang/srt/layers/quantization/ of the same names and utils.py.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checks/subject/subject.h"
#include "core/base/name_list.h"
#include "core/base/part_index.h"
#include "core/base/regex.h"

namespace ckpt {

bool has_module_lists(const Quantization& declared);
// Whether a target of compressed-tensors selects modules by their class. vLLM compares parts of
// class names: "Linear" selects QKVParallelLinear.
bool names_a_class(std::string_view target);

// A module as a server looks it up.
struct ModuleQuery {
  std::string name;
  std::vector<std::string> shards;  // modules that it joins, if the class declares them
  bool is_experts = false, is_head = false;
};

// Names of experts that are contained in some entry.
class NamesInEntries {
 public:
  NamesInEntries() = default;
  NamesInEntries(const std::vector<std::string>& names, const std::vector<std::string>& entries);
  bool holds(std::string_view name) const { return found_.contains(name); }

 private:
  std::set<std::string, std::less<>> found_;
};

// A list of entries, which are names or expressions.
class EntryList {
 public:
  enum class Fit : uint8_t { kNo, kYes, kUnclear };  // kUnclear: an unread expression may match

  // In a wrapper, expressions that begin with a name are unread, because the server's names differ.
  EntryList(const std::vector<std::string>& entries, bool is_wrapper);
  const NameList& names() const { return names_; }
  // How the expressions with this mark fit the name.
  Fit fit_of_expressions(std::string_view name, std::string_view mark = "re:") const;
  // The index, among the expressions, of the first "re:" that matches.
  std::optional<size_t> first_expression_of(std::string_view name) const;

 private:
  struct Expression {
    std::string mark;
    std::optional<Regex> regex;
  };
  void add_index();
  NameList names_;
  std::vector<Expression> expressions_;
  std::set<std::string, std::less<>> unread_;  // marks of unread expressions
  PartIndex keys_;  // for each expression, a text that every matching name contains
  std::vector<std::vector<size_t>> of_key_;
  std::vector<size_t> without_key_;
};

class ModuleLists {
 public:
  using Rename = std::function<std::string(const std::string&)>;
  // `rename` maps an entry to the server's names, if these `are_known`.
  ModuleLists(const Subject& on, const Profile& profile, const Quantization& declared,
              bool are_known, const Rename& rename);
  // Must precede decide(): announces all modules that will be asked for.
  void expect(const std::vector<ModuleQuery>& modules);
  void decide(const ModuleQuery& module, ServedModule& served) const;

 private:
  enum class Answer : uint8_t { kQuantized, kPlain, kPartly, kUnclear, kNoGroup };
  template <class ProfileMatch>
  static Answer of_shards(const ModuleQuery& module, ProfileMatch is_plain);
  static EntryList::Fit fit_if(bool is_yes);
  static Answer plain_if(EntryList::Fit fit);

  void add_forms(const std::string& entry, const Rename& rename,
                 std::vector<std::string>& out) const;
  bool runs_head(const ModuleQuery& module) const;
  Answer answer(const ModuleQuery& module) const;
  Answer in_fp8(const ModuleQuery& module) const;
  Answer in_awq(const ModuleQuery& module) const;
  Answer in_gptq(const ModuleQuery& module) const;
  Answer in_words(const ModuleQuery& module) const;
  Answer in_torchao(const ModuleQuery& module) const;
  Answer in_quark(const ModuleQuery& module) const;
  Answer in_groups(const ModuleQuery& module) const;

  EntryList::Fit is_listed(std::string_view name) const;
  EntryList::Fit is_targeted(const ModuleQuery& module) const;
  bool is_between_dots(std::string_view name) const;

  const Profile& profile_;
  const Quantization& said_;
  bool is_sglang_, asks_joined_names_;
  EntryList entries_, targets_;
  NamesInEntries in_entries_;
  bool is_of_class_ = false;               // a target is the class of all linear layers
  std::vector<std::string> sorted_names_;  // names in entries_
  NameList blocks_;  // for gptq: parts of names of quantized modules
  bool is_beyond_lists_ = false;  // something other than lists decides too
};

}  // namespace ckpt
