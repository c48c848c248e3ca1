"""What is kept between runs: compiled kernels, picks, and the queue of what is left to compile."""

from gpurt_core.environment.claims import Claim
from gpurt_core.environment.entries import (
    CompilationRecord,
    EnvironmentHealth,
    QueuedEntry,
    QueueProgress,
    StoredPick,
)
from gpurt_core.environment.environment import Environment
from gpurt_core.errors import EnvironmentUnavailable

__all__ = [
    "Claim",
    "CompilationRecord",
    "Environment",
    "EnvironmentHealth",
    "EnvironmentUnavailable",
    "QueueProgress",
    "QueuedEntry",
    "StoredPick",
]
