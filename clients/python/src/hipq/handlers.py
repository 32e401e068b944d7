"""Which function handles which job type, what is wrapped around it, and what its data must be."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Optional, TypeVar

from .errors import Permanent
from .fields import JobFields

Function = TypeVar("Function", bound=Callable[..., Any])


class Handler(NamedTuple):
    """A function, and the model that the data of its jobs must fit."""

    function: Callable[..., Any]
    schema: Any


def validator_of(schema: Any) -> Callable[[Any], Any]:
    """The function that makes a model of data: that of pydantic 2, or of pydantic 1."""
    for name in ("model_validate", "parse_obj"):
        function = getattr(schema, name, None)
        if callable(function):
            return function  # type: ignore[no-any-return]
    raise TypeError(f"schema {schema!r} has neither model_validate nor parse_obj")


def validated(schema: Any, data: Any) -> Any:
    """Data as a model. Permanent: they do not fit, which trying again does not change."""
    try:
        return validator_of(schema)(data)
    except ValueError as error:
        raise Permanent(f"invalid data: {error}") from error


class Handlers:
    """The handlers of a worker. Its subclasses say whether they are coroutines."""

    is_async = False

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}
        self._middleware: list[Callable[..., Any]] = []

    def job(self, job_type: str, schema: Any = None) -> Callable[[Function], Function]:
        """A decorator: the function handles jobs of the type; what it returns is their result.

        schema: a class with model_validate or parse_obj (pydantic 2 or 1); `job.data` is made one.
        Raises ValueError for a second handler of a type, TypeError for what is no handler.
        """
        if not isinstance(job_type, str):
            raise TypeError('a handler is registered with its job type: @worker.job("scan")')
        if schema is not None:
            validator_of(schema)

        def add(function: Function) -> Function:
            self._add(job_type, Handler(function, schema))
            return function

        return add

    def _add(self, job_type: str, handler: Handler) -> None:
        if job_type in self._handlers:
            raise ValueError(f'job type "{job_type}" has a handler already')
        self._require_kind(handler.function)
        self._handlers[job_type] = handler

    def middleware(self, function: Function) -> Function:
        """Wraps function(job, call_next) around each handler; the first added is the outermost.

        It calls call_next(job), which returns the handler's result or raises its error.
        """
        self._require_kind(function)
        self._middleware.append(function)
        return function

    def _require_kind(self, function: Callable[..., Any]) -> None:
        if inspect.iscoroutinefunction(function) == self.is_async:
            return
        if self.is_async:
            raise TypeError(f"{function!r} is no coroutine function; hipq.Worker takes such ones")
        raise TypeError(f"{function!r} is a coroutine function; hipq.aio.Worker takes such ones")

    @property
    def job_types(self) -> list[str]:
        """The types that have a handler."""
        return list(self._handlers)

    def handle(self, job: JobFields) -> Any:
        """Calls the middleware and the handler; a coroutine if they are coroutines."""
        call: Callable[[Any], Any] = partial(self._innermost, self._handlers[job.type])
        for function in reversed(self._middleware):
            call = partial(_around, function, call)
        return call(job)

    async def handle_soon(self, job: JobFields) -> Any:
        """The same as a coroutine, whatever raises first."""
        return await self.handle(job)

    def _innermost(self, handler: Handler, job: JobFields) -> Any:
        if handler.schema is not None:
            job.data = validated(handler.schema, job.data)
        return handler.function(job)


def _around(function: Callable[..., Any], call_next: Callable[..., Any], job: JobFields) -> Any:
    return function(job, call_next)
