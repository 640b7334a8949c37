"""Which feature of an x86 processor a disassembled instruction needs, as /proc/cpuinfo calls it.

Instructions that an old processor takes for others (tzcnt, lzcnt, endbr64) are left out: they do not fault.
"""

import re
from collections.abc import Iterable

from triage.patterns import compile as pattern

# A debugger's line may begin with an arrow, an address and the function; the instruction follows the colon.
_BEFORE = re.compile(r"^(?:=>)?\s*(?:0x[0-9a-f]+\s*)?(?:<[^>]*>\s*)?:\s*")
_PREFIXES = re.compile(r"^(?:(?:lock|rep[nz]?e?|repnz|data16|addr32|notrack|bnd|[cdefgs]s|\{(?:vex3?|evex)\})\s+)+")
# Only AVX-512 has these: wide registers, masks, and vector registers beyond the fifteenth.
_WIDE = r"\bzmm\d|%?\bk[0-7]\b|\b[xy]mm(?:1[6-9]|2\d|3[01])\b"
_YMM = r"\bymm\d"
_VECTOR = r"\b[xyz]mm\d"
# The first row that fits counts. Without a second pattern the mnemonic alone decides.
_TABLE: tuple[tuple[str, str, str | None], ...] = (
    ("amx_bf16", r"tdpbf16ps$", None),
    ("amx_fp16", r"tdpfp16ps$", None),
    ("amx_int8", r"tdpb[su]{2}d$", None),
    ("amx_tile", r"(?:tile(?:load|store|zero|release)\w*|(?:ld|st)tilecfg)$", None),
    ("avx512_bf16", r"v(?:dpbf16ps|cvtne2?ps2?2?bf16\w*)$", None),
    ("avx512_fp16", r"v(?:add|sub|mul|div|sqrt|max|min|rcp|rsqrt|fn?m(?:add|sub|ul)\w*)[ps]h$", _VECTOR),
    ("avx512_vnni", r"vpdp(?:bus|wss)ds?$", _WIDE),
    ("avx_vnni", r"vpdp(?:bus|wss)ds?$", None),
    ("avx512ifma", r"vpmadd52[lh]uq$", _WIDE),
    ("avx512_vbmi2", r"vp(?:compress|expand)[bw]$|vpsh[lr]dv?[wdq]$", None),
    ("avx512vbmi", r"vpermi2b$|vpermt2b$|vpermb$|vpmultishiftqb$", None),
    ("avx512_bitalg", r"vpopcnt[bw]$|vpshufbitqmb$", None),
    ("avx512_vpopcntdq", r"vpopcnt[dq]$", None),
    ("avx512cd", r"vpconflict[dq]$|vplzcnt[dq]$|vpbroadcastm\w+$", None),
    ("avx512er", r"v(?:exp2|rcp28|rsqrt28)[ps][sd]$", None),
    ("avx512bw", r"k\w+d$|k\w+q$|kunpck(?:wd|dq)$", r"\bk[0-7]\b"),
    ("avx512dq", r"k\w+b$|kadd[bw]$|ktest[bw]$", r"\bk[0-7]\b"),
    ("avx512bw", r"vmovdqu(?:8|16)$|vp(?:blendm|broadcast|cmpu?|cmp\w+|testn?m|shuf\w?)[bw]$", _WIDE),
    ("avx512bw", r"vp(?:add|sub|adds|subs|addus|subus|abs|avg|max[su]|min[su]|mull|mulh\w*)[bw]$", _WIDE),
    ("avx512dq", r"v(?:and|andn|or|xor)p[sd]$|vpmullq$|vcvt\w*qq\w*$|vrange\w+$|vreduce\w+$|vfpclass\w+$", _WIDE),
    ("vaes", r"vaes(?:enc|dec)\w*$", r"\b[yz]mm\d"),
    ("vpclmulqdq", r"vpclmul\w*$", r"\b[yz]mm\d"),
    ("gfni", r"v?gf2p8\w+$", None),
    ("avx512f", r"[vk]\w+$", _WIDE),
    ("fma", r"vfn?m(?:add|sub|addsub|subadd)(?:132|213|231)[ps][sd]$", None),
    ("fma4", r"vfn?m(?:add|sub|addsub|subadd)[ps][sd]$", None),
    ("f16c", r"vcvt(?:ph2ps|ps2ph)$", None),
    # AVX has these for whole registers of 256 bits; the other integer instructions came with AVX2.
    ("avx", r"vp(?:ermil|erm2f128|test)\w*$", None),
    ("avx2", r"vp(?:broadcast|gather|sllv|srlv|srav|maskmov|blendd|erm)\w*$", None),
    ("avx2", r"v(?:extract|insert|broadcast)i128$|vgather\w+$", None),
    ("avx2", r"vp\w+$|vmovntdqa$|vmpsadbw$", _YMM),
    ("avx", r"v\w+$", _VECTOR),
    ("avx", r"vzero(?:upper|all)$|v(?:ld|st)mxcsr$", None),
    ("bmi1", r"(?:andn|bextr|blsi|blsmsk|blsr)[lq]?$", None),
    ("bmi2", r"(?:bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx)[lq]?$", None),
    ("adx", r"ad[co]x[lq]?$", None),
    ("movbe", r"movbe[wlq]?$", None),
    ("popcnt", r"popcnt[wlq]?$", None),
    ("sse4_2", r"pcmp[ei]str[im]$|pcmpgtq$|crc32[bwlq]?$", None),
    ("sse4_1", r"(?:p?blendv?(?:p[sd]|w|b)|dpp[sd]|extractps|insertps|movntdqa|mpsadbw|packusdw|pcmpeqq)$", None),
    ("sse4_1", r"(?:p(?:ext|ins)r[bdq]|p(?:max|min)(?:s[bd]|u[dw])|pmov[sz]x\w+|pmul(?:dq|ld)|ptest)$", None),
    ("sse4_1", r"round[ps][sd]$|phminposuw$", None),
    ("ssse3", r"(?:pshufb|palignr|ph(?:add|sub)\w+|pmaddubsw|pmulhrsw|pabs[bwd]|psign[bwd])$", None),
    ("pni", r"(?:addsubp[sd]|h(?:add|sub)p[sd]|lddqu|movddup|movs[hl]dup)$", None),
    ("aes", r"aes(?:enc|dec|imc|keygen)\w*$", None),
    ("pclmulqdq", r"pclmul\w+$", None),
    ("sha_ni", r"sha(?:1|256)\w+$", None),
    ("rdrand", r"rdrand[wlq]?$", None),
    ("rdseed", r"rdseed[wlq]?$", None),
    ("rdtscp", r"rdtscp$", None),
    ("clwb", r"clwb$", None),
    ("clflushopt", r"clflushopt$", None),
    ("xsave", r"x(?:save|rstor|getbv)(?:64)?$", None),
)
# Other systems' names for the same feature.
_ALSO = {"pni": "sse3", "bmi1": "bmi", "sha_ni": "sha", "rdrand": "rdrnd"}
# Every x86 of this century has it: a list without it belongs to another kind of processor, or is not complete.
_EVERY_X86 = "sse2"


def instruction_needs(instruction: str) -> str | None:
    """The flag of /proc/cpuinfo that this x86 instruction needs, None if every processor has it."""
    text = _PREFIXES.sub("", _BEFORE.sub("", instruction.strip().lower()))
    mnemonic, _, operands = text.partition(" ") if " " in text else text.partition("\t")
    for flag, named, among in _TABLE:
        if pattern(named).match(mnemonic.strip()) and (among is None or pattern(among).search(operands)):
            return flag
    return None


def missing_flag(instruction: str, cpu_flags: Iterable[str]) -> str | None:
    """The flag that an instruction needs and a processor does not list; None if it does, or lists no flags at all."""
    listed = {flag.lower() for flag in cpu_flags}
    needed = instruction_needs(instruction)
    if needed is None or _EVERY_X86 not in listed:
        return None
    return None if {needed, _ALSO.get(needed, needed)} & listed else needed
