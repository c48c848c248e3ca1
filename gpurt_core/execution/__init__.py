"""Modes, overrides and counting: what a launch does, and to whom it counts."""

from gpurt_core.errors import OverrideConflict
from gpurt_core.execution.host import host_memory
from gpurt_core.execution.issued import IssuedRecorder
from gpurt_core.execution.modes import LaunchMode, ProcessMode, ServiceStream, StreamMode
from gpurt_core.execution.overrides import ProcessModeOverride, StreamModeOverride
from gpurt_core.execution.reads import ReadLimitExceeded, ReadMonitor, ReadTooLarge
from gpurt_core.execution.registrations import (
    KernelHandling,
    KernelOutcome,
    KernelRegistration,
    Settled,
    TuneOutcome,
    TunePick,
    TuneRegistration,
)
from gpurt_core.execution.statistics import (
    AutotuneStatistics,
    CompilationStatistics,
    ExecutionStatistics,
    StatisticsCollector,
    StatisticsReader,
)
from gpurt_core.execution.threads import RecorderCarrying, carry_recorders

__all__ = [
    "AutotuneStatistics",
    "CompilationStatistics",
    "ExecutionStatistics",
    "IssuedRecorder",
    "KernelHandling",
    "KernelOutcome",
    "KernelRegistration",
    "LaunchMode",
    "OverrideConflict",
    "ProcessMode",
    "ProcessModeOverride",
    "ReadLimitExceeded",
    "ReadMonitor",
    "ReadTooLarge",
    "RecorderCarrying",
    "ServiceStream",
    "Settled",
    "StatisticsCollector",
    "StatisticsReader",
    "StreamMode",
    "StreamModeOverride",
    "TuneOutcome",
    "TunePick",
    "TuneRegistration",
    "carry_recorders",
    "host_memory",
]
