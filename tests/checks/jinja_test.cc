// Chat templates that jinja2 3.1.6, set up as in transformers, compiles or refuses.
#include <gtest/gtest.h>

#include "checks/tokenizer/jinja.h"
#include "core/base/result.h"

namespace ckpt {
namespace {

// "LINE: FAULT", with "compiler " before it if the template can be parsed; "" without a fault.
std::string fault_of(std::string_view text) {
  const auto fault = find_template_fault(text);
  if (!fault) return "";
  return fmt::format("{}{}: {}", fault->is_syntax ? "" : "compiler ", fault->line, fault->what);
}

TEST(Jinja, TemplatesThatJinja2CompilesHaveNoFault) {
  for (const std::string_view text :
       {"", "{", "a }} b %}", "{# a {{ #}{%- raw %}{{ {% endraw %}", "{#", "{{ 'a\\'b' \"c\" }}",
        "{{ '\\x41\\u00e9\\U0010ffff' }}", "{{ 1_0.5e-3 + 0x1F ** -2 // 0b1 }}", "{{ x.1.2 }}",
        "{{ a.b[0]['c'](d, *e, f=1, **g)[::-1][] }}", "{{ [1, (2,), {'a': {}}, ()] }}",
        "{{ not a not in b ~ c is not none or d == not }}", "{{ a if b if c else d }}",
        "{{ a is divisibleby 3 and b is sameas(c)|string }}", "{{ a, }}",
        "{% if a: %}{% elif b %}{% else %}{% endif %}", "{%+ set a, n.b = 1, %}",
        "{% for a, (b, c) in d if e recursive %}{% break %}{% else %}{% endfor %}",
        "{% set a | trim %}{% generation %}{% endgeneration %}{% endset %}",
        "{% macro m(a, b=1) %}{% endmacro %}{% call(x) m(1) %}{% endcall %}",
        "{% filter upper|trim %}{% endfilter %}{% with a = 1, b = 2 %}{% endwith %}",
        "{% block a scoped required %} {% endblock a %}{% print a, b %}{% include a %}",
        "{% import 'a' as b %}{% from 'a' import b as c, d with context %}{% extends 'a' %}",
        "{% if a %}{{ b | unknown }}{% endif %}{{ (c is unknown) if d }}"}) {
    EXPECT_EQ(fault_of(text), "") << text;
  }
}

TEST(Jinja, FaultsNameTheLineWhatWasFoundAndWhatWasExpected) {
  const std::pair<std::string_view, std::string_view> kFaults[] = {
      {"a\r\n{{ b c }}", "2: found 'c', expected '}}'"},
      {"\n{% if a %}\n{% endfor %}",
       "3: found 'endfor', expected a statement that Jinja has, or 'elif' or 'else' or 'endif'"},
      {"{% for a in b %}", "1: found the end of the template, expected 'endfor' or 'else'"},
      {"{% for a of b %}", "1: found 'of', expected 'in'"},
      {"{% do a %}", "1: found 'do', expected a statement that Jinja has"},
      {"{{ (a] }}", "1: found ']', expected ')'"},
      {"{{ a) }}", "1: ')' without an opening bracket"},
      {"{{ 'a }}", "1: a string without a closing '"},
      {"{{ '\\x4' }}", "1: found '\\x4', an incomplete escape"},
      {"{{ a ? b }}", "1: found '?', which Jinja does not know"},
      {"{# a", "1: '{#' without '#}'"},
      {"{% raw %} {% endif %}", "1: 'raw' without 'endraw'"},
      {"{{ f(a=1, b) }}", "1: arguments of a call are not in Python's order"},
      {"{% set a + 1 = 2 %}", "1: found '+', expected '%}'"},
      {"{% set 'a' = 2 %}", "1: this cannot be assigned to; expected names"},
      {"{{ a is b is c }}", "1: found 'is', expected one test after 'is'"},
      {"{% block a required %}b{% endblock %}", "1: a required block is not empty"},
      {"{% call a %}{% endcall %}", "1: found '%}', expected a call before it"},
      {"{% macro m(a=1, b) %}{% endmacro %}",
       "1: found ')', expected a default, as the parameter before it has"}};
  for (const auto& [text, fault] : kFaults) EXPECT_EQ(fault_of(text), fault) << text;
}

TEST(Jinja, SeparatesCompilerErrorsFromSyntaxErrors) {
  const std::pair<std::string_view, std::string_view> kFaults[] = {
      {"\n{{ a | trm }}", "compiler 2: no filter named 'trm'"},
      {"{% for a in b if a is text %}{% endfor %}", "compiler 1: no test named 'text'"},
      {"{% if a %}{% set b %}{{ c|d.e }}{% endset %}{% endif %}",
       "compiler 1: no filter named 'd.e'"},
      {"{% break %}", "compiler 1: 'break' outside a loop"},
      {"{% for a in b %}{% generation %}{% continue %}{% endgeneration %}{% endfor %}",
       "compiler 1: 'continue' outside a loop"},
      {"{% for loop in b %}{% endfor %}", "compiler 1: 'loop' cannot be assigned to in a loop"},
      {"{{ f(a=1, a=2) }}", "compiler 1: argument 'a' is given twice"},
      {"{{ a[1:2, 3] }}", "compiler 1: a slice next to another subscript"},
      {"{% macro m(a, a) %}{% endmacro %}", "compiler 1: parameter 'a' occurs twice"},
      {"{% block a %}{% endblock %}{% block a %}{% endblock %}",
       "compiler 1: block 'a' occurs twice"},
      {"{% with %}{% extends a %}{% endwith %}", "compiler 1: 'extends' inside another statement"}};
  for (const auto& [text, fault] : kFaults) EXPECT_EQ(fault_of(text), fault) << text;
}

TEST(Jinja, NestingHasALimit) {
  const auto nested = [](size_t depth) {
    return "{{ " + std::string(depth, '(') + "a" + std::string(depth, ')') + " }}";
  };
  EXPECT_EQ(fault_of(nested(kMaxTemplateDepth - 2)), "");
  EXPECT_EQ(fault_of(nested(100000)), "1: nested deeper than 200 levels");
}

}  // namespace
}  // namespace ckpt
