"""The features that an x86 instruction needs, as debuggers print it, and which of them a processor lacks."""

from __future__ import annotations

import pytest

from triage.instructions import instruction_needs, missing_flag


@pytest.mark.parametrize(
    ("instruction", "flag"),
    [
        ("mov (%rax),%rax", None),
        ("ud2", None),
        ("(bad)", None),
        ("", None),
        ("rep stos %al,%es:(%rdi)", None),
        ("lock cmpxchg %rdx,(%rcx)", None),
        ("=> 0x7ff6 <f(int)+12>:\tlock rep popcnt %rax,%rax", "popcnt"),
        ("=>  <f+1> : data16 addr32 notrack crc32q %rax,%rbx", "sse4_2"),
        ("0x7ff6:popcnt %rax,%rax", "popcnt"),
        ("repnz popcnt %rax,%rax", "popcnt"),
        ("tzcnt %rax,%rcx", None),
        ("verw %ax", None),
        ("movaps %xmm0,(%rsp)", None),
        ("addsubps %xmm0,%xmm1", "pni"),
        ("pshufb %xmm1,%xmm0", "ssse3"),
        ("pmulld %xmm1,%xmm0", "sse4_1"),
        ("crc32q %rax,%rbx", "sse4_2"),
        ("popcnt %rax,%rax", "popcnt"),
        ("aesenc %xmm1,%xmm0", "aes"),
        ("vaddps %ymm0,%ymm1,%ymm2", "avx"),
        ("vzeroupper", "avx"),
        ("vpaddd %xmm0,%xmm1,%xmm2", "avx"),
        ("vperm2f128 $0x1,%ymm0,%ymm1,%ymm2", "avx"),
        ("vptest %ymm0,%ymm1", "avx"),
        ("vpaddd %ymm0,%ymm1,%ymm2", "avx2"),
        ("vpbroadcastd %xmm0,%xmm1", "avx2"),
        ("vpermq $0x1,%ymm0,%ymm1", "avx2"),
        ("vextracti128 $0x1,%ymm0,%xmm0", "avx2"),
        ("vfmadd231ps (%rax),%ymm0,%ymm1", "fma"),
        ("vfnmadd213sd %xmm0,%xmm1,%xmm2", "fma"),
        ("vcvtph2ps %xmm0,%ymm0", "f16c"),
        ("vcvtps2ph $0x0,%ymm0,%xmm1", "f16c"),
        ("shlx %rax,%rbx,%rcx", "bmi2"),
        ("mulx %rdx,%rax,%rcx", "bmi2"),
        ("andn %rax,%rbx,%rcx", "bmi1"),
        ("adcx %rax,%rbx", "adx"),
        ("movbe (%rax),%ecx", "movbe"),
        ("vmovdqu64 (%rax),%zmm0", "avx512f"),
        ("vfmadd231ps %zmm0,%zmm1,%zmm2", "avx512f"),
        ("vcvtph2ps (%rax),%zmm0", "avx512f"),
        ("vaddps %xmm0,%xmm1,%xmm2{%k1}", "avx512f"),
        ("vpaddd %xmm17,%xmm1,%xmm2", "avx512f"),
        ("vmovdqu8 (%rax),%zmm0", "avx512bw"),
        ("kmovq %rax,%k1", "avx512bw"),
        ("kmovw %eax,%k1", "avx512f"),
        ("vpmullq %zmm0,%zmm1,%zmm2", "avx512dq"),
        ("vpdpbusd %zmm0,%zmm1,%zmm2", "avx512_vnni"),
        ("{vex} vpdpbusd %ymm0,%ymm1,%ymm2", "avx_vnni"),
        ("vdpbf16ps %zmm0,%zmm1,%zmm2", "avx512_bf16"),
        ("vaddph %zmm0,%zmm1,%zmm2", "avx512_fp16"),
        ("tdpbf16ps %tmm0,%tmm1,%tmm2", "amx_bf16"),
        ("tileloadd (%rax,%rbx,1),%tmm0", "amx_tile"),
        ("ldtilecfg (%rsp)", "amx_tile"),
    ],
)
def test_the_flag_that_an_instruction_needs(instruction: str, flag: str | None) -> None:
    assert instruction_needs(instruction) == flag


@pytest.mark.parametrize(
    "printed",
    [
        "=> 0x00007ffff7a01234 <Eigen::internal::f(int)+12>:\tvpaddd ymm0,ymm1,ymm2",
        "   0x7ffff7a01234:\tvpaddd %ymm0,%ymm1,%ymm2",
        "vpaddd\t%ymm0,%ymm1,%ymm2",
        "  VPADDD ymm2, ymm1, ymm0",
    ],
)
def test_it_is_recognised_however_a_debugger_prints_it(printed: str) -> None:
    assert instruction_needs(printed) == "avx2"


@pytest.mark.parametrize(
    ("instruction", "flags", "missing"),
    [
        ("vpaddd %ymm0,%ymm1,%ymm2", ("sse2", "avx"), "avx2"),
        ("vpaddd %ymm0,%ymm1,%ymm2", ("sse2", "AVX", "AVX2"), None),
        ("mov %rax,%rbx", ("sse2",), None),
        ("addsubps %xmm0,%xmm1", ("sse2", "sse3"), None),
        ("vpaddd %ymm0,%ymm1,%ymm2", (), None),
        # ARM has an instruction of that name, and its list has none of these words.
        ("crc32b w0, w1, w2", ("fp", "asimd", "crc32"), None),
    ],
)
def test_what_a_processor_does_not_list(instruction: str, flags: tuple[str, ...], missing: str | None) -> None:
    assert missing_flag(instruction, flags) == missing
