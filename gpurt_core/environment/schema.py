"""The tables of an environment, and the marks by which its file is known."""

from __future__ import annotations

APPLICATION_ID = 0x67707274  # "gprt", in the header of the file
VERSION = 1
"""Grows with each change of the tables. A file of a later version is left alone."""

HEADER_SIZE = 100
MAGIC = b"SQLite format 3\0"
VERSION_OFFSET, APPLICATION_OFFSET = 60, 68  # https://www.sqlite.org/fileformat.html, section 1.3

TABLES = """
CREATE TABLE artifacts (
    id TEXT PRIMARY KEY,
    source TEXT,
    label TEXT NOT NULL,
    checksum BLOB NOT NULL,
    size INTEGER NOT NULL,
    used REAL NOT NULL,
    content BLOB NOT NULL
);
CREATE INDEX artifacts_by_source ON artifacts (source) WHERE source IS NOT NULL;
CREATE INDEX artifacts_by_label ON artifacts (label);
CREATE INDEX artifacts_by_use ON artifacts (used, size, id);
CREATE TABLE queue (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    payload TEXT NOT NULL,
    label TEXT NOT NULL
);
CREATE TABLE claims (
    what TEXT PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started TEXT NOT NULL,
    token TEXT NOT NULL,
    beat INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE records (
    id TEXT NOT NULL,
    label TEXT NOT NULL,
    seconds REAL NOT NULL,
    outcome TEXT NOT NULL,
    arch TEXT NOT NULL,
    compiler TEXT NOT NULL,
    log TEXT,
    at REAL NOT NULL
);
CREATE INDEX records_by_id ON records (id);
CREATE INDEX records_by_label ON records (label);
CREATE TABLE picks (
    device TEXT NOT NULL,
    tuner TEXT NOT NULL,
    key TEXT NOT NULL,
    checksum TEXT NOT NULL,
    candidate TEXT NOT NULL,
    samples TEXT NOT NULL,
    at REAL NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (device, tuner, key, checksum)
) WITHOUT ROWID;
"""
