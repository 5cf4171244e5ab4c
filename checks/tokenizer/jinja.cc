// Source: jinja2 3.1.6 parser.py, and what compiler.py and Python's own compiler reject;
// transformers 5 src/transformers/utils/chat_template_utils.py for its tags.
#include "checks/tokenizer/jinja.h"

#include <algorithm>
#include <set>

#include "core/base/result.h"
#include "core/base/utf8.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

using Words = std::initializer_list<std::string_view>;

constexpr std::string_view kFilters =
    "abs attr batch capitalize center count d default dictsort e escape filesizeformat first float "
    "forceescape format groupby indent int items join last length list lower map max min pprint "
    "random reject rejectattr replace reverse round safe select selectattr slice sort string "
    "striptags sum title tojson trim truncate unique upper urlencode urlize wordcount wordwrap "
    "xmlattr";
constexpr std::string_view kTests =
    "boolean callable defined divisibleby eq equalto escaped even false filter float ge "
    "greaterthan gt in integer iterable le lessthan lower lt mapping ne none number odd sameas "
    "sequence string test true undefined upper";

// The facts about an expression's tree that statements need.
struct JinjaNode {
  enum class Shape : uint8_t { kOther, kName, kTargets, kCall };
  Shape shape = Shape::kOther;
  bool has_loop = false;  // assigning to it assigns to "loop"
  bool can_assign() const { return shape == Shape::kName || shape == Shape::kTargets; }
};
using Shape = JinjaNode::Shape;

class JinjaParser {
 public:
  explicit JinjaParser(JinjaTokens tokens) : in_(std::move(tokens)) {}

  std::optional<TemplateFault> find() && {
    statements({});
    if (!fault_) fault_ = std::move(in_.fault);
    if (!fault_) fault_ = std::move(refused_);
    if (!fault_ && !extends_) fault_ = std::move(unknown_);
    return std::move(fault_);
  }

 private:
  // The context of a statement, as the compiler sees it.
  struct Scope {
    bool is_soft = false;  // in a condition, where names are looked up at run time
    bool is_top = false;
    bool has_loop = false;  // within a loop that "break" can leave
  };

  const JinjaToken& token(size_t ahead = 0) const {
    return in_.tokens[std::min(at_ + ahead, in_.tokens.size() - 1)];
  }
  bool is(TokenKind kind) const { return token().kind == kind; }
  bool is_sign(std::string_view sign, size_t ahead = 0) const {
    return token(ahead).kind == TokenKind::kOperator && token(ahead).text == sign;
  }
  bool is_name(std::string_view name, size_t ahead = 0) const {
    return token(ahead).kind == TokenKind::kName && token(ahead).text == name;
  }
  // Whether the next token is before this sign; false at the end, and after a fault.
  bool is_before(std::string_view sign) const { return !is(TokenKind::kEnd) && !is_sign(sign); }
  std::string_view take() {
    const std::string_view text = token().text;
    at_ = std::min(at_ + 1, in_.tokens.size() - 1);
    return text;
  }
  bool skip(bool is_there) {
    if (is_there) take();
    return is_there;
  }
  bool skip_sign(std::string_view sign) { return skip(is_sign(sign)); }
  bool skip_name(std::string_view name) { return skip(is_name(name)); }

  void stop(std::string what) {
    if (!fault_ && is(TokenKind::kEnd)) fault_ = in_.fault;
    if (!fault_) fault_ = {token().line, std::move(what)};
    at_ = in_.tokens.size() - 1;
  }
  void fail(std::string_view expected) {
    const std::string found = is(TokenKind::kEnd)    ? "the end of the template"
                              : is(TokenKind::kData) ? "text"
                                                : fmt::format("'{}'", shorten(token().text, 40));
    stop(fmt::format("found {}, expected {}", found, expected));
  }
  void refuse(size_t line, std::string what) {
    if (!refused_) refused_ = {line, std::move(what), false};
  }
  void expect(bool is_there, std::string_view what) {
    if (!skip(is_there)) fail(what);
  }
  void expect_sign(std::string_view sign) { expect(is_sign(sign), fmt::format("'{}'", sign)); }
  void expect_word(std::string_view name) { expect(is_name(name), fmt::format("'{}'", name)); }
  std::string expect_name() {
    std::string name(token().text);
    expect(is(TokenKind::kName), "a name");
    return name;
  }
  bool enter() {
    if (++depth_ <= kMaxTemplateDepth) return true;
    stop(fmt::format("nested deeper than {} levels", kMaxTemplateDepth));
    return false;
  }

