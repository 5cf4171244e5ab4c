// Reads a pickle as data: no name in it is resolved, and nothing is built or run.
//
//   opcodes ──▶ a stack machine over nodes ──▶ the node that STOP leaves
//
// In a pickle "call f(x)" is an ordinary value. Here it becomes a node kCall. Only two calls are
// interpreted: torch.Size(x) becomes its tuple, and collections.OrderedDict() without arguments
// becomes a dict. A number of more than 8 bytes is kNone. Nodes refer to each other by number, so a
// pickle can neither overflow the stack by nesting nor form cycles of ownership. Source: CPython
// Lib/pickletools.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

class Pickle {
 public:
  using NodeIndex = uint32_t;
  enum class Kind : uint8_t {
    kNone,
    kBool,
    kInt,
    kFloat,
    kText,
    kBytes,
    kList,
    kDict,
    kName,
    kCall
  };
  struct Node {
    Kind kind = Kind::kNone;
    int64_t whole = 0;             // kInt, kBool
    double real = 0;               // kFloat
    std::string text;              // kText, kBytes; kName: "torch bfloat16"
    std::vector<NodeIndex> items;  // kList (tuples too); kDict: key, value, key, value;
                                   // kCall: what is called, its arguments
    bool is_changed = false;       // kCall: a state or items are set on what it makes
    std::optional<NodeIndex> state = {};  // kCall: the last state that is set
  };

  // Fails: kCorrupt: truncated, pops from an empty stack; kUnsupported: an unknown opcode.
  // `start_byte`: where `bytes` begin in the file, for the places that errors name.
  static Result<Pickle> parse(std::string_view bytes, uint64_t start_byte = 0);

  const Node& root() const { return nodes_[root_]; }
  const Node& node(NodeIndex index) const { return nodes_[index]; }
  const std::vector<Node>& nodes() const { return nodes_; }
  // Value of a text key of a dict; nullptr if it is absent or the node is not a dict.
  const Node* find(const Node& dict, std::string_view key) const;
  // The same for a key that is a whole number.
  const Node* find(const Node& dict, int64_t key) const;
  // The class that `node` is an object of, "pathlib PosixPath"; empty if it is none.
  std::string_view made_by(const Node& node) const;
  // Its state, and a field of that, which is a dict or (None, a dict); nullptr if absent.
  const Node* state(const Node& node) const;
  const Node* field(const Node& node, std::string_view key) const;
  // Up to `limit` whole numbers that are not negative; nullopt for everything else.
  std::optional<std::vector<uint64_t>> numbers(const Node* node, size_t limit) const;

 private:
  friend class PickleMachine;
  template <class IsKey>
  const Node* find_key(const Node& dict, const IsKey& is_key) const;
  std::vector<Node> nodes_;
  NodeIndex root_ = 0;
};

}  // namespace ckpt
