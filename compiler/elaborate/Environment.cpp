#include "elaborate/Environment.h"

namespace tlc::elaborate {

using NameSet = std::unordered_set<std::string>;

Slot *Scope::find(std::string_view name) {
  std::string key(name);
  if (auto it = elsewhere.find(key); it != elsewhere.end())
    return it->second;
  auto it = names.find(key);
  return it == names.end() ? nullptr : it->second.get();
}

Slot &Scope::slot(const std::string &name) {
  if (Slot *known = find(name))
    return *known;
  order.push_back(name);
  auto &entry = names[name];
  entry = std::make_unique<Slot>();
  return *entry;
}

namespace {

// Walks a function's own statements: what they bind and which names they declare elsewhere. Reads
// are collected with nested functions included.
class NameWalk {
public:
  NameSet bound, declared, read;
  bool intoFunctions = false;

  void block(const ast::Block &statements) {
    for (const ast::Stmt *s : statements)
      stmt(*s);
  }

  void target(const ast::Expr &t) {
    switch (t.kind) {
    case ast::ExprKind::Name:
      bound.insert(t.as<ast::Name>()->id);
      return;
    case ast::ExprKind::Tuple:
      for (const ast::Expr *e : t.as<ast::Tuple>()->elements)
        target(*e);
      return;
    case ast::ExprKind::List:
      for (const ast::Expr *e : t.as<ast::List>()->elements)
        target(*e);
      return;
    case ast::ExprKind::Starred:
      target(*t.as<ast::Starred>()->value);
      return;
    default:
      expr(&t);
    }
  }

  void parameters(const ast::Arguments &args, bool bind) {
    auto one = [&](const ast::Arg &arg) {
      if (bind)
        bound.insert(arg.name.id);
      expr(arg.annotation);
      expr(arg.defaultValue);
    };
    for (const auto *list : {&args.posOnly, &args.args, &args.kwOnly})
      for (const ast::Arg &arg : *list)
        one(arg);
    for (const auto *arg : {&args.vararg, &args.kwarg})
      if (*arg)
        one(**arg);
  }

