// Server-sent events, read with fetch: an EventSource could not send the token.
import { Refused, request } from "./api.js";

const AGAIN = 2000; // milliseconds until a lost connection is tried again

// Calls `changed` after each change of a study until the signal ends it; `status` hears "live" or why not.
export async function follow(name, changed, status, signal) {
  while (!signal.aborted) {
    try {
      const answer = await request(`studies/${name}/events`, { signal, accept: "text/event-stream" });
      status("live", true);
      for await (const event of events(answer.body)) if (event === "change") changed();
      status("connection ended, trying again", false);
    } catch (error) {
      if (signal.aborted) return;
      status(error instanceof Refused ? error.message : "no connection, trying again", false);
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
    text = parts.pop(); // not yet whole
    for (const part of parts) {
      const line = part.split("\n").find((one) => one.startsWith("event: "));
      if (line) yield line.slice("event: ".length);
    }
  }
}
