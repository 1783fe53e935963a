"""Other forms of a schedule's text, as `tlc report` shows it."""
import re


def replaced(*lines, only_first=False):
    """Every launch, or the first one, says these instead of what it says of the same words. Blocks that form clusters do not walk over tiles."""
    words = "|".join(sorted({line.split()[0] for line in lines}))

    def change(launch):
        if any(line.startswith("persistent yes") for line in lines) and re.search("^ *(parts|spread|cluster) ", launch, flags=re.M):
            return launch
        head, _, rest = launch.partition("\n")
        return "\n".join([head, *(f"  {line}" for line in lines), re.sub(rf"^ *({words}) .*\n", "", rest, flags=re.M)])

    def change_all(schedule):
        before, *launches = re.split(r"^(?=launch )", schedule, flags=re.M)
        return before + "".join(change(l) if i == 0 or not only_first else l for i, l in enumerate(launches))
    return change_all


persistent = replaced("persistent yes")  # every launch walks over tiles


def joined(schedule):
    """Where blocks walk over tiles, the last product of one runs beside the first of the next."""
    return re.sub(r"^( *persistent yes[^/\n]*?) *(?=//|$)", r"\1 join  ", schedule, flags=re.M)


def clusters(m, n):
    """Blocks of a cluster load for each other; none walks over tiles, so no store waits for the next one."""
    return lambda schedule: replaced("persistent no", f"cluster {m} {n}")(schedule.replace(" deferred", ""))


def specialized(word):
    """Producer warps load the tiles of every launch (yes), or of none (no)."""
    return lambda schedule: re.sub(r"^( *specialize) \w+( split)?", rf"\1 {word}", schedule, flags=re.M)


def stores(word):
    """Every accumulator is stored by way of shared memory (staged), or from registers (direct); neighbours that load
    together clip what reaches out by tensor maps, so that they do not."""
    return lambda schedule: re.sub(r"^( *persistent yes) share \d+", r"\1", re.sub(r"^( *store \S+) [^/\n]*", rf"\1 {word} ", schedule, flags=re.M),
                                   flags=re.M)


def stages(count):
    """Every pipelined loop has so many tiles in flight."""
    return lambda schedule: re.sub(r"^( *loop \S+ stages) \d+", rf"\1 {count}", schedule, flags=re.M)


def alternating(schedule):
    """Where two warpgroups may take tiles in turns they always do: there is no other launch for the same calls."""
    def change(kernel):
        head, *launches = re.split(r"^(?=launch )", kernel, flags=re.M)
        texts = {re.match(r"launch (\w+)", text)[1]: text for text in launches}
        for name in [name for name in texts if name + "_turns" in texts]:
            texts[name] = texts.pop(name + "_turns").replace(f"launch {name}_turns ", f"launch {name} ", 1)
            for other in ("_wide", "_parts"):
                texts.pop(name + other, None)
        return head + "".join(texts.values())
    return "".join(change(kernel) for kernel in re.split(r"^(?=kernel )", schedule, flags=re.M))