  // ---- expressions -----------------------------------------------------------------------------

  JinjaNode expression(bool with_if = true) {
    JinjaNode node;
    if (enter()) {
      const auto unknown = unknown_;
      node = operations();
      while (with_if && skip_name("if")) {
        operations();
        if (skip_name("else")) operations();
        node = {};
        unknown_ = unknown;
      }
    }
    --depth_;
    return node;
  }

  // Operator priorities do not affect which texts parse, except that "not" starts a side of "and".
  JinjaNode operations() {
    JinjaNode node;
    bool can_negate = true, is_single = true;
    for (;;) {
      while (can_negate && skip_name("not")) is_single = false;
      node = operand();
      can_negate = is_name("or") || is_name("and");
      const bool is_negated = is_name("not") && is_name("in", 1);
      const bool has_sign =
          is(TokenKind::kOperator) && has_word("== != > >= < <= + - ~ * / // % **", token().text);
      if (!can_negate && !is_negated && !has_sign && !is_name("in")) break;
      if (is_negated) take();
      take();
      is_single = false;
    }
    return is_single ? node : JinjaNode{};
  }

  JinjaNode operand() {
    bool has_sign = false;
    while (skip(is_sign("-") || is_sign("+"))) has_sign = true;
    const JinjaNode node = filters(postfix(primary(false)));
    return has_sign ? JinjaNode{} : node;
  }

  JinjaNode primary(bool with_namespace) {
    if (is(TokenKind::kName)) {
      const std::string_view name = take();
      if (has_word("true false none True False None", name)) return {};
      if (!with_namespace || !skip_sign(".")) return {Shape::kName, name == "loop"};
      expect_name();
      return {Shape::kTargets};
    }
    if (is(TokenKind::kString)) {
      while (skip(is(TokenKind::kString))) continue;
      return {};
    }
    if (skip(is(TokenKind::kInteger) || is(TokenKind::kFloat))) return {};
    if (skip_sign("(")) {
      const JinjaNode node = tuple(true);
      expect_sign(")");
      return node;
    }
    const bool is_dict = is_sign("{");
    if (!is_dict && !is_sign("[")) {
      fail("an expression");
      return {};
    }
    take();
    const std::string_view end = is_dict ? "}" : "]";
    for (bool is_first = true; is_before(end); is_first = false) {
      if (!is_first) expect_sign(",");
      if (is_sign(end)) break;
      expression();
      if (!is_dict) continue;
      expect_sign(":");
      expression();
    }
    expect_sign(end);
    return {};
  }

  template <class Parse>
  JinjaNode items(bool can_be_empty, Parse parse) {
    JinjaNode one, all{Shape::kTargets};
    size_t count = 0;
    bool is_tuple = false;
    for (; !fault_; ++count) {
      if (count > 0) expect_sign(",");
      if (is(TokenKind::kPrintEnd) || is(TokenKind::kBlockEnd) || is_sign(")")) break;
      one = parse();
      if (!one.can_assign()) all.shape = Shape::kOther;
      all.has_loop |= one.has_loop;
      if (!is_sign(",")) {
        ++count;
        break;
      }
      is_tuple = true;
    }
    if (count == 0 && !can_be_empty) fail("an expression");
    return is_tuple || count == 0 ? all : one;
  }
  JinjaNode tuple(bool can_be_empty, bool with_if = true) {
    return items(can_be_empty, [&] { return expression(with_if); });
  }
  JinjaNode target(bool with_namespace) {
    const size_t line = token().line;
    const JinjaNode node = items(false, [&] { return primary(with_namespace); });
    if (!node.can_assign() && !fault_) stop("this cannot be assigned to; expected names");
    if (fault_ && fault_->line < line) fault_->line = line;
    return node;
  }
  void store(const JinjaNode& node) {
    if (node.has_loop && loops_ > 0) refuse(token().line, "'loop' cannot be assigned to in a loop");
  }
  std::string name_target() {
    if (has_word("true false none True False None", token().text)) fail("a name");
    return expect_name();
  }

