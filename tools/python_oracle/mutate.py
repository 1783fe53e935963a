"""Makes a source file wrong in one place: mutate(bytes, random) -> (bytes, what was done)."""
import re

TOKEN = re.compile(rb"""[rRbBfFuU]{0,2}(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")
    |\#[^\n]*|\w+|\*\*=?|//=?|<<=?|>>=?|:=|->|\.\.\.|[-+*/%@&|^=!<>]=|\n|[ \t]+|.""", re.X | re.S)


def mutate(source, random):
    lines = source.split(b"\n")
    if len(lines) > 400:        # a window that starts at a statement of the module
        starts = [i for i, line in enumerate(lines) if re.match(rb"[a-zA-Z@]", line)]
        start = random.choice(starts or [0])
        source = b"\n".join(lines[start:start + 120])
    tokens = TOKEN.findall(source)
    solid = [i for i, t in enumerate(tokens) if not t.isspace() and not t.startswith(b"#")]
    if len(solid) < 3:
        return source, "same"
    kind = random.choice(["delete", "delete", "duplicate", "swap", "swap far", "replace", "replace", "insert", "insert", "character",
                          "indent", "dedent", "tab", "truncate", "truncate", "join", "split", "inside string", "number"])
    i = random.choice(solid)
    words = [b"if", b"else", b"for", b"in", b"not", b"lambda", b"yield", b"await", b"async", b"match", b"case", b"_", b"as", b"is",
             b"with", b"del", b"None", b"x", b"1", b"'s'", b"f'{x}'", b"b'b'", b"=", b":=", b"==", b":", b",", b";", b"(", b")", b"[",
             b"]", b"{", b"}", b"*", b"**", b"/", b"->", b".", b"...", b"@", b"~", b"-", b"!", b"\n", b"\\\n", b"+=", b"from",
             b"import", b"return", b"print", b"x for x in y", b"x=1", b"*x", b"**x", b"x:=1", b"x: int", b"()", b"[]", b"{}", b"(x,)"]
    if kind == "delete":
        del tokens[i]
    elif kind == "duplicate":
        tokens.insert(i, tokens[i] + b" ")
    elif kind == "swap":
        k = solid.index(i)
        j = solid[(k + 1) % len(solid)]
        tokens[i], tokens[j] = tokens[j], tokens[i]
    elif kind == "swap far":
        j = random.choice(solid)
        tokens[i], tokens[j] = tokens[j], tokens[i]
    elif kind == "replace":
        tokens[i] = random.choice([random.choice(words), tokens[random.choice(solid)]])
    elif kind == "insert":
        tokens.insert(i, b" " + random.choice(words) + b" ")
    elif kind == "character":
        text = bytearray(b"".join(tokens))
        at = random.randrange(len(text))
        choice = random.randrange(3)
        if choice == 0:
            del text[at]
        elif choice == 1:
            text[at] = random.choice(b" \t\n\\'\"()[]{}:,.=#0aj_@!$?\x0c\x7f\xc3")
        else:
            text[at:at] = random.choice([b"\\", b"'", b'"', b"{", b"}", b"#", b"\t", b" ", b"\xc3\xa9", b"\xe2\x80\x9c", b"0", b"_", b"\r", b"\x0c", b"\x00", b"'''"])
        return bytes(text), kind
    elif kind in ("indent", "dedent", "tab", "join", "split"):
        lines = b"".join(tokens).split(b"\n")
        at = random.randrange(len(lines))
        line = lines[at]
        if kind == "indent":
            lines[at] = random.choice([b" ", b"    ", b"\t", b"  "]) + line
        elif kind == "dedent":
            lines[at] = line[random.choice([1, 2, 4]):] if line[:1] == b" " else b"  " + line
        elif kind == "tab":
            lines[at] = line.replace(b"    ", b"\t", 1).replace(b"        ", b"\t")
        elif kind == "join":
            lines[at] = line + random.choice([b" ", b"\\\n", b";", b"; "]) + (lines.pop(at + 1) if at + 1 < len(lines) else b"")
        else:
            cut = random.randrange(len(line) + 1)
            lines[at] = line[:cut] + random.choice([b"\n", b"\\\n", b"\n\n", b"\\\n\\\n"]) + line[cut:]
        return b"\n".join(lines), kind
    elif kind == "truncate":
        tokens = tokens[:i + random.randrange(2)]
    elif kind == "inside string":
        strings = [k for k in solid if tokens[k][-1:] in b"'\""]
        if strings:
            k = random.choice(strings)
            at = random.randrange(len(tokens[k]))
            piece = random.choice([b"{", b"}", b"{x}", b"{x!r:>{y}}", b"{x=}", b"{x y}", b"{}", b"\\x4", b"\\u12", b"\\N{DIGIT ONE}", b"{{", b"\\", b"{lambda x: 1}", b"{yield}", b"{*x}", b"{a['b']}"])
            tokens[k] = (b"" if b"f" in tokens[k][:2].lower() else b"f") + tokens[k][:at] + piece + tokens[k][at:]
    elif kind == "number":
        tokens[i] = random.choice([b"1_0", b"1__0", b"0x", b"0xf_", b"0b2", b"08", b"00", b"1e", b"1e5j", b"1if 1else 2", b"1.e1", b"1_", b"0o8", b"1.real", b"1..real", b"0_7", b"0777.", b"1jif x"])
    return b"".join(tokens), kind
