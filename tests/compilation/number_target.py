"""A target that compiles a number to text, and faults where a test asks for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gpurt_core.compilation import CompilationError, Found, KernelEvent, KernelLoader, LoadRefused
from gpurt_core.execution import CompilationStatistics, IssuedRecorder, StatisticsCollector

Loader = KernelLoader[int, int, str, str]


@dataclass
class NumberCompiler:
    """Lowers a number to a number, and finalizes that to text."""

    lowered: list[int] = field(default_factory=list)
    finalized: list[int] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)
    source_of: Callable[[int], str | None] = lambda number: None
    on_lower: Callable[[int], object] = lambda number: None
    on_finalize: Callable[[int], object] = lambda number: None
    failing: set[int] = field(default_factory=set)
    failing_to_finalize: set[int] = field(default_factory=set)
    found: set[int] = field(default_factory=set)
    seconds: float = 0.0
    at_once: int = 0
    most_at_once: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lower(self, id: int, kernel: int) -> int | Found[str]:
        self._count(1)
        try:
            self.lowered.append(kernel)
            time.sleep(self.seconds)
            self.on_lower(kernel)
            if id in self.failing:
                raise CompilationError(f"kernel {id} failed", kernel=str(id), log="the log")
            return Found(f"found {id}") if id in self.found else kernel
        finally:
            self._count(-1)

    def source(self, lowered: int) -> str | None:
        return self.source_of(lowered)

    def finalize(self, id: int, lowered: int) -> str:
        self._count(1)
        try:
            self.finalized.append(id)
            time.sleep(self.seconds)
            self.on_finalize(id)
            if id in self.failing_to_finalize:
                raise CompilationError(f"kernel {id} was not finalized", kernel=str(id))
            return f"artifact {id}"
        finally:
            self._count(-1)

    def _count(self, step: int) -> None:
        with self._lock:
            self.threads.add(threading.get_ident())
            self.at_once += step
            self.most_at_once = max(self.most_at_once, self.at_once)


@dataclass
class NumberTarget:
    """Loads text on a device that is a list, and keeps it in a dictionary."""

    compiler: NumberCompiler = field(default_factory=NumberCompiler)
    persists: bool = True
    kept: dict[int, str] = field(default_factory=dict)
    by_source: dict[str, str] = field(default_factory=dict)
    refusing: set[int] = field(default_factory=set)
    on_stored: Callable[[int], object] = lambda id: None
    on_load: Callable[[int], object] = lambda id: None
    on_store: Callable[[int], object] = lambda id: None
    loads: list[int] = field(default_factory=list)
    stores: list[int] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)

    def stored(self, id: int) -> str | None:
        self.threads.add(threading.get_ident())
        self.on_stored(id)
        return self.kept.get(id)

    def stored_for_source(self, source: str) -> str | None:
        self.threads.add(threading.get_ident())
        return self.by_source.get(source)

    def store(self, id: int, artifact: str, source: str | None) -> bool:
        self.threads.add(threading.get_ident())
        self.stores.append(id)
        self.on_store(id)
        self.kept[id] = artifact
        if source is not None:
            self.by_source[source] = artifact
        return True

    def load(self, id: int, artifact: str) -> str:
        self.threads.add(threading.get_ident())
        self.loads.append(id)
        self.on_load(id)
        if id in self.refusing:
            raise LoadRefused(f"kernel {id} refused", kernel=str(id))
        return f"loaded {artifact}"


@dataclass
class Bench:
    """A loader, the target under it, and everything that was counted and told."""

    target: NumberTarget = field(default_factory=NumberTarget)
    parallelism: int = 4
    collector: StatisticsCollector = field(default_factory=StatisticsCollector)
    events: list[KernelEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.loader: Loader = KernelLoader(
            self.target, parallelism=self.parallelism, on_settled=self.events.append
        )

    @property
    def compiler(self) -> NumberCompiler:
        return self.target.compiler

    @property
    def counted(self) -> CompilationStatistics:
        return self.collector.statistics().compilation

    def queue(self, *numbers: int, collector: StatisticsCollector | None = None) -> None:
        with IssuedRecorder(collector or self.collector).applied():
            for number in numbers:
                self.loader.enqueue(number, number)

    def load(self, number: int, collector: StatisticsCollector | None = None) -> str:
        with IssuedRecorder(collector or self.collector).applied():
            return self.loader.load(number, number)