  JinjaNode postfix(JinjaNode node) {
    for (;;) {
      if (is_sign("(")) {
        arguments();
        node = {Shape::kCall};
      } else if (skip_sign(".")) {
        expect(is(TokenKind::kName) || is(TokenKind::kInteger), "a name or a number");
        node = {};
      } else if (skip_sign("[")) {
        subscripts();
        node = {};
      } else {
        return node;
      }
    }
  }

  void subscripts() {
    const size_t line = token().line;
    size_t count = 0;
    bool has_slice = false;
    for (; is_before("]"); ++count) {
      if (count > 0) expect_sign(",");
      if (!is_sign(":")) expression();
      if (!skip_sign(":")) continue;
      has_slice = true;
      const auto is_end = [&] { return is_sign("]") || is_sign(","); };
      if (!is_sign(":") && !is_end()) expression();
      if (skip_sign(":") && !is_end()) expression();
    }
    expect_sign("]");
    if (has_slice && count > 1) refuse(line, "a slice next to another subscript");
  }

  void arguments() {
    const size_t line = token().line;
    take();
    std::set<std::string_view> names;
    bool has_list = false, has_dict = false;
    for (bool is_first = true; is_before(")"); is_first = false) {
      if (!is_first) expect_sign(",");
      if (is_sign(")") && !is_first) break;
      const bool is_list = is_sign("*"), is_dict = is_sign("**");
      const bool is_named = is(TokenKind::kName) && is_sign("=", 1);
      const bool is_plain = !is_list && !is_dict && !is_named;
      if (has_dict || (has_list && (is_list || is_plain)) || (is_plain && !names.empty())) {
        return stop("arguments of a call are not in Python's order");
      }
      has_list |= is_list;
      has_dict |= is_dict;
      if (is_named && !names.insert(token().text).second) {
        refuse(line, fmt::format("argument '{}' is given twice", shorten(token().text, 40)));
      }
      if (!is_plain) take();
      if (is_named) take();
      expression();
    }
    expect_sign(")");
  }

  JinjaNode filters(JinjaNode node) {
    for (;;) {
      if (is_sign("(")) {
        arguments();
        node = {Shape::kCall};
      } else if (skip_sign("|")) {
        filter();
        node = {};
      } else if (skip_name("is")) {
        test();
        node = {};
      } else {
        return node;
      }
    }
  }

  void known_name(std::string_view kind, std::string_view list) {
    const size_t line = token().line;
    std::string name = expect_name();
    while (skip_sign(".")) name += "." + expect_name();
    if (fault_ || scope_.is_soft || unknown_ || has_word(list, name)) return;
    unknown_ = {line, fmt::format("no {} named '{}'", kind, shorten(name, 40)), false};
  }
  void filter() {
    known_name("filter", kFilters);
    if (is_sign("(")) arguments();
  }
  void test() {
    skip_name("not");
    known_name("test", kTests);
    if (is_sign("(")) return arguments();
    const bool is_value = is(TokenKind::kString) || is(TokenKind::kInteger) ||
                          is(TokenKind::kFloat) || is_sign("[") || is_sign("{") ||
                          is(TokenKind::kName);
    if (!is_value || is_name("else") || is_name("or") || is_name("and")) return;
    if (is_name("is")) return fail("one test after 'is'");
    postfix(primary(false));
  }

