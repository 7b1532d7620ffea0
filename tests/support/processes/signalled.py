"""Waits for a signal as a worker does, and gets one at each step of the waiting in turn."""

import sys

from leasehold.processes import Stop, stop_on_signals

STEPS = range(2, 40)  # once around and on


class SignalAtStep:
    """Signals a waiting thread at its `step`-th step, from within, as a real signal does."""

    def __init__(self, signals: Stop, step: int) -> None:
        self._signals = signals
        self._left = step
        self.has_signalled = False

    def trace(self, frame, event, _):
        frame.f_trace_opcodes = True
        if event == "opcode" and not self.has_signalled:
            self._left -= 1
            if self._left == 0:
                self.has_signalled = True
                self._signals(15, None)
        return self.trace


def main() -> None:
    signalled = 0
    for step in STEPS:
        with stop_on_signals() as signals:
            signaller = SignalAtStep(signals, step)
            sys.settrace(signaller.trace)
            try:
                signals.wait(every=0.005)
            finally:
                sys.settrace(None)
        signalled += signaller.has_signalled
    sys.stdout.write(f"signalled {signalled} times\n")


if __name__ == "__main__":
    main()
