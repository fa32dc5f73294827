"""`python -m dpverify`: the command line. The current folder, which Python puts first, is searched later."""

import os
import sys

from dpverify.base import search_path


def start() -> None:
    """The command line; one clear line and exit code 3 where it cannot be loaded."""
    here = [folder for folder in sys.path if folder in ("", os.getcwd())]
    sys.path[:] = search_path.here_later(sys.path)
    from dpverify.base import early  # from here on: what it needs is not the project's

    early.arm()
    problem = ""
    try:
        for file in search_path.hiding(here):
            problem = f"{file} hides the installed package of this name: rename it, or run dpverify from another folder"
        if not problem:
            from dpverify.cli.main import main
    except Exception as error:  # a broken installation: not Python's own exit code, which means a refuted claim
        problem = f"cannot be loaded ({type(error).__name__}: {' '.join(str(error).split())})"
    if problem:
        print(f"dpverify: {problem}", file=sys.stderr)
        sys.exit(3)
    main()


if __name__ == "__main__":
    start()
