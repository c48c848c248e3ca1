"""Fixtures of every scope, each with a kernel to set it up and another to tear it down."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from small_library import launch  # type: ignore[import-not-found]


@pytest.fixture(scope="session")
def of_session() -> Iterator[str]:
    """Of the session."""
    launch("session_setup")
    yield "session"
    launch("session_teardown")


@pytest.fixture(scope="package")
def of_package(of_session: str) -> Iterator[str]:
    """Of the package, and uses that of the session."""
    launch("package_setup")
    yield f"package of {of_session}"
    launch("package_teardown")


@pytest.fixture(scope="module")
def of_module(of_package: str) -> Iterator[str]:
    """Of the module."""
    launch("module_setup")
    yield f"module of {of_package}"
    launch("module_teardown")


@pytest.fixture(scope="class")
def of_class(of_module: str) -> Iterator[str]:
    """Of the class."""
    launch("class_setup")
    yield f"class of {of_module}"
    launch("class_teardown")


@pytest.fixture
def of_function(of_class: str) -> Iterator[str]:
    """Of the function: both of its kernels are the test's."""
    launch("function_setup")
    yield f"function of {of_class}"
    launch("function_teardown")