  // ---- statements ------------------------------------------------------------------------------

  // Parses statements until a tag with one of these names, which becomes the next token.
  void statements(Words ends) {
    while (enter() && !is(TokenKind::kEnd)) {
      const bool is_blank =
          is(TokenKind::kData) && token().text.find_first_not_of(" \t\n\v\f") == token().text.npos;
      const TokenKind kind = token().kind;
      take();
      const bool is_end = std::ranges::any_of(ends, [&](auto end) { return is_name(end); });
      if (kind == TokenKind::kBlock && is_end) break;
      solid_ += is_blank ? 0 : 1;
      if (kind == TokenKind::kPrint) {
        tuple(false);
        expect(is(TokenKind::kPrintEnd), "'}}'");
      } else if (kind == TokenKind::kBlock) {
        statement(ends);
        expect(is(TokenKind::kBlockEnd), "'%}'");
      }
      --depth_;
    }
    --depth_;
  }

  void body(Words ends) {
    skip_sign(":");
    expect(is(TokenKind::kBlockEnd), "'%}'");
    statements(ends);
    if (is(TokenKind::kEnd)) fail(fmt::format("'{}'", fmt::join(ends, "' or '")));
  }
  void body_in(const Scope& scope, Words ends) {
    const Scope outer = scope_;
    scope_ = scope;
    body(ends);
    scope_ = outer;
  }
  // Parses a body with its own scope that ends with the tag `end`.
  void inner(std::string_view end, bool is_function = false) {
    body_in({false, false, scope_.has_loop && !is_function}, {end});
    take();
  }
  template <class Parse>
  void with_strict_scope(Parse parse) {
    const bool is_soft = scope_.is_soft;
    scope_.is_soft = false;
    parse();
    scope_.is_soft = is_soft;
  }

  void statement(Words ends) {
    constexpr std::pair<std::string_view, void (JinjaParser::*)()> kStatements[] = {
        {"if", &JinjaParser::if_},           {"for", &JinjaParser::for_},
        {"set", &JinjaParser::set_},         {"macro", &JinjaParser::macro},
        {"call", &JinjaParser::call},        {"filter", &JinjaParser::filter_block},
        {"with", &JinjaParser::with},        {"block", &JinjaParser::block},
        {"print", &JinjaParser::print},      {"include", &JinjaParser::include},
        {"import", &JinjaParser::import},    {"from", &JinjaParser::from},
        {"extends", &JinjaParser::extend},   {"autoescape", &JinjaParser::autoescape},
        {"break", &JinjaParser::leave_loop}, {"continue", &JinjaParser::leave_loop},
        {"generation", &JinjaParser::generation}};
    for (const auto& [name, parse] : kStatements) {
      if (is(TokenKind::kName) && token().text == name) {
        if (name != "break" && name != "continue") take();
        return (this->*parse)();
      }
    }
    if (ends.size() == 0) return fail("a statement that Jinja has");
    fail(fmt::format("a statement that Jinja has, or '{}'", fmt::join(ends, "' or '")));
  }

  void if_() {
    const bool is_soft = scope_.is_soft;
    scope_.is_soft = true;
    std::string_view end = "elif";
    while (end == "elif") {
      tuple(false, false);
      body({"elif", "else", "endif"});
      end = take();
    }
    if (end == "else") {
      body({"endif"});
      take();
    }
    scope_.is_soft = is_soft;
  }

  void for_() {
    ++loops_;
    store(target(false));
    expect_word("in");
    tuple(false, false);
    if (skip_name("if")) with_strict_scope([&] { expression(); });
    const bool is_recursive = skip_name("recursive");
    body_in({false, false, true}, {"endfor", "else"});
    if (take() == "else") inner("endfor", is_recursive);
    --loops_;
  }

  void set_() {
    store(target(true));
    if (skip_sign("=")) {
      tuple(false);
      return;
    }
    with_strict_scope([&] {
      while (skip_sign("|")) filter();
    });
    inner("endset");
  }

