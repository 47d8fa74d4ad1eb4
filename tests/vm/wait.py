# SPDX-License-Identifier: LGPL-2.1-or-later
"""Waiting for events that nobody announces: a look at short intervals and a
deadline.  The only place with a sleep."""
import time

INTERVAL_S = 0.02


def until(condition, seconds, otherwise='it never came', interval=INTERVAL_S):
    """Wait until condition() is true and return what it returned."""
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            reason = otherwise() if callable(otherwise) else otherwise
            raise AssertionError(f'{reason} (waited {seconds} s)')
        time.sleep(interval)
