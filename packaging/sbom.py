#!/usr/bin/env python3
"""Makes an SBOM reproducible: no serial number, no paths of this machine.

Usage: packaging/sbom.py FILE ROOT
"""

import json
import sys
from pathlib import Path


def main() -> None:
    path, root = Path(sys.argv[1]), sys.argv[2]
    bom = json.loads(path.read_text(encoding="utf-8").replace(f"path+file://{root}/", "path+file:///"))
    bom.pop("serialNumber", None)
    names = {component["name"] for component in bom.get("components", [])}
    for part in ["rustls", "libsqlite3-sys", "mlua-sys"]:
        if part not in names:
            sys.exit(f"error: {path}: {part} is missing from it")
    path.write_text(json.dumps(bom, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
