// Strings and f-strings.
#include "parse/BuildAST.h"

#include "parse/Literals.h"
#include "parse/StringChecks.h"

namespace tlc::parsing {

using Rule = TlParser;

std::string BuildAST::decode(size_t begin, size_t end, bool raw, bool bytes, bool doubledBraces) {
  std::string out;
  size_t badBegin = 0, badEnd = 0;
  std::string_view text = std::string_view(parse.source.text).substr(begin, end - begin);
  if (!decodeLiteral(text, {raw, bytes, doubledBraces}, out, badBegin, badEnd))
    parse.errors.push_back({diag::BadEscape,
                            begin + badBegin,
                            begin + badEnd,
                            {"there is no character of this name"}});
  return out;
}

ast::Expr *BuildAST::strings(const Context &context) {
  const std::string_view text = parse.source.text;
  bool bytes = false, format = false;
  for (const Tree *child : context.children) {
    StringToken token(tokenOf(child), text);
    bytes |= token.bytes;
    format |= token.format;
  }
  if (!format) {
    auto *node = make<ast::Constant>(range(context));
    node->type = bytes ? ast::ConstantType::Bytes : ast::ConstantType::Str;
    for (const Tree *child : context.children) {
      StringToken token(tokenOf(child), text);
      node->text += decode(token.begin, token.end, token.raw, token.bytes, false);
    }
    return node;
  }
  Deeper deeper(*this, context);
  auto *node = make<ast::JoinedStr>(range(context));
  for (const Tree *child : context.children) {
    StringToken token(tokenOf(child), text);
    if (token.format)
      formatPieces(parse.formatted.at(tokenOf(child).getStartIndex()), token.raw, false,
                   range(context), node->values);
    else
      appendText(node->values, range(context),
                 decode(token.begin, token.end, token.raw, false, false));
  }
  return node;
}

// Neighbouring texts become one constant; an empty one is left out.
void BuildAST::appendText(ast::ExprList &values, SourceRange where, std::string text) {
  if (text.empty())
    return;
  if (!values.empty())
    if (auto *last = values.back()->as<ast::Constant>()) {
      last->text += text;
      return;
    }
  auto *node = make<ast::Constant>(where);
  node->type = ast::ConstantType::Str;
  node->text = std::move(text);
  values.push_back(node);
}

void BuildAST::formatPieces(const std::vector<FormatPiece> &pieces, bool raw, bool inSpec,
                            SourceRange where, ast::ExprList &values) {
  for (const FormatPiece &piece : pieces)
    if (piece.isField)
      formatField(piece, raw, values);
    else
      appendText(values, where, decode(piece.begin, piece.end, raw, false, !inSpec));
}

void BuildAST::formatField(const FormatPiece &piece, bool raw, ast::ExprList &values) {
  auto offset = [](size_t at) { return static_cast<std::uint32_t>(at); };
  SourceRange whole{file, offset(piece.open), offset(piece.close + 1)};
  if (piece.equalsEnd) // `{x = }` shows its own text first
    appendText(values, whole, parse.source.text.substr(piece.begin, piece.equalsEnd - piece.begin));
  auto *node = make<ast::FormattedValue>(whole);
  // The expression stands as if in parentheses: the tree is that of their content, then EOF.
  node->value = parenContent(contextOf(piece.tree->children[0]),
                             {file, offset(piece.begin), offset(piece.end)});
  node->conversion = piece.conversion;
  if (piece.equalsEnd && !piece.conversion && !piece.hasSpec)
    node->conversion = 'r';
  if (piece.hasSpec) {
    auto *spec = make<ast::JoinedStr>({file, offset(piece.specBegin), offset(piece.specEnd)});
    formatPieces(piece.spec, raw, true, spec->range, spec->values);
    node->formatSpec = spec;
  }
  values.push_back(node);
}

} // namespace tlc::parsing
