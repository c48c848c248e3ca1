"""Reading a cubin: an ELF file for a GPU."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import Any

from gpurt_core.adapters.cupy.null_device.images import DamagedImage, Image, Kernel, Variable

# Attributes in .nv.info sections, as `cuobjdump -elf` and `readelf` of public tools name them.
_REGISTERS = 0x2F  # EIATTR_REGCOUNT: (symbol index, registers of one thread)
_FRAME = 0x11  # EIATTR_FRAME_SIZE: (symbol index, bytes of one thread)
_MAX_THREADS = 0x05  # EIATTR_MAX_THREADS: three dimensions, from __launch_bounds__
_REQUIRED_THREADS = 0x10  # EIATTR_REQNTID: the same, from __block_size__
_SIZED = 4  # EIFMT_SVAL: the attribute's bytes follow its header
_INLINE_FORMATS = (1, 2, 3)  # EIFMT_NVAL, BVAL, HVAL: the value is in the header

_RESERVED_SHARED = 1024
"""From sm_90 on a cubin declares that much more shared memory than the source: the system's."""

_CUT_BY_CUPY = 1
"""CuPy takes the last byte of what NVRTC returns for the end of a text, and drops it: a zero, the
last of the last program header."""

_VARIABLE_SECTIONS = (".nv.global", ".nv.global.init", ".nv.constant3")
_USER_CONSTANTS = ".nv.constant3"


_DAMAGES = (AttributeError, LookupError, OverflowError, struct.error, TypeError, ValueError)
"""What reading figures in a damaged file may come to."""


def read_cubin(content: bytes) -> Image:
    """Names and figures of a cubin; raises `DamagedImage` for what is not a whole one."""
    from elftools.common.exceptions import ELFError
    from elftools.construct import ConstructError
    from elftools.elf.elffile import ELFFile

    damages = (ELFError, ConstructError, *_DAMAGES)
    try:
        elf = ELFFile(io.BytesIO(content))
        _require_whole(elf, content)
        symbols = list(elf.get_section_by_name(".symtab").iter_symbols())
        sections = list(elf.iter_sections())
        return Image(
            architecture=_architecture(elf),
            is_ptx=False,
            kernels=_kernels(sections, symbols),
            variables=_variables(sections, symbols),
        )
    except damages as e:
        raise DamagedImage(f"a damaged cubin: {e}") from e


def _require_whole(elf: Any, content: bytes) -> None:
    end = elf["e_shoff"] + elf["e_shnum"] * elf["e_shentsize"]
    end = max(end, elf["e_phoff"] + elf["e_phnum"] * elf["e_phentsize"])
    for section in elf.iter_sections():
        if section["sh_type"] != "SHT_NOBITS":
            end = max(end, section["sh_offset"] + section["sh_size"])
    if end > len(content) + _CUT_BY_CUPY or elf["e_machine"] != "EM_CUDA":
        raise DamagedImage("cut short, or not for a GPU")


def _architecture(elf: Any) -> int:
    """The version of the format tells in which byte of the flags it is."""
    shift = 8 if elf["e_ident"]["EI_ABIVERSION"] >= 8 else 0
    return int(elf["e_flags"] >> shift & 0xFF)


def _kernels(sections: list[Any], symbols: list[Any]) -> dict[str, Kernel]:
    by_name = {section.name: section for section in sections}
    figures = _figures_per_symbol(by_name.get(".nv.info"))
    constants = by_name.get(_USER_CONSTANTS)
    reserved = any(symbol.name.startswith(".nv.reservedSmem") for symbol in symbols)
    kernels = {}
    for index, symbol in enumerate(symbols):
        name = symbol.name
        if symbol["st_info"]["type"] != "STT_FUNC" or f".nv.info.{name}" not in by_name:
            continue  # a device function
        shared = by_name.get(f".nv.shared.{name}")
        shared_size = shared["sh_size"] if shared is not None else 0
        kernels[name] = Kernel(
            name=name,
            registers=figures.get((_REGISTERS, index), 0),
            local_size=figures.get((_FRAME, index), 0),
            shared_size=max(0, shared_size - (_RESERVED_SHARED if reserved else 0)),
            constant_size=constants["sh_size"] if constants is not None else 0,
            max_threads=_max_threads(by_name[f".nv.info.{name}"]),
        )
    return kernels


def _figures_per_symbol(section: Any) -> dict[tuple[int, int], int]:
    """(attribute, symbol index) to its value."""
    figures = {}
    for attribute, value in _attributes(section):
        if attribute in (_REGISTERS, _FRAME):
            index, figure = struct.unpack_from("<II", value)
            figures[attribute, index] = figure
    return figures


def _max_threads(section: Any) -> int:
    limit = 1024
    for attribute, value in _attributes(section):
        if attribute in (_MAX_THREADS, _REQUIRED_THREADS):
            x, y, z = struct.unpack_from("<III", value)
            limit = min(limit, x * y * z)
    return limit


def _attributes(section: Any) -> Iterator[tuple[int, bytes]]:
    content = section.data() if section is not None else b""
    position = 0
    while position < len(content):
        form, attribute, size = struct.unpack_from("<BBH", content, position)
        position += 4
        if form == _SIZED:
            yield attribute, content[position : position + size]
            position += size
        elif form not in _INLINE_FORMATS:
            return  # a later format: what was read so far stands


def _variables(sections: list[Any], symbols: list[Any]) -> dict[str, Variable]:
    variables = {}
    for symbol in symbols:
        index = symbol["st_shndx"]
        if symbol["st_info"]["type"] != "STT_OBJECT" or not isinstance(index, int):
            continue
        section = sections[index]
        if section.name in _VARIABLE_SECTIONS:
            variables[symbol.name] = Variable(symbol["st_size"], _initial(section, symbol))
    return variables


def _initial(section: Any, symbol: Any) -> bytes:
    if section["sh_type"] == "SHT_NOBITS":
        return b""
    start = symbol["st_value"]
    content: bytes = section.data()[start : start + symbol["st_size"]]
    return content
