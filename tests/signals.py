"""For children that tests send signals to."""

import signal


def heed_signals():
    """A `preexec_fn`: signals as in a new process, also where whoever runs the tests ignores them (nohup)."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
