"""What the file system under an environment can do: lock files, and serve one machine alone.

SQLite does not find out by itself: where there are no locks it waits for a file that nobody has,
and its write-ahead log, which needs memory shared by all that use it, is silently wrong where they
are on several machines.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from pathlib import Path
from typing import BinaryIO

MOUNTS = Path("/proc/self/mountinfo")
_ATTEMPTS = 3
"""How often a lock is tried: a lock service that is just starting refuses, too."""
_OF_SEVERAL_MACHINES = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cifs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs"),
        *("nfs", "nfs4", "ocfs2", "orangefs", "panfs", "pvfs2", "smb3", "smbfs", "virtiofs"),
        *("fuse.beegfs", "fuse.ceph", "fuse.gcsfuse", "fuse.glusterfs", "fuse.grpcfuse"),
        *("fuse.juicefs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
    }
)


def has_locks(folder: Path) -> bool:
    """Whether processes can lock the files of a folder."""
    for _attempt in range(_ATTEMPTS):
        if _can_lock(folder):
            return True
        time.sleep(0.05)
    return False


def _can_lock(folder: Path) -> bool:
    """Tried on another file than SQLite's, whose locks would go when this one is closed."""
    try:
        with (folder / ".gitignore").open("rb") as file:
            return _can_lock_file(file)
    except OSError:
        return True  # what is wrong here is not the locks, and the next step tells it


def _can_lock_file(file: BinaryIO) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return True


def shared_file_system(folder: Path) -> str | None:
    """The kind of the file system, if several machines may be using it at once."""
    kind = _kind(os.path.realpath(folder))
    return kind if kind in _OF_SEVERAL_MACHINES else None


def _kind(path: str) -> str | None:
    """The kind of the deepest mount above a path, of those the one mounted last."""
    deepest, found = "", None
    try:
        lines = MOUNTS.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return None
    for line in lines:
        # https://www.kernel.org/doc/html/latest/filesystems/proc.html, section 3.5
        mount, _, source = line.partition(" - ")
        point = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), mount.split()[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(deepest):
            deepest, found = point, source.split()[0]
    return found
