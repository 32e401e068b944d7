"""Runs the tests in its folder, or in the named modules, and prints TAP."""

import logging
import os
import sys
import traceback
import unittest


class TapResult(unittest.TestResult):
    """One line for each test."""

    def line(self, word: str, test: unittest.TestCase, more: str = "") -> None:
        text = test.shortDescription() or test.id()
        module = type(test).__module__.replace("test_", "")
        print(f"{word} {self.testsRun} - {module}: {text}{more}", flush=True)

    def trouble(self, test: unittest.TestCase, error: object) -> None:
        self.line("not ok", test)
        for text in "".join(traceback.format_exception(*error)).splitlines():
            print(f"# {text}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.line("ok", test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.trouble(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        if isinstance(test, unittest.TestCase):
            self.trouble(test, error)
        else:
            print(f"not ok - {test}")
            print("# " + "".join(traceback.format_exception(*error)).replace("\n", "\n# "))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line("ok", test, f" # SKIP {reason}")


def main() -> int:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    logging.getLogger("hipq").setLevel(logging.ERROR)  # the tests cause failures
    loader = unittest.TestLoader()
    names = sys.argv[1:]
    tests = loader.loadTestsFromNames(names) if names else loader.discover(here)
    result = TapResult()
    tests.run(result)
    print(f"1..{result.testsRun}")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