  void stmt(const ast::Stmt &s);
  void expr(const ast::Expr *e);

private:
  void exprs(const ast::ExprList &list) {
    for (const ast::Expr *e : list)
      expr(e);
  }
  void comprehensions(const std::vector<ast::Comprehension> &generators) {
    for (const ast::Comprehension &g : generators) {
      expr(g.iter);
      exprs(g.ifs);
    }
  }
  void definition(const ast::FunctionDef &def) {
    bound.insert(def.name.id);
    exprs(def.decorators);
    parameters(def.args, false);
    if (intoFunctions) {
      NameSet outer = bound;
      block(def.body);
      bound = outer;
    }
  }
  void importFrom(const std::vector<ast::Alias> &names, bool dotted) {
    for (const ast::Alias &a : names) {
      std::string name = a.asname.empty() ? a.name.id : a.asname.id;
      if (dotted && a.asname.empty())
        name = name.substr(0, name.find('.'));
      bound.insert(name);
    }
  }
  void classDefinition(const ast::ClassDef &def) {
    bound.insert(def.name.id);
    exprs(def.bases);
    exprs(def.decorators);
    if (intoFunctions) {
      NameSet outer = bound;
      block(def.body);
      bound = outer;
    }
  }
  void with(const ast::With &s) {
    for (const ast::WithItem &item : s.items) {
      expr(item.contextExpr);
      if (item.optionalVars)
        target(*item.optionalVars);
    }
    block(s.body);
  }
  void slice(const ast::Slice &s) {
    expr(s.lower);
    expr(s.upper);
    expr(s.step);
  }
  void pattern(const ast::Pattern *p);
  void loop(const ast::For &s) {
    target(*s.target);
    expr(s.iter);
    block(s.body);
    block(s.orelse);
  }
  void tryStmt(const ast::Try &s) {
    block(s.body);
    for (const ast::ExceptHandler &h : s.handlers) {
      expr(h.type);
      if (!h.name.empty())
        bound.insert(h.name.id);
      block(h.body);
    }
    block(s.orelse);
    block(s.finalbody);
  }
};

void NameWalk::pattern(const ast::Pattern *p) {
  if (!p)
    return;
  auto all = [&](const std::vector<ast::Pattern *> &list) {
    for (const ast::Pattern *q : list)
      pattern(q);
  };
  if (auto *seq = p->as<ast::MatchSequence>())
    all(seq->patterns);
  else if (auto *map = p->as<ast::MatchMapping>()) {
    exprs(map->keys);
    all(map->patterns);
    if (!map->rest.empty())
      bound.insert(map->rest.id);
  } else if (auto *cls = p->as<ast::MatchClass>()) {
    expr(cls->cls);
    all(cls->patterns);
    all(cls->keywordPatterns);
  } else if (auto *star = p->as<ast::MatchStar>()) {
    if (!star->name.empty())
      bound.insert(star->name.id);
  } else if (auto *as = p->as<ast::MatchAs>()) {
    pattern(as->pattern);
    if (!as->name.empty())
      bound.insert(as->name.id);
  } else if (auto *alternatives = p->as<ast::MatchOr>())
    all(alternatives->patterns);
  else if (auto *value = p->as<ast::MatchValue>())
    expr(value->value);
}

void NameWalk::stmt(const ast::Stmt &s) {
  switch (s.kind) {
  case ast::StmtKind::FunctionDef:
    return definition(*s.as<ast::FunctionDef>());
  case ast::StmtKind::ClassDef:
    return classDefinition(*s.as<ast::ClassDef>());
  case ast::StmtKind::Return:
    return expr(s.as<ast::Return>()->value);
  case ast::StmtKind::Delete:
    for (const ast::Expr *e : s.as<ast::Delete>()->targets)
      target(*e);
    return;
  case ast::StmtKind::Assign:
    expr(s.as<ast::Assign>()->value);
    for (const ast::Expr *e : s.as<ast::Assign>()->targets)
      target(*e);
    return;
  case ast::StmtKind::AugAssign:
    expr(s.as<ast::AugAssign>()->target);
    expr(s.as<ast::AugAssign>()->value);
    return target(*s.as<ast::AugAssign>()->target);
  case ast::StmtKind::AnnAssign:
    expr(s.as<ast::AnnAssign>()->annotation);
    expr(s.as<ast::AnnAssign>()->value);
    return target(*s.as<ast::AnnAssign>()->target);
  case ast::StmtKind::For:
    return loop(*s.as<ast::For>());
  case ast::StmtKind::While:
    expr(s.as<ast::While>()->test);
    block(s.as<ast::While>()->body);
    return block(s.as<ast::While>()->orelse);
  case ast::StmtKind::If:
    expr(s.as<ast::If>()->test);
    block(s.as<ast::If>()->body);
    return block(s.as<ast::If>()->orelse);
  case ast::StmtKind::With:
    return with(*s.as<ast::With>());
  case ast::StmtKind::Raise:
    expr(s.as<ast::Raise>()->exc);
    return expr(s.as<ast::Raise>()->cause);
  case ast::StmtKind::Try:
    return tryStmt(*s.as<ast::Try>());
  case ast::StmtKind::Assert:
    expr(s.as<ast::Assert>()->test);
    return expr(s.as<ast::Assert>()->msg);
  case ast::StmtKind::Import:
    return importFrom(s.as<ast::Import>()->names, true);
  case ast::StmtKind::ImportFrom:
    return importFrom(s.as<ast::ImportFrom>()->names, false);
  case ast::StmtKind::Global:
    for (const ast::Identifier &n : s.as<ast::Global>()->names)
      declared.insert(n.id);
    return;
  case ast::StmtKind::Nonlocal:
    for (const ast::Identifier &n : s.as<ast::Nonlocal>()->names)
      declared.insert(n.id);
    return;
  case ast::StmtKind::ExprStmt:
    return expr(s.as<ast::ExprStmt>()->value);
  case ast::StmtKind::Match:
    expr(s.as<ast::Match>()->subject);
    for (const ast::MatchCase &c : s.as<ast::Match>()->cases) {
      pattern(c.pattern);
      expr(c.guard);
      block(c.body);
    }
    return;
  case ast::StmtKind::Pass:
  case ast::StmtKind::Break:
  case ast::StmtKind::Continue:
    return;
  }
}

void NameWalk::expr(const ast::Expr *e) {
  if (!e)
    return;
  switch (e->kind) {
  case ast::ExprKind::Name:
    read.insert(e->as<ast::Name>()->id);
    return;
  case ast::ExprKind::Constant:
    return;
  case ast::ExprKind::JoinedStr:
    return exprs(e->as<ast::JoinedStr>()->values);
  case ast::ExprKind::FormattedValue:
    expr(e->as<ast::FormattedValue>()->value);
    return expr(e->as<ast::FormattedValue>()->formatSpec);
  case ast::ExprKind::Attribute:
    return expr(e->as<ast::Attribute>()->value);
  case ast::ExprKind::Subscript:
    expr(e->as<ast::Subscript>()->value);
    return expr(e->as<ast::Subscript>()->slice);
  case ast::ExprKind::Slice:
    return slice(*e->as<ast::Slice>());
  case ast::ExprKind::Starred:
    return expr(e->as<ast::Starred>()->value);
  case ast::ExprKind::Call:
    expr(e->as<ast::Call>()->func);
    exprs(e->as<ast::Call>()->args);
    for (const ast::Keyword &k : e->as<ast::Call>()->keywords)
      expr(k.value);
    return;
  case ast::ExprKind::UnaryOp:
    return expr(e->as<ast::UnaryOp>()->operand);
  case ast::ExprKind::BinOp:
    expr(e->as<ast::BinOp>()->left);
    return expr(e->as<ast::BinOp>()->right);
  case ast::ExprKind::BoolOp:
    return exprs(e->as<ast::BoolOp>()->values);
  case ast::ExprKind::Compare:
    expr(e->as<ast::Compare>()->left);
    return exprs(e->as<ast::Compare>()->comparators);
  case ast::ExprKind::IfExp:
    expr(e->as<ast::IfExp>()->test);
    expr(e->as<ast::IfExp>()->body);
    return expr(e->as<ast::IfExp>()->orelse);
  case ast::ExprKind::Lambda:
    parameters(e->as<ast::Lambda>()->args, false);
    return expr(e->as<ast::Lambda>()->body);
  case ast::ExprKind::NamedExpr:
    bound.insert(e->as<ast::NamedExpr>()->target->id);
    return expr(e->as<ast::NamedExpr>()->value);
  case ast::ExprKind::Tuple:
    return exprs(e->as<ast::Tuple>()->elements);
  case ast::ExprKind::List:
    return exprs(e->as<ast::List>()->elements);
  case ast::ExprKind::Set:
    return exprs(e->as<ast::Set>()->elements);
  case ast::ExprKind::Dict:
    exprs(e->as<ast::Dict>()->keys);
    return exprs(e->as<ast::Dict>()->values);
  case ast::ExprKind::ListComp:
    expr(e->as<ast::ListComp>()->element);
    return comprehensions(e->as<ast::ListComp>()->generators);
  case ast::ExprKind::SetComp:
    expr(e->as<ast::SetComp>()->element);
    return comprehensions(e->as<ast::SetComp>()->generators);
  case ast::ExprKind::GeneratorExp:
    expr(e->as<ast::GeneratorExp>()->element);
    return comprehensions(e->as<ast::GeneratorExp>()->generators);
  case ast::ExprKind::DictComp:
    expr(e->as<ast::DictComp>()->key);
    expr(e->as<ast::DictComp>()->value);
    return comprehensions(e->as<ast::DictComp>()->generators);
  case ast::ExprKind::Await:
    return expr(e->as<ast::Await>()->value);
  case ast::ExprKind::Yield:
    return expr(e->as<ast::Yield>()->value);
  case ast::ExprKind::YieldFrom:
    return expr(e->as<ast::YieldFrom>()->value);
  }
}

} // namespace

NameSet localNames(const ast::FunctionDef &function) {
  NameWalk walk;
  walk.parameters(function.args, true);
  walk.block(function.body);
  for (const std::string &name : walk.declared)
    walk.bound.erase(name);
  return walk.bound;
}

NameSet localNames(const ast::Lambda &lambda) {
  NameWalk walk;
  walk.parameters(lambda.args, true);
  walk.expr(lambda.body);
  return walk.bound;
}

void collectBoundNames(const ast::Block &block, NameSet &names) {
  NameWalk walk;
  walk.block(block);
  names.insert(walk.bound.begin(), walk.bound.end());
}

void collectTargetNames(const ast::Expr &target, NameSet &names) {
  NameWalk walk;
  walk.target(target);
  names.insert(walk.bound.begin(), walk.bound.end());
}

NameSet readNames(const ast::FunctionDef &function) {
  NameWalk walk;
  walk.intoFunctions = true;
  walk.parameters(function.args, true);
  walk.block(function.body);
  return walk.read;
}

} // namespace tlc::elaborate
