"""An agent in Python, with the standard library alone: counts the words of a message, one event a line.

    python3 agent.py 9000
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Agent(BaseHTTPRequestHandler):
    def do_POST(self):
        turn = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = " ".join(part.get("text", "") for part in turn["message"]["parts"])
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.end_headers()
        if not text.strip():
            return self.say(type="ask", text="Which text shall I count?")
        self.say(type="status", text="Counting")
        for number, word in enumerate(text.split(), 1):
            self.say(type="artifact", id="words", text=f"{number} {word}\n", append=number > 1)
        self.say(type="done", text=f"{len(text.split())} words")

    def say(self, **event):
        self.wfile.write(json.dumps(event).encode() + b"\n")
        self.wfile.flush()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 9000), Agent)
print(f"http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
