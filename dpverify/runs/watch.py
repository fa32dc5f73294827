"""What a process looks at: an audit hook that writes down files, folders, variables and names of modules.

`Watch.start` comes before foreign code is imported, and cannot be undone. What is written down is what was seen
*first*, before the process could change it: so a result is a function of these facts, also where the process
writes files or sets variables itself. What a hook cannot follow (a child process, a connection, a library with
input and output of its own) is written down as a doubt, and a result in doubt is never kept.
"""

import sys
from collections.abc import Callable
from typing import Any

from dpverify.runs import callers, unheard
from dpverify.runs.doors import LEAVES
from dpverify.runs.files import Files
from dpverify.runs.places import absolute
from dpverify.runs.seen import HERE as HERE
from dpverify.runs.variables import Variables

COUNTS_PROCESSORS = {("subprocess.Popen", "joblib"), ("os.fork", "dpverify"), ("ctypes.dlopen", "dpverify")}
TOUCHES = (
    "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.chown", "os.utime", "os.setxattr",
    "os.removexattr",
)  # fmt: skip
callers.LISTENING.update({__file__, unheard.__file__})


class Watch(Files, Variables):
    """The audit hook of one process."""

    def start(self) -> None:
        """Begins to watch."""
        if not self._active:
            self._active = True
            unheard.tell(self)
            sys.addaudithook(self._hear)

    def _hear(self, event: str, given: tuple[Any, ...]) -> None:
        handler = _HANDLERS.get(event)
        if handler is None or getattr(self._busy, "here", False):
            return
        self._busy.here = True
        try:
            handler(self, event, given)
        except Exception as error:  # a hook that raises would change what the program does
            self.doubt(f"{event} could not be followed ({type(error).__name__})")
        finally:
            self._busy.here = False

    def sought(self, name: str, path: Any) -> None:
        """A module was looked for: by an import, or by whoever asks whether there is one."""
        self.asked.add(name)
        if "." not in name:  # of others the parent knows where
            self.paths.update(dict.fromkeys(each for each in path or () if isinstance(each, str)))

    def _imported(self, event: str, given: tuple[Any, ...]) -> None:
        name, file, path = given[:3]
        self.asked.add(name)
        if isinstance(path, list):
            self.paths.update(dict.fromkeys(each for each in path if isinstance(each, str)))
        if isinstance(file, str):
            self.loaded(absolute(file))

    def _left(self, event: str, given: tuple[Any, ...]) -> None:
        which = LEAVES[event]
        about = "" if which is None or which >= len(given) else f" {given[which]!r:.80}"
        if event == "sqlite3.connect" and given[0] == ":memory:":
            return
        asker = self.asker()
        installed = event == "ctypes.dlopen" and asker != "the project"  # the library's file is digested
        if not installed and (event, asker) not in COUNTS_PROCESSORS:
            self.doubt(f"{event}{about}, by {asker}")


_HANDLERS: dict[str, Callable[[Watch, str, tuple[Any, ...]], None]] = {
    "open": Watch._opened,
    "import": Watch._imported,
    "os.listdir": Watch._listed,
    "os.scandir": Watch._listed,
    "os.rename": Watch._moved,
    "os.link": Watch._linked,
    "os.symlink": Watch._linked,
    "os.getxattr": Watch._attributes,
    "os.listxattr": Watch._attributes,
    **dict.fromkeys(TOUCHES, Watch._touched),
    **dict.fromkeys(LEAVES, Watch._left),
}
