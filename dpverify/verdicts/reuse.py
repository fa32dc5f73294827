"""Kept results: an outcome that was as expected is used again where everything that it depended on still holds.

An entry is found by what was asked: the file and the name of a subject, seed, trials, its share of the
significance, all other settings, and dpverify by the bytes of its files. It counts only if
    its seal is ours: an HMAC under a key that lies outside of every repository (`secret`),
    its provenance holds: see `runs.provenance`,
    its verdict follows from its own numbers, and is as expected: see `rejudge`.
Everything else is run. A seal keeps out entries that were made or changed by somebody without the key: in a
repository, in a cache of another machine, in an artefact of CI. It does not keep out whoever runs code with this
user's rights: that code could change dpverify as well.
"""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from dpverify.base.errors import UsageError
from dpverify.evidence.promises import PromiseCheck
from dpverify.runs import provenance
from dpverify.runs.facts import sha256, World
from dpverify.verdicts.manifest import Entry, Manifest
from dpverify.verdicts.plain import from_plain, to_plain
from dpverify.verdicts.settings import Settings
from dpverify.verdicts.suite_result import Failure, Outcome

VARIABLE = "DPVERIFY_CACHE_KEY"
FOLDER = provenance.FOLDER / "kept"
VERSION = "kept/1"
Key = tuple[str, str]


class Kept:
    """The kept outcomes of what one run asks for."""

    def __init__(self, agenda: Manifest, settings: Settings, secret: bytes, world: World) -> None:
        self._agenda, self._secret, self._world = agenda, secret, world
        asked = {name: value for name, value in asdict(settings).items() if name not in ("jobs", "backend")}
        self._run = [VERSION, asked, settings.significance / agenda.statements, provenance.ours()]
        self.reasons: dict[Key, str] = {}  # why an outcome is not reused

    def known(self) -> dict[Key, Outcome]:
        """(kind, name) -> outcome, marked as reused, for everything that still holds."""
        found: dict[Key, Outcome] = {}
        for entry in self._agenda.entries:
            outcome = self._read(entry)
            if isinstance(outcome, str):
                self.reasons[entry.key] = outcome
            else:
                found[entry.key] = outcome
        return found

    def keep(self, outcomes: Mapping[Key, Outcome], origins: Mapping[Key, Mapping[str, Any]]) -> int:
        """Stores what is as expected and has a provenance without doubts; how many these are."""
        from dpverify.verdicts.rejudge import problem  # here: its tests take a second to load

        kept = 0
        for entry in self._agenda.entries:
            outcome, origin = outcomes.get(entry.key), origins.get(entry.key)
            if outcome is None or origin is None or origin["doubts"] or problem(outcome):
                continue
            body = {"key": self._key(entry), "outcome": to_plain(outcome), "provenance": dict(origin)}
            file = self._file(entry)
            file.parent.mkdir(parents=True, exist_ok=True)
            half = file.with_suffix(f".{os.getpid()}")
            half.write_text(json.dumps({**body, "seal": self._seal(body)}), encoding="utf-8")
            half.replace(file)  # whole or not at all, also with two runs at once
            kept += 1
        provenance.prune()
        return kept

    def _key(self, entry: Entry) -> list[Any]:
        asked = [entry.kind, entry.source, entry.local, entry.name, entry.claim, entry.trials, entry.pairs]
        return [*self._run, *asked, entry.expected, entry.planted]

    def _file(self, entry: Entry) -> Path:
        return FOLDER / f"{sha256(json.dumps(self._key(entry)).encode())}.json"

    def _seal(self, body: Mapping[str, Any]) -> str:
        text = json.dumps({name: body[name] for name in ("key", "outcome", "provenance")}, sort_keys=True)
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()

    def _read(self, entry: Entry) -> Outcome | str:
        """The outcome, or why it has to be made."""
        try:
            kept = json.loads(self._file(entry).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return "nothing is kept"
        except (OSError, ValueError):
            return "what is kept cannot be read"
        try:
            if not hmac.compare_digest(str(kept["seal"]), self._seal(kept)):
                return "it was kept under another key"
            if kept["key"] != json.loads(json.dumps(self._key(entry))):
                return "it is about something else"
            changed = provenance.changed(kept["provenance"], self._world)
            if changed:
                return f"changed: {changed}"
            outcome = from_plain(kept["outcome"])
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            return "what is kept cannot be read"
        named = outcome.name if isinstance(outcome, PromiseCheck) else outcome.subject
        from dpverify.verdicts.rejudge import problem

        wrong = problem(outcome) or ("" if named == entry.name else "it is about something else")
        if wrong or isinstance(outcome, Failure):
            return wrong
        return replace(outcome, reused=True)


def secret(given: str = "") -> bytes:
    """The key of the seals: `given` (DPVERIFY_CACHE_KEY), else a file of this user that is made when it is missing."""
    if given:
        if len(given) < 32:
            raise UsageError(f"{VARIABLE}: must have at least 32 characters, chosen at random")
        return given.encode()
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    file = Path(base).expanduser() / "dpverify" / "key"
    try:
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as fresh:
                fresh.write(secrets.token_hex(32))
        found = file.read_bytes().strip()
    except (OSError, RuntimeError) as error:
        raise UsageError(f"results cannot be kept: no key in {file} ({error}); set {VARIABLE}") from error
    if len(found) < 32:
        raise UsageError(f"{file}: must hold at least 32 characters; remove it, and a new one is made")
    return found
