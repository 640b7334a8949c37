"""Minidumps -> Crash: those of Windows, and those that Breakpad and Crashpad write elsewhere."""