  void signature() {
    std::set<std::string> names;
    bool has_default = false;
    expect_sign("(");
    while (is_before(")")) {
      if (!names.empty()) expect_sign(",");
      const std::string name = name_target();
      if (!names.insert(name).second) {
        refuse(token().line, fmt::format("parameter '{}' occurs twice", shorten(name, 40)));
      }
      const bool is_default = skip_sign("=");
      if (is_default) with_strict_scope([&] { expression(); });
      if (has_default && !is_default) return fail("a default, as the parameter before it has");
      has_default = is_default;
    }
    expect_sign(")");
  }
  void macro() {
    name_target();
    signature();
    inner("endmacro", true);
  }
  void call() {
    if (is_sign("(")) signature();
    if (expression().shape != Shape::kCall) fail("a call before it");
    inner("endcall", true);
  }
  void filter_block() {
    with_strict_scope([&] {
      filter();
      while (skip_sign("|")) filter();
    });
    inner("endfilter");
  }
  void with() {
    for (bool is_first = true; !is(TokenKind::kBlockEnd) && !fault_; is_first = false) {
      if (!is_first) expect_sign(",");
      target(false);
      expect_sign("=");
      expression();
    }
    inner("endwith");
  }
  void autoescape() {
    with_strict_scope([&] { expression(); });
    inner("endautoescape");
  }
  void generation() { inner("endgeneration", true); }
  void block() {
    const size_t line = token().line;
    const std::string name = expect_name();
    if (!blocks_.insert(name).second) {
      refuse(line, fmt::format("block '{}' occurs twice", shorten(name, 40)));
    }
    skip_name("scoped");
    const bool is_required = skip_name("required");
    const size_t solid = solid_;
    inner("endblock", true);
    if (is_required && solid_ != solid) stop("a required block is not empty");
    skip_name(name);
  }
  void print() {
    for (bool is_first = true; !is(TokenKind::kBlockEnd) && !fault_; is_first = false) {
      if (!is_first) expect_sign(",");
      expression();
    }
  }
  void leave_loop() {
    if (!scope_.has_loop) refuse(token().line, fmt::format("'{}' outside a loop", token().text));
    take();
  }

  // A template that names others compiles; only running it fails.
  bool skip_context() {
    const bool has_context = (is_name("with") || is_name("without")) && is_name("context", 1);
    if (has_context) take();
    return skip(has_context);
  }
  void include() {
    expression();
    if (is_name("ignore") && is_name("missing", 1)) {
      take();
      take();
    }
    skip_context();
  }
  void import() {
    expression();
    expect_word("as");
    name_target();
    skip_context();
  }
  void from() {
    expression();
    expect_word("import");
    for (bool is_first = true; !fault_; is_first = false) {
      if (!is_first) expect_sign(",");
      if (skip_context()) break;
      if (token().text.starts_with('_')) return fail("a name without '_' before it");
      name_target();
      if (skip_name("as")) name_target();
      if (skip_context() || !is_sign(",")) break;
    }
  }
  void extend() {
    if (!scope_.is_top) refuse(token().line, "'extends' inside another statement");
    extends_ = true;
    expression();
  }

  JinjaTokens in_;
  size_t at_ = 0, depth_ = 0;
  size_t loops_ = 0;  // depth of loops around the statement
  size_t solid_ = 0;  // number of statements and texts with content so far
  Scope scope_{false, true, false};
  std::set<std::string> blocks_;
  bool extends_ = false;
  // A fault that ends parsing; one of jinja2's compiler; an unknown filter or test.
  std::optional<TemplateFault> fault_, refused_, unknown_;
};

}  // namespace

std::optional<TemplateFault> find_template_fault(std::string_view text) {
  std::string lines;
  lines.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') lines += text[i];
    else if (text.substr(i + 1, 1) != "\n") lines += '\n';
  }
  if (lines.ends_with('\n')) lines.pop_back();
  return JinjaParser(read_jinja_tokens(lines)).find();
}

}  // namespace ckpt
