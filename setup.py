"""Builds the signature index into the wheel; everything else is in setup.cfg."""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent


class BuildWithIndex(build_py):
    """Turns signatures/*.yaml into a Python module, so that an installed triage starts without reading YAML."""

    def run(self):
        super().run()
        # An editable install reads the YAML itself, so that edits take effect at once.
        if getattr(self, "editable_mode", False):
            return
        sys.path.insert(0, str(HERE))
        from triage.knowledge.database import index_source
        from triage.knowledge.pack_files import read_pack

        source = index_source(read_pack(str(HERE / "signatures"), "triage"))
        target = Path(self.build_lib) / "triage" / "knowledge" / "built_index.py"
        target.write_text(source, encoding="utf-8")


setup(cmdclass={"build_py": BuildWithIndex})
