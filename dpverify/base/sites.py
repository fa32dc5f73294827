"""Places in source files: how a line is named, and which files are installed and nobody's own."""

import sysconfig

Site = tuple[str, int]  # file and line
INSTALLED = tuple({sysconfig.get_path(name) + "/" for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def site_text(site: Site) -> str:
    """`file:line` with the last two parts of the path, or nothing."""
    file, line = site
    return f"{'/'.join(file.split('/')[-2:])}:{line}" if file else ""
