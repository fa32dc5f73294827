"""Variables that a process asks for: their values before foreign code set any."""

import os
from typing import Any

from dpverify.runs import callers
from dpverify.runs.facts import World
from dpverify.runs.seen import Seen, TRUSTED

callers.LISTENING.add(__file__)


class Variables(Seen):
    """Hears of variables."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables as they were before foreign code set any."""
        own: Any = os.environ
        plain = dict.items(own._data)  # not by the methods that tell
        now = {os.fsdecode(name): os.fsdecode(value) for name, value in plain}
        now.update({name: value for name, value in self._before.items() if value is not None})
        return {name: value for name, value in now.items() if self._before.get(name, value) is not None}

    def variable(self, name: object) -> None:
        """One variable was asked for."""
        name = os.fsdecode(name) if isinstance(name, bytes) else name
        if isinstance(name, str) and ("env", name) not in self.firsts and not self._is_ours():
            self.declared(name)

    def declared(self, name: str) -> None:
        """One variable matters."""
        self.firsts.setdefault(("env", name), World(self.environment).see("env", name))

    def set(self, name: object) -> None:
        """One variable is about to change."""
        name = os.fsdecode(name) if isinstance(name, bytes) else name
        if isinstance(name, str) and name not in self._before and not self._is_ours():
            self._before[name] = self.environment.get(name)

    def all_variables(self) -> None:
        """The environment was gone through."""
        if ("envs", "") not in self.firsts and not self._is_ours() and self.asker() not in TRUSTED:
            self.firsts["envs", ""] = World(self.environment).see("envs", "")

    def _is_ours(self) -> bool:
        return getattr(self._busy, "here", False) or self.asker() == "dpverify"
