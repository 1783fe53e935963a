// Imports: files of the program, packages, modules known without their source, and the unknown.
#include "elaborate/Parts.h"
#include "elaborate/runtime/Runtime.h"
#include "support/Names.h"

#include <algorithm>
#include <filesystem>

namespace tlc::elaborate {

namespace fs = std::filesystem;

namespace {

std::string firstPart(const std::string &dotted) { return dotted.substr(0, dotted.find('.')); }

/// Where a module's file is: `dir/a/b.tl`, `.py`, or a package `dir/a/b/__init__.tl`, `.py`, or a
/// directory alone (empty path).
struct Found {
  std::string path;
  std::string directory; ///< of a package
};

std::optional<Found> findIn(const std::string &directory, const std::string &dotted) {
  std::string relative = dotted;
  std::replace(relative.begin(), relative.end(), '.', '/');
  std::string base = directory.empty() ? relative : directory + "/" + relative;
  std::error_code error;
  for (const char *suffix : {".tl", ".py"}) {
    std::string file = base + suffix;
    if (fs::is_regular_file(file, error))
      return Found{file, ""};
  }
  for (const char *suffix : {"/__init__.tl", "/__init__.py"}) {
    std::string file = base + suffix;
    if (fs::is_regular_file(file, error))
      return Found{file, base};
  }
  if (!dotted.empty() && fs::is_directory(base, error)) {
    // A namespace package, if there is something to import in it.
    for (const auto &entry : fs::directory_iterator(base, error))
      if (entry.path().extension() == ".tl" || entry.path().extension() == ".py")
        return Found{"", base};
  }
  return std::nullopt;
}

std::string directoryOf(const std::string &path) {
  std::string parent = fs::path(path).parent_path().generic_string();
  return parent;
}

void moduleNames(Elaborator &e, ModuleObject &module) {
  auto define = [&](const char *name, const Value &value) {
    Slot &slot = module.globals->slot(name);
    slot.value = value;
    slot.bound = true;
  };
  define("__name__", e.str(module.name));
  define("__file__", e.str(module.file ? e.sources.path(module.file) : ""));
  define("__doc__", Value::none());
}

ModuleObject *newModule(Elaborator &e, const std::string &name) {
  auto *module = e.heap.make<ModuleObject>();
  module->name = name;
  module->globals = e.makeScope(e.parts->builtins);
  module->globals->module = module;
  return module;
}

ModuleObject *loadFile(Elaborator &e, const Found &found, const std::string &dotted,
                       SourceRange range) {
  std::string key = found.path.empty() ? found.directory : found.path;
  if (auto it = e.parts->files.find(key); it != e.parts->files.end()) {
    if (it->second->executing) {
      std::string way;
      bool inside = false;
      for (ModuleObject *m : e.parts->importing) {
        inside = inside || m == it->second;
        if (inside && m != it->second)
          way += (way.empty() ? "`" : ", `") + m->name + "`";
      }
      e.report(diag::ImportCycle, range, it->second->name, way.empty() ? "itself" : way);
      throw AbortUnit();
    }
    return it->second;
  }
  ModuleObject *module = newModule(e, dotted);
  e.parts->files[key] = module;
  if (found.path.empty()) {
    moduleNames(e, *module);
    return module;
  }
  std::string error;
  auto file = e.sources.load(found.path, error);
  if (!file) {
    e.report(diag::CannotRead, range, found.path, error);
    return nullptr;
  }
  module->file = *file;
  e.parts->imported.push_back(found.path);
  auto tree = e.options.parseFile ? e.options.parseFile(*file) : nullptr;
  if (!tree)
    return nullptr; // reported
  const ast::Module &parsed = *tree;
  e.parts->trees.push_back(std::move(tree));
  execModule(e, *module, parsed);
  return module;
}

// Absolute imports of a file's own program: beside the importing file, -I, TLC_PATH, the library.
std::optional<Found> searchPath(Elaborator &e, ModuleObject *from, const std::string &dotted) {
  std::vector<std::string> directories;
  if (from && from->file)
    directories.push_back(directoryOf(e.sources.path(from->file)));
  if (e.parts->mainModule && e.parts->mainModule->file)
    directories.push_back(directoryOf(e.sources.path(e.parts->mainModule->file)));
  for (const std::string &directory : e.options.includeDirs)
    directories.push_back(directory);
  if (!e.options.standardLibrary.empty())
    directories.push_back(e.options.standardLibrary);
  for (const std::string &directory : directories)
    if (auto found = findIn(directory, dotted))
      return found;
  return std::nullopt;
}

std::string packageDirectory(Elaborator &e, ModuleObject *from) {
  return from && from->file ? directoryOf(e.sources.path(from->file)) : std::string();
}

ModuleObject *relativeImport(Elaborator &e, const std::string &dotted, unsigned level,
                             ModuleObject *from, SourceRange range) {
  fs::path directory = packageDirectory(e, from);
  for (unsigned i = 1; i < level; ++i)
    directory /= "..";
  std::string base = directory.lexically_normal().generic_string();
  if (base == ".")
    base.clear();
  if (dotted.empty())
    return loadFile(e, Found{"", base.empty() ? "." : base}, base, range);
  auto found = findIn(base, dotted);
  return found ? loadFile(e, *found, dotted, range) : nullptr;
}

// `import a.b.c` makes `a` known with `b` in it.
void linkParents(Elaborator &e, const std::string &dotted, ModuleObject *from, SourceRange range) {
  std::size_t dot = dotted.find('.');
  while (dot != std::string::npos) {
    std::size_t next = dotted.find('.', dot + 1);
    ModuleObject *parent = e.importModule(dotted.substr(0, dot), 0, from, range);
    ModuleObject *child = e.importModule(dotted.substr(0, next), 0, from, range);
    if (parent && child && parent->globals) {
      Slot &slot = parent->globals->slot(dotted.substr(dot + 1, next - dot - 1));
      slot.value = Value::object(child);
      slot.bound = true;
    }
    dot = next;
  }
}

void importStar(Elaborator &e, ModuleObject &module, SourceRange range) {
  if (!module.globals)
    return;
  std::vector<std::string> names = module.exports;
  if (Slot *all = module.globals->find("__all__"); all && all->bound)
    for (const Value &name : e.toList(all->value))
      if (name.isText())
        names.push_back(name.asText());
  if (names.empty() && module.name == "tilelang.language") {
    names = {"prim_func", "macro"};
    for (std::string_view name : languageNames())
      if (!name.starts_with("_"))
        names.emplace_back(name);
  } else if (names.empty())
    for (const std::string &name : module.globals->order)
      if (!name.starts_with("_"))
        names.push_back(name);
  for (const std::string &name : names)
    if (auto value = moduleAttribute(e, module, name, range))
      e.bindName(name, *value, range);
}

} // namespace

ModuleObject *Elaborator::importModule(const std::string &dotted, unsigned level,
                                       ModuleObject *from, SourceRange range) {
  if (level > 0)
    return relativeImport(*this, dotted, level, from, range);
  if (ModuleObject *shim = shimModule(dotted))
    return shim;
  if (auto found = searchPath(*this, from, dotted))
    return loadFile(*this, *found, dotted, range);
  return nullptr;
}

std::optional<Value> moduleAttribute(Elaborator &e, ModuleObject &module, std::string_view name,
                                     SourceRange range) {
  if (module.globals)
    if (Slot *slot = module.globals->find(name); slot && slot->bound)
      return slot->value;
  if (module.fallback)
    if (auto value = module.fallback(e, module, name)) {
      Slot &slot = module.globals->slot(std::string(name));
      slot.value = *value;
      slot.bound = true;
      return value;
    }
  if (module.closed)
    return std::nullopt;
  if (module.file || !module.fallback) {
    // A submodule of a package.
    std::string directory = module.file ? directoryOf(e.sources.path(module.file)) : std::string();
    bool package = module.file && fs::path(e.sources.path(module.file)).stem() == "__init__";
    if (package)
      if (auto found = findIn(directory, std::string(name)))
        if (ModuleObject *sub = loadFile(e, *found, module.name + "." + std::string(name), range))
          return Value::object(sub);
    if (module.file)
      return std::nullopt;
    for (auto &[key, known] : e.parts->files)
      if (known == &module)
        if (auto found = findIn(key, std::string(name)))
          if (ModuleObject *sub = loadFile(e, *found, module.name + "." + std::string(name), range))
            return Value::object(sub);
  }
  return e.makePoison(module.name + "." + std::string(name), range);
}

void execImport(Elaborator &e, const ast::Import &stmt) {
  ModuleObject *from = e.frame().scope->module;
  for (const ast::Alias &alias : stmt.names) {
    const std::string &dotted = alias.name.id;
    ModuleObject *module = e.importModule(dotted, 0, from, alias.name.range);
    std::string name = alias.asname.empty() ? firstPart(dotted) : alias.asname.id;
    if (!module) {
      // An unknown module is poison as a whole; its first part is what gets the name.
      bool known =
          alias.asname.empty() && e.importModule(firstPart(dotted), 0, from, alias.name.range);
      if (known) {
        linkParents(e, dotted.substr(0, dotted.rfind('.')), from, alias.name.range);
        e.bindName(name, Value::object(e.importModule(name, 0, from, alias.name.range)),
                   alias.name.range);
      } else
        e.bindName(name, e.makePoison(alias.asname.empty() ? name : dotted, alias.name.range),
                   alias.name.range);
      continue;
    }
    if (alias.asname.empty() && name != dotted) {
      linkParents(e, dotted, from, alias.name.range);
      if (ModuleObject *top = e.importModule(name, 0, from, alias.name.range))
        module = top;
    }
    e.bindName(name, Value::object(module),
               alias.asname.empty() ? alias.name.range : alias.asname.range);
  }
}

void execImportFrom(Elaborator &e, const ast::ImportFrom &stmt) {
  ModuleObject *from = e.frame().scope->module;
  SourceRange where = stmt.module.empty() ? stmt.range : stmt.module.range;
  ModuleObject *module = e.importModule(stmt.module.id, stmt.level, from, where);
  std::string shown = std::string(stmt.level, '.') + stmt.module.id;
  for (const ast::Alias &alias : stmt.names) {
    const std::string &name = alias.name.id;
    const std::string &bound = alias.asname.empty() ? name : alias.asname.id;
    if (name == "*") {
      if (module)
        importStar(e, *module, alias.range);
      continue;
    }
    if (!module) {
      e.bindName(bound, e.makePoison(shown + "." + name, alias.range), alias.range);
      continue;
    }
    auto value = moduleAttribute(e, *module, name, alias.name.range);
    if (!value) { // perhaps a module beside it
      std::string dotted = stmt.module.empty() ? name : stmt.module.id + "." + name;
      if (ModuleObject *sub = e.importModule(dotted, stmt.level, from, alias.name.range))
        value = Value::object(sub);
    }
    if (!value) {
      std::vector<std::string_view> names;
      if (module->name == "tilelang.language")
        names = languageNames();
      else if (module->globals)
        for (const std::string &n : module->globals->order)
          names.push_back(n);
      e.report(diag::ImportedNameMissing, alias.name.range, shown, name,
               didYouMeanText(name, names));
      value = Value::error();
    }
    e.bindName(bound, *value, alias.asname.empty() ? alias.name.range : alias.asname.range);
  }
}

namespace {

// Errors that a file's host part may have although its kernels are fine: tlc is no Python.
bool belongsToHost(diag::Id id) {
  switch (id) {
  case diag::UnknownValueDecides:
  case diag::NotAtCompileTime:
  case diag::TooMuchWork:
  case diag::TooDeep:
  case diag::ExceptionRaised:
  case diag::AssertionFailed:
  case diag::NotCallable:
  case diag::NoAttribute:
    return true;
  default:
    return false;
  }
}

// Whether a statement at module level only starts the host part: a bare call of a plain function.
bool isHostCall(Elaborator &e, const ast::Stmt &stmt) {
  auto *expr = stmt.as<ast::ExprStmt>();
  auto *call = expr ? expr->value->as<ast::Call>() : nullptr;
  auto *name = call ? call->func->as<ast::Name>() : nullptr;
  if (!name)
    return false;
  Slot *slot = e.frame().scope->find(name->id);
  auto *function = slot && slot->bound ? slot->value.as<FunctionObject>() : nullptr;
  return function && function->role == FunctionRole::Plain;
}

// The names that a failed statement binds. `all`: what they hold is not what Python would have left
// in them, since the statement ended early or part of it was not entered.
void bindToReason(Elaborator &e, const ast::Stmt &stmt, const std::string &reason, bool all) {
  std::unordered_set<std::string> names;
  collectBoundNames({const_cast<ast::Stmt *>(&stmt)}, names);
  for (const std::string &name : names) {
    Slot *slot = e.frame().scope->find(name);
    if (all || !slot || !slot->bound || slot->value.isError())
      e.bindName(name, e.makePoison(name, stmt.range, reason), stmt.range);
  }
}

// One statement of a module. What only concerns the host part leaves its names unknown.
void execTop(Elaborator &e, const ast::Stmt &stmt) {
  if (isHostCall(e, stmt))
    return;
  auto mark = e.diagnostics.mark();
  std::size_t frames = e.frames.size();
  bool aborted = false;
  try {
    e.exec(stmt);
  } catch (const AbortUnit &) {
    aborted = true;
  } catch (const RaisedException &) {
    aborted = true;
  }
  e.frames.resize(frames);
  e.regions.clear();
  e.frame().loops.clear();
  if (e.diagnostics.errorCount() == mark.errors && !aborted)
    return;
  bool host = true, partly = aborted;
  std::string reason;
  const auto &records = e.diagnostics.diagnostics();
  for (std::size_t i = mark.records; i < records.size(); ++i) {
    if (records[i].severity != Severity::Error)
      continue;
    // T is known whole: a name that it has not is a slip of the pen.
    bool slip = records[i].id == diag::NoAttribute &&
                records[i].message.starts_with("module `tilelang.language`");
    host = host && belongsToHost(records[i].id) && !slip;
    partly |= records[i].id == diag::UnknownValueDecides;
    if (reason.empty())
      reason = records[i].message;
  }
  if (host)
    e.diagnostics.rollback(mark);
  bindToReason(e, stmt, reason, partly);
}

} // namespace

void execModule(Elaborator &e, ModuleObject &module, const ast::Module &tree) {
  moduleNames(e, module);
  auto frame = std::make_unique<Frame>();
  frame->scope = module.globals;
  frame->firstRegion = e.regions.size();
  KernelState *kernel = e.kernel;
  e.kernel = nullptr;
  std::size_t depth = e.frames.size();
  std::vector<Region> regions = std::move(e.regions);
  e.regions.clear();
  unsigned tries = e.parts->tryDepth;
  e.parts->tryDepth = 0;
  e.frames.push_back(std::move(frame));
  e.frame().firstRegion = 0;
  module.executing = true;
  e.parts->importing.push_back(&module);
  struct Restore {
    Elaborator &e;
    ModuleObject &module;
    KernelState *kernel;
    std::size_t depth;
    std::vector<Region> &regions;
    unsigned tries;
    ~Restore() {
      e.frames.resize(depth);
      e.kernel = kernel;
      e.regions = std::move(regions);
      e.parts->tryDepth = tries;
      e.parts->importing.pop_back();
      module.executing = false;
    }
  } restore{e, module, kernel, depth, regions, tries};
  for (const ast::Stmt *stmt : tree.body)
    execTop(e, *stmt);
}

} // namespace tlc::elaborate
