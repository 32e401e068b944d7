"""The handlers of a worker: by job type, with middleware and with checked data."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Optional, TypeVar

from .errors import Permanent
from .fields import JobFields

Function = TypeVar("Function", bound=Callable[..., Any])
AnyJob = TypeVar("AnyJob", bound=JobFields)


class Handler(NamedTuple):
    """A function, and the model that the data of its jobs must fit.

    size: the maximum number of jobs in a call; None: the function takes one job, not a list.
    """

    function: Callable[..., Any]
    schema: Any
    size: Optional[int] = None


def validator_of(schema: Any) -> Callable[[Any], Any]:
    """Returns the function of pydantic 2, or of pydantic 1, that makes a model from data."""
    for name in ("model_validate", "parse_obj"):
        function = getattr(schema, name, None)
        if callable(function):
            return function  # type: ignore[no-any-return]
    raise TypeError(f"schema {schema!r} has neither model_validate nor parse_obj")


def validated(schema: Any, data: Any) -> Any:
    """Returns the data as a model. Raises Permanent for invalid data: a retry cannot help."""
    try:
        return validator_of(schema)(data)
    except ValueError as error:
        raise Permanent(f"invalid data: {error}") from error


class Handlers:
    """The handlers of a worker. The subclasses define whether handlers are coroutines."""

    is_async = False

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}
        self._middleware: list[Callable[..., Any]] = []

    def job(self, job_type: str, schema: Any = None) -> Callable[[Function], Function]:
        """A decorator: the function handles jobs of the type; its return value is the result.

        schema: a class with model_validate or parse_obj (pydantic 2 or 1), the type of `job.data`.
        Raises ValueError for a second handler of a type, TypeError for an invalid handler.
        """
        if not isinstance(job_type, str):
            raise TypeError('a handler is registered with its job type: @worker.job("scan")')
        if schema is not None:
            validator_of(schema)

        def add(function: Function) -> Function:
            self._add(job_type, Handler(function, schema))
            return function

        return add

    def batch(
        self, job_type: str, size: int = 100, schema: Any = None
    ) -> Callable[[Function], Function]:
        """A decorator: the function handles a list of at most `size` jobs of the type.

        The function returns their results in the same order, or None. An exception in place of a
        result applies only to that job, a raised exception to all of them. Middleware does not wrap
        the function. schema and errors are those of job(); a size below 1 is a ValueError, too.
        """
        if size < 1:
            raise ValueError("the size of a batch is at least 1")
        if schema is not None:
            validator_of(schema)

        def add(function: Function) -> Function:
            self._add(job_type, Handler(function, schema, size))
            return function

        return add

    def groups_of(self, jobs: Sequence[AnyJob]) -> list[list[AnyJob]]:
        """Groups the jobs by calls of handlers: a job alone, or several jobs of a type."""
        groups: list[list[AnyJob]] = []
        begun: dict[str, list[AnyJob]] = {}
        for job in jobs:
            size = self._handlers[job.type].size or 1
            if len(begun.get(job.type, ())) in (0, size):
                begun[job.type] = []
                groups.append(begun[job.type])
            begun[job.type].append(job)
        return groups

    def takes_many(self, job_type: str) -> bool:
        """Whether the handler of a type takes batches."""
        return self._handlers[job_type].size is not None

    def _add(self, job_type: str, handler: Handler) -> None:
        if job_type in self._handlers:
            raise ValueError(f'job type "{job_type}" has a handler already')
        self._require_kind(handler.function)
        self._handlers[job_type] = handler

    def middleware(self, function: Function) -> Function:
        """Wraps function(job, call_next) around each handler; the first function is the outermost.

        The function calls call_next(job), which returns the handler's result or raises its error.
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
        """The job types that have a handler."""
        return list(self._handlers)

    def handle(self, job: JobFields) -> Any:
        """Calls the middleware and the handler. Returns a coroutine if they are coroutines."""
        call: Callable[[Any], Any] = partial(self._innermost, self._handlers[job.type])
        for function in reversed(self._middleware):
            call = partial(_around, function, call)
        return call(job)

    async def handle_soon(self, job: JobFields) -> Any:
        """Like handle(), but always a coroutine, even if a function raises at once."""
        return await self.handle(job)

    def handle_many(self, jobs: Sequence[JobFields]) -> list[Any]:
        """Returns for each job of a batch, in this order, its result or its exception."""
        batch = Batch(self._handlers[jobs[0].type], jobs)
        return batch.endings(batch.handler.function(batch.valid) if batch.valid else None)

    async def handle_many_soon(self, jobs: Sequence[JobFields]) -> list[Any]:
        """Like handle_many(), for coroutines."""
        batch = Batch(self._handlers[jobs[0].type], jobs)
        return batch.endings(await batch.handler.function(batch.valid) if batch.valid else None)

    def _innermost(self, handler: Handler, job: JobFields) -> Any:
        if handler.size is not None:
            return self._alone(job)
        if handler.schema is not None:
            job.data = validated(handler.schema, job.data)
        return handler.function(job)

    def _alone(self, job: JobFields) -> Any:
        """Runs a batch of one job, for tests of handlers."""
        if self.is_async:
            return self._alone_soon(job)
        return result_of(self.handle_many([job])[0])

    async def _alone_soon(self, job: JobFields) -> Any:
        return result_of((await self.handle_many_soon([job]))[0])


class Batch:
    """Jobs for a handler of many jobs. Some of them may have invalid data."""

    def __init__(self, handler: Handler, jobs: Sequence[JobFields]) -> None:
        self.handler = handler
        self.valid: list[JobFields] = []
        self._jobs = jobs
        self._refused: dict[JobFields, Permanent] = {}
        for job in jobs:
            self._sort(job)

    def _sort(self, job: JobFields) -> None:
        try:
            if self.handler.schema is not None:
                job.data = validated(self.handler.schema, job.data)
            self.valid.append(job)
        except Permanent as error:
            self._refused[job] = error

    def endings(self, returned: Any) -> list[Any]:
        """Returns for each job its result or exception, from the return value of the handler."""
        results = [None] * len(self.valid) if returned is None else list(returned)
        if len(results) != len(self.valid):
            raise ValueError(
                f"the handler returned {len(results)} results for {len(self.valid)} jobs"
            )
        ended: dict[JobFields, Any] = dict(zip(self.valid, results))
        return [self._refused.get(job, ended.get(job)) for job in self._jobs]


def result_of(ending: Any) -> Any:
    """Returns the result, or raises the exception in its place."""
    if isinstance(ending, BaseException):
        raise ending
    return ending


def _around(function: Callable[..., Any], call_next: Callable[..., Any], job: JobFields) -> Any:
    return function(job, call_next)
