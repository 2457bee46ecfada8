"""What the scenarios of Python's drivers share: one line for each step, an answer or an error."""

import json
import re


def refusal(code, detail):
    found = re.search(r"kintsugi/[a-z0-9-]+", detail or "")
    return f"refused {found.group(0)}" if code == "0A000" and found else None


def shown(value):
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(shown(v) for v in value) + "]"
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    if isinstance(value, (memoryview, bytearray)):
        value = bytes(value)
    return f"{type(value).__name__}:{value}" if not isinstance(value, (str, int)) else repr(value)


def line(name, text):
    print(f"{name}: {text}", flush=True)
