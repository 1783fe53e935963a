"""Python's syntax tree in the form that `--emit=ast` prints ours, so that both can be compared line by line."""
import ast

BINARY = {"Add": "+", "Sub": "-", "Mult": "*", "MatMult": "@", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**",
          "LShift": "<<", "RShift": ">>", "BitOr": "|", "BitXor": "^", "BitAnd": "&"}
UNARY = {"Invert": "~", "Not": "not", "UAdd": "+", "USub": "-"}
COMPARE = {"Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Is": "is", "IsNot": "is not",
           "In": "in", "NotIn": "not in"}
SKIP = {"ctx", "type_comment", "kind", "op", "ops", "id", "attr", "name", "asname", "module", "level", "rest", "conversion",
        "simple", "is_async", "kw_defaults", "defaults", "type_ignores", "n", "s"}


def quoted(text):
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    out = bytearray(b'"' if isinstance(text, str) else b'b"')
    for byte in data:
        if byte in b'"\\':
            out += b"\\" + bytes([byte])
        elif byte == 10:
            out += b"\\n"
        elif byte < 0x20 or byte == 0x7F or (byte >= 0x80 and isinstance(text, bytes)):
            out += b"\\x%02x" % byte
        else:
            out.append(byte)
    return (out + b'"').decode("utf-8", "replace")


class Tree:
    def __init__(self, source):
        text = source.decode("latin-1" if b"latin-1" in source[:200] else "utf-8")
        # The lines of `ast`: a form feed or other exotic line end does not count.
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self.out = []

    def column(self, line, offset):
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if text.isascii():
            return offset + 1
        return len(text.encode("utf-8")[:offset].decode("utf-8", "replace")) + 1

    def put(self, depth, text):
        self.out.append("  " * depth + text)

    def range(self, node):
        return (f"{node.lineno}:{self.column(node.lineno, node.col_offset)}-"
                f"{node.end_lineno}:{self.column(node.end_lineno, node.end_col_offset)}")

    def constant(self, node):
        value = node.value
        if value is None or value is True or value is False:
            return str(value)
        if value is ...:
            return "..."
        if isinstance(value, int):
            # What does not fit into 128 bits is printed as it is written.
            return f"int {value}" if value < 2 ** 127 else "int " + self.text(node)
        if isinstance(value, float):
            return f"float {value:.17g}"
        if isinstance(value, complex):
            return f"complex {value.imag:.17g}"
        return ("str " if isinstance(value, str) else "bytes ") + quoted(value)

    def text(self, node):
        line = self.lines[node.lineno - 1].encode("utf-8")
        return line[node.col_offset:node.end_col_offset].decode("utf-8")

    def scalars(self, node):
        kind = type(node).__name__
        words = []
        if kind.startswith("Async"):
            words.append("async")
        if kind == "TryStar":
            words.append("star")
        if kind == "Constant":
            words.append(self.constant(node))
        if isinstance(node, (ast.BinOp, ast.AugAssign)):
            words.append("op=" + BINARY[type(node.op).__name__])
        if kind == "UnaryOp":
            words.append("op=" + UNARY[type(node.op).__name__])
        if kind == "BoolOp":
            words.append("op=" + type(node.op).__name__.lower())
        if kind == "Compare":
            words.append("ops=" + ", ".join(COMPARE[type(op).__name__] for op in node.ops))
        if kind == "AnnAssign" and node.simple:
            words.append("simple")
        if kind == "FormattedValue" and node.conversion != -1:
            words.append("conversion=" + chr(node.conversion))
        for field in ("id", "attr", "name", "asname", "module", "rest", "arg"):
            if isinstance(getattr(node, field, None), str):
                words.append(f"{field}={quoted(getattr(node, field))}")
        if kind == "ImportFrom":
            words.append(f"level={node.level}")
        return "".join(" " + word for word in words)

    def children(self, node, depth):
        for field in node._fields:
            value = getattr(node, field, None)
            if field in SKIP and not isinstance(value, ast.AST):
                continue
            if isinstance(value, list):
                if not value:
                    continue
                self.put(depth, field + ":")
                for element in value:
                    if isinstance(element, ast.AST):
                        self.node("", element, depth + 1)
                    else:
                        self.put(depth + 1, "**" if element is None else quoted(element))
            elif isinstance(value, ast.arguments):
                self.arguments(value, depth)
            elif isinstance(value, ast.AST) and field not in ("ctx", "op"):
                self.node(field + ": ", value, depth)
            elif isinstance(node, ast.MatchSingleton):
                self.put(depth, f"value: Constant {self.range(node)} {node.value}")

    def node(self, label, node, depth):
        kind = type(node).__name__
        kind = {"AsyncFunctionDef": "FunctionDef", "AsyncFor": "For", "AsyncWith": "With", "TryStar": "Try"}.get(kind, kind)
        where = " " + self.range(node) if hasattr(node, "lineno") else ""
        if kind == "comprehension" and node.is_async:
            where += " async"
        self.put(depth, label + kind + where + self.scalars(node))
        self.children(node, depth + 1)

    def arguments(self, args, depth):
        if not (args.posonlyargs or args.args or args.vararg or args.kwonlyargs or args.kwarg):
            return
        self.put(depth, "args: arguments")
        depth += 1
        positional = args.posonlyargs + args.args
        defaults = dict(zip(positional[len(positional) - len(args.defaults):], args.defaults))
        defaults.update(zip(args.kwonlyargs, args.kw_defaults))

        def one(label, arg, depth):
            self.node(label, arg, depth)
            if defaults.get(arg) is not None:
                self.node("default: ", defaults[arg], depth + 1)

        for name in ("posonlyargs", "args", "vararg", "kwonlyargs", "kwarg"):
            value = getattr(args, name)
            if isinstance(value, list):
                if value:
                    self.put(depth, name + ":")
                for arg in value:
                    one("", arg, depth + 1)
            elif value:
                one(name + ": ", value, depth)


def expected_tree(source):
    tree = Tree(source)
    module = ast.parse(source)
    tree.put(0, "Module")
    tree.children(module, 1)
    return "\n".join(tree.out) + "\n"
