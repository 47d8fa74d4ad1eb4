# SPDX-License-Identifier: LGPL-2.1-or-later
"""TAP for the tests that need a virtual machine.

A case is a function whose docstring is its sentence.  It fails by raising,
it is skipped by raising Skip.  IOH_NO_SKIP=1 makes a skip a failure.

Invariant: whatever a case does, its line is printed, and the script ends
within TEST_TIMEOUT seconds."""
import os
import re
import signal
import sys
import time
import traceback

TIMEOUT_S = 480
_cases = []


class Skip(Exception):
    """This case cannot be tried here; says why."""


def case(function):
    _cases.append(function)
    return function


def diag(text):
    for line in str(text).splitlines():
        print('#', line, flush=True)


def equal(what, found, wanted):
    if found != wanted:
        raise AssertionError(f'{what} is {found!r}, not {wanted!r}')


def true(what, condition):
    if not condition:
        raise AssertionError(what)


def _no_skips():
    return os.environ.get('IOH_NO_SKIP') == '1'


def skip_all(reason):
    """Nothing can be tried here."""
    if _no_skips():
        print(f'1..1\nnot ok 1 - the test can run here\n# {reason}')
        sys.exit(1)
    print(f'1..0 # SKIP {reason}')
    sys.exit(0)


def _expired(_signal, _frame):
    sys.stdout.write('\nBail out! not done within its time\n')
    sys.stdout.flush()
    traceback.print_stack(file=sys.stderr)
    os._exit(1)


def _one(number, function, after, failed):
    sentence = ' '.join(function.__doc__.split())
    begin = time.monotonic()
    result, note, text = 'ok', '', ''
    try:
        function()
        after()
    except Skip as e:
        result = 'not ok' if _no_skips() else 'ok'
        note = f' # SKIP {e}' if result == 'ok' else ''
        text = f'skipped: {e}' if result != 'ok' else ''
    except AssertionError as e:
        result, text = 'not ok', e
        where = traceback.extract_tb(e.__traceback__)
        text = f'{e}\n(line {where[1 if len(where) > 1 else 0].lineno})'
    except Exception:           # a fault of the test is a failure too
        result, text = 'not ok', traceback.format_exc()
    print(f'{result} {number} - {sentence}{note}', flush=True)
    diag(text)
    diag(f'{time.monotonic() - begin:.1f} s')
    if result != 'ok':
        failed()
    return result == 'ok'


def run(after=lambda: None, failed=lambda: None):
    """Run all cases, or those whose name every argument matches.  after()
    has to hold after each good one, failed() clears up after the others."""
    signal.signal(signal.SIGALRM, _expired)
    signal.alarm(int(os.environ.get('TEST_TIMEOUT', TIMEOUT_S)))
    chosen = [c for c in _cases
              if all(re.search(a, c.__name__) for a in sys.argv[1:])]
    print(f'1..{len(chosen)}', flush=True)
    good = [_one(n, c, after, failed) for n, c in enumerate(chosen, 1)]
    return 0 if all(good) else 1
