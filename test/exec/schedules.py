"""Other forms of a schedule's text, as `tlc report` shows it."""
import re


def persistent(schedule):
    """Every launch walks over tiles."""
    return re.sub(r"^(launch .*{)$", r"\1\n  persistent yes", re.sub(r"^ *persistent .*\n", "", schedule, flags=re.M), flags=re.M)


def specialized(word):
    """Producer warps load the tiles of every launch (yes), or of none (no)."""
    return lambda schedule: re.sub(r"^( *specialize) \w+", rf"\1 {word}", schedule, flags=re.M)


def stores(word):
    """Every accumulator is stored by way of shared memory (staged), or from registers (direct); neighbours that load
    together clip what reaches out by tensor maps, so that they do not."""
    return lambda schedule: re.sub(r"^( *persistent yes) share \d+", r"\1", re.sub(r"^( *store \S+) [^/\n]*", rf"\1 {word} ", schedule, flags=re.M),
                                   flags=re.M)


def stages(count):
    """Every pipelined loop has so many tiles in flight."""
    return lambda schedule: re.sub(r"^( *loop \S+ stages) \d+", rf"\1 {count}", schedule, flags=re.M)
