"""Counting the tunes of `cupyx.optimizing.optimize()`: one for each key that it has no values for.

In a compile-only pass nothing can be measured: the key registers as gathered, its launch with the
usual values queues its kernel, and these values are used. Where the process drops launches and
measures, the trials run.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from gpurt_core.adapters.cupy.early import forget, when_imported
from gpurt_core.execution import (
    ProcessMode,
    ServiceStream,
    StreamMode,
    StreamModeOverride,
    TuneOutcome,
    TuneRegistration,
)

_MODULE = "cupyx.optimizing._optimize"


class OptimizingSeam:
    """Stands in front of CuPy's optimizer."""

    def __init__(self) -> None:
        self._module: ModuleType | None = None
        self._original: Callable[..., Any] | None = None
        self._gathered: list[TuneRegistration] = []

    def install(self) -> None:
        """Now, or once CuPy's optimizer is imported."""
        when_imported(_MODULE, self._install)

    def uninstall(self) -> None:
        """Takes it away; what was gathered and not measured is abandoned."""
        forget(_MODULE, self._install)
        if self._module is not None:
            self._module.__dict__["_optimize"] = self._original
            self._module = None
        self.abandon_gathered()

    def begin_generation(self) -> None:
        """CuPy forgets the values it has found, so that each key counts again."""
        if self._module is not None:
            from cupy._core import _optimize_config

            if _optimize_config.get_current_context() is None:
                _optimize_config._clear_all_contexts_cache()

    def abandon_gathered(self) -> None:
        """Abandons the keys that were gathered."""
        gathered, self._gathered = self._gathered, []
        for registration in gathered:
            registration.abandon()

    def _install(self, module: ModuleType) -> None:
        self._module, self._original = module, module._optimize
        module.__dict__["_optimize"] = self._optimize

    def _optimize(
        self,
        config: Any,
        target: Callable[..., Any],
        suggest: Callable[[Any], Any],
        default_best: dict[str, Any],
        ignore_error: Any = (),
    ) -> Any:
        """In the place of CuPy's function of this name."""
        assert self._original is not None
        registration = TuneRegistration.register()
        try:
            if ProcessMode.current() is ProcessMode.COMPILE_ONLY:
                return self._gather(registration, target, suggest, default_best)
            with StreamModeOverride(StreamMode.EXECUTE, _current_stream()):
                best = self._original(config, target, suggest, default_best, ignore_error)
            if registration is not None:
                registration.settle(TuneOutcome.MEASURED)
            return best
        finally:
            if registration is not None and registration not in self._gathered:
                registration.abandon()  # unless it has settled

    def _gather(
        self,
        registration: TuneRegistration | None,
        target: Callable[..., Any],
        suggest: Callable[[Any], Any],
        default_best: dict[str, Any],
    ) -> Any:
        from optuna.trial import FixedTrial

        trial = FixedTrial(default_best)
        target(*suggest(trial))
        if registration is not None:
            self._gathered.append(registration)
        return trial


def _current_stream() -> ServiceStream:
    from cupy.cuda import get_current_stream, runtime

    return ServiceStream(f"cuda:{runtime.getDevice()}", get_current_stream().ptr)
