import hipq
from support import Case


class Model2:
    """The parts of pydantic 2 that the library uses."""

    def __init__(self, n):
        self.n = n

    @classmethod
    def model_validate(cls, data):
        if not isinstance(data.get("n"), int):
            raise ValueError("n is no integer")
        return cls(data["n"])

    def model_dump(self, mode):
        return {"n": self.n}


class Model1:
    """The parts of pydantic 1 that the library uses."""

    def __init__(self, n):
        self.n = n

    @classmethod
    def parse_obj(cls, data):
        return cls(data["n"])


class Middleware(Case):
    types = {**Case.types, "two": "max_retries => 3, ", "one": "", "real": "max_retries => 3, "}

    def test_order(self):
        "the first middleware is the outermost; it sees results and errors"
        worker = self.worker()
        seen = []

        def named(name):
            def middleware(job, call_next):
                seen.append(f"{name} before")
                try:
                    return call_next(job) + [name]
                except ValueError as error:
                    seen.append(f"{name} {error}")
                    raise
                finally:
                    seen.append(f"{name} after")

            return middleware

        worker.middleware(named("outer"))
        worker.middleware(named("inner"))

        @worker.job("scan")
        def scan(job):
            seen.append("handler")
            if job.attempt == 1:
                raise ValueError("fails")
            return ["handler"]

        self.serve(worker)
        outcome = self.outcome(self.enqueue())
        self.assertEqual(outcome.result, ["handler", "inner", "outer"])
        both = ["outer before", "inner before", "handler"]
        fails = ["inner fails", "inner after", "outer fails", "outer after"]
        self.assertEqual(seen, [*both, *fails, *both, "inner after", "outer after"])

    def test_schema(self):
        "a schema makes data a model; invalid data fails for good"
        worker = self.worker()
        worker.job("two", schema=Model2)(lambda job: Model2(job.data.n + 1))
        worker.job("one", schema=Model1)(lambda job: job.data.n + 1)
        self.serve(worker)
        self.assertEqual(self.outcome(self.enqueue("two", Model2(1))).result, {"n": 2})
        self.assertEqual(self.outcome(self.enqueue("one", {"n": 1})).result, 2)
        job = self.enqueue("two", {"n": "x"})
        self.assertEqual(self.outcome(job)[::2], ("failed", "invalid data: n is no integer"))
        sql = "SELECT reason FROM hipq.attempts WHERE job_id = %s"
        self.assertEqual(self.sql(sql, job), "explicit_failure")

    def test_pydantic(self):
        "a schema of pydantic itself"
        try:
            import pydantic
        except ImportError:
            self.skipTest("pydantic is not installed")

        class Real(pydantic.BaseModel):
            n: int

        worker = self.worker()
        worker.job("real", schema=Real)(lambda job: Real(n=job.data.n + 1))
        self.serve(worker)
        self.assertEqual(self.outcome(self.enqueue("real", Real(n=1))).result, {"n": 2})
        outcome = self.outcome(self.enqueue("real", {"n": "x"}))
        self.assertEqual(outcome.outcome, "failed")
        self.assertIn("invalid data: ", outcome.error)
