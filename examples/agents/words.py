"""A child that reports what it used, as one that asks a language model would."""

import collections
import json
import sys

order = json.loads(sys.stdin.readline())
words = order["input"]["text"].split()
print(json.dumps({"type": "usage", "tokens": len(words)}), flush=True)
print(json.dumps({"type": "result", "output": collections.Counter(words)}), flush=True)
