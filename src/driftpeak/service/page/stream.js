// Server-sent events, read with fetch, because an EventSource cannot send the token.
import { Refused, request } from "./api.js";

const AGAIN = 2000; // milliseconds until a lost connection is retried

// Calls `changed` after each change of a study until the signal aborts, and `status` with "live" or the problem.
export async function follow(name, changed, status, signal) {
  while (!signal.aborted) {
    try {
      const answer = await request(`studies/${name}/events`, { signal, accept: "text/event-stream" });
      status("live", true);
      for await (const event of events(answer.body)) if (event === "change") changed();
      status("connection ended; retrying", false);
    } catch (error) {
      if (signal.aborted) return;
      status(error instanceof Refused ? error.message : "no connection; retrying", false);
    }
    await new Promise((done) => { setTimeout(done, AGAIN); });
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (text + value).split("\n\n");
    text = parts.pop(); // incomplete
    for (const part of parts) {
      const line = part.split("\n").find((one) => one.startsWith("event: "));
      if (line) yield line.slice("event: ".length);
    }
  }
}
